#include "cli/nccl/nccl.h"

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/diagnose/diagnose.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/diagnose/view.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string RanksText(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() == 24) {
      names.push_back(fmt::format("... ({} in all)", ranks.size()));
      break;
    }
    names.push_back(std::to_string(rank));
  }
  return names.empty() ? "-" : Join(names, ",");
}

// The rank that was the last to begin, or to end, its set-up; -1 when none was seen.
int LastRank(const diagnose::Communicator& comm, size_t diagnose::JobRank::* order) {
  int last = -1;
  size_t latest = 0;
  for (const auto& [number, rank] : comm.ranks)
    if (rank.*order > latest) {
      latest = rank.*order;
      last = number;
    }
  return last;
}

void AddCommunicator(const diagnose::Communicator& comm, Json& json, std::string& text) {
  std::map<std::string, std::vector<int>> by_host;
  for (const auto& [number, rank] : comm.ranks) by_host[rank.host].push_back(number);
  const auto silent = comm.Silent(), open = comm.Unfinished();
  Json entry = {{"id", Printable(comm.id)}, {"ranks", comm.nranks}, {"seen", comm.ranks.size()}};
  entry["hosts"] = Json::object();
  text += fmt::format("\ncommunicator {} · {} ranks, {} seen on {} hosts\n", Printable(comm.id),
                      comm.nranks, comm.ranks.size(), by_host.size());
  for (const auto& [host, ranks] : by_host) {
    entry["hosts"][Printable(host)] = ranks;
    text += fmt::format("  {}: rank {}\n", Printable(host), RanksText(ranks));
  }
  entry["never_spoke"] = silent;
  entry["not_finished"] = open;
  entry["last_to_begin"] = LastRank(comm, &diagnose::JobRank::started_order);
  entry["last_to_finish"] = LastRank(comm, &diagnose::JobRank::complete_order);
  text += fmt::format(
      "  never spoke: {} · not finished: {} · last to begin: {} · last to finish: {}\n",
      RanksText(silent), RanksText(open), LastRank(comm, &diagnose::JobRank::started_order),
      LastRank(comm, &diagnose::JobRank::complete_order));
  json["communicators"].push_back(std::move(entry));
}

Document MapView(const Context& context, const DiagnoseResult& result) {
  const diagnose::JobMap& job = result.evidence.job;
  Document doc = DiagnosisView(context, result);
  doc.kind = "NcclJob";
  Json json = {{"lines", job.lines()}};
  json["communicators"] = Json::array();
  std::string text = fmt::format("{} of NCCL from {}\n", Counted(job.lines(), "line"),
                                 Counted(job.hosts().size(), "host"));
  std::vector<const diagnose::Communicator*> comms;
  for (const auto& [id, comm] : job.communicators()) comms.push_back(&comm);
  std::stable_sort(comms.begin(), comms.end(),
                   [](const auto* a, const auto* b) { return a->nranks > b->nranks; });
  for (size_t i = 0; i < comms.size() && i < 16; ++i) AddCommunicator(*comms[i], json, text);
  if (comms.size() > 16) text += fmt::format("  and {} smaller communicators\n", comms.size() - 16);

  json["transports"] = Json::array();
  Table table({"HOST", "TRANSPORT", "GPUDIRECT", "EDGES", "DEVICES"});
  for (const diagnose::TransportUse& use : job.Transports()) {
    json["transports"].push_back({{"host", Printable(use.host)},
                                  {"transport", Printable(use.transport)},
                                  {"gpudirect", use.gdr},
                                  {"edges", use.edges},
                                  {"devices", use.devices}});
    std::vector<std::string> devices;
    for (const int device : use.devices) devices.push_back(std::to_string(device));
    table.Row({Printable(use.host), Printable(use.transport),
               !use.net  ? ""
               : use.gdr ? "yes"
                         : "no",
               std::to_string(use.edges), Join(devices, ",")});
  }
  text += "\n" + table.ToString();
  json["versions"] = Json::object();
  for (const auto& [version, hosts] : job.versions()) {
    json["versions"][Printable(version)] = hosts.size();
    text += fmt::format("version {}\n", Printable(version));
  }
  json["algorithms"] = Json::object();
  for (const auto& [name, count] : job.algorithms()) {
    json["algorithms"][Printable(name)] = count;
    text += fmt::format("{} x{}\n", Printable(name), count);
  }
  json["devices"] = Json::object();
  for (const auto& [host, list] : job.devices()) json["devices"][Printable(host)] = list;
  json["diagnosis"] = *doc.json;
  *doc.json = std::move(json);
  doc.table = text + "\n" + doc.table;
  return doc;
}

}  // namespace

ExitCode NcclJob(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> paths;
  Args args("nccl",
            "A map of the job from NCCL's logs: ranks by host, transport of every channel, "
            "GPUDirect, adapters, versions, who is missing, and what stopped it");
  args.Rest("FILE", paths, "Logs of all ranks (NCCL_DEBUG=INFO), flight recorder dumps, or -",
            true);
  output.AddTo(args);
  args.Example("muster nccl logs/*.log");
  args.Example("muster nccl nccl_trace_rank_* job.log -o json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (context.inputs == nullptr)
    return Complain(context, Code::kInternal, "no inputs are connected");
  const auto result = DiagnoseInputs(context.world, *context.inputs, paths, {});
  if (!result.ok()) return Complain(context, result.error());
  TellUnreadable(context, *result);
  Emit(context, output, MapView(context, *result));
  return ExitCodeOf(*result);
}

}  // namespace muster::cli
