#include "cli/get/get.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/live.h"
#include "base/strings.h"
#include "cli/live_option.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string WhereText(const std::vector<std::string>& nodes) {
  constexpr size_t kShown = 3;
  if (nodes.size() <= kShown) return Join(nodes, ",");
  return fmt::format("{},{},... {} nodes", nodes[0], nodes[1], nodes.size());
}

void ShowGangs(const LiveCluster& cluster, bool lone, Document& doc) {
  Table table({"GANG", "STATE", "BOUND", "QUEUE", "PRIORITY", "DIALECT", "WHERE OR WHY"});
  for (const LiveGang& gang : cluster.Gangs()) {
    if (gang.dialect == "pod" && !lone) continue;
    (*doc.json)["items"].push_back({{"name", gang.name},
                                    {"state", gang.state},
                                    {"dialect", gang.dialect},
                                    {"queue", gang.queue},
                                    {"priority", gang.priority},
                                    {"min", gang.min},
                                    {"pods", gang.pods},
                                    {"bound", gang.bound},
                                    {"nodes", gang.nodes},
                                    {"why", gang.why},
                                    {"not_acted_on", gang.ignored}});
    table.Row({Printable(gang.name), gang.state, fmt::format("{}/{}", gang.bound, gang.pods),
               Printable(gang.queue), std::to_string(gang.priority), gang.dialect,
               gang.nodes.empty() ? Printable(gang.why) : WhereText(gang.nodes)});
  }
  doc.table = table.ToString();
}

void ShowNodes(const LiveCluster& cluster, Document& doc) {
  Table table({"NODE", "STATE", "GPUS FREE", "PLACE", "POLICY", "GANGS"});
  for (const LiveNode& node : cluster.Nodes()) {
    (*doc.json)["items"].push_back({{"name", node.name},
                                    {"state", node.state},
                                    {"gpus", node.gpus},
                                    {"gpus_free", node.gpus_free},
                                    {"place", node.place},
                                    {"topology_policy", node.policy},
                                    {"gangs", node.gangs}});
    table.Row({Printable(node.name), node.state, fmt::format("{}/{}", node.gpus_free, node.gpus),
               Printable(node.place), node.policy, Printable(WhereText(node.gangs))});
  }
  doc.table = table.ToString();
}

void ShowQueues(const LiveCluster& cluster, Document& doc) {
  Table table({"QUEUE", "PARENT", "RUNNING", "WAITING", "FLAVOR", "RESOURCE", "USED", "NOMINAL",
               "AVAILABLE"});
  for (const LiveQueue& queue : cluster.Queues()) {
    Json quota = Json::array();
    for (const LiveQueue::Item& item : queue.items) {
      quota.push_back({{"flavor", item.flavor},
                       {"resource", item.resource},
                       {"used", item.used},
                       {"nominal", item.nominal},
                       {"available", item.available}});
      table.Row({Printable(queue.name), Printable(queue.parent), std::to_string(queue.running),
                 std::to_string(queue.waiting), Printable(item.flavor), Printable(item.resource),
                 std::to_string(item.used), std::to_string(item.nominal),
                 std::to_string(item.available)});
    }
    if (queue.items.empty())
      table.Row({Printable(queue.name), Printable(queue.parent), std::to_string(queue.running),
                 std::to_string(queue.waiting), "-", "-", "-", "no quota", "-"});
    (*doc.json)["items"].push_back({{"name", queue.name},
                                    {"parent", queue.parent},
                                    {"running", queue.running},
                                    {"waiting", queue.waiting},
                                    {"quota", std::move(quota)}});
  }
  doc.table = table.ToString();
}

}  // namespace

ExitCode GetLive(const Invocation& invocation) {
  OutputOptions output;
  LiveOptions options;
  std::string what;
  Args args("get",
            "Gangs, jobs, nodes and queues of a Kubernetes cluster, as the scheduler sees it");
  args.Positional("WHAT", what, "gangs, jobs (gangs and lone pods), nodes, queues");
  AddLiveOptions(args, options);
  output.AddTo(args);
  args.Example("muster get gangs");
  args.Example("muster get nodes -o json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (what != "gangs" && what != "jobs" && what != "nodes" && what != "queues")
    return Complain(context, Code::kInvalid,
                    fmt::format("there is no {} to get; expected gangs, jobs, nodes or queues",
                                Printable(what)));
  const auto cluster = LiveCluster::Load(context.world, options);
  if (!cluster.ok()) return Complain(context, cluster.error());
  Document doc;
  doc.kind = what == "nodes" ? "ClusterNodeList" : what == "queues" ? "QueueList" : "GangList";
  *doc.json = {{"origin", "live"}, {"items", Json::array()}};
  if (what == "nodes") {
    ShowNodes(**cluster, doc);
  } else if (what == "queues") {
    ShowQueues(**cluster, doc);
    (*doc.json)["not_acted_on"] = (*cluster)->QueueNotes();
  } else {
    ShowGangs(**cluster, what == "jobs", doc);
  }
  if ((*doc.json)["items"].empty()) doc.table = fmt::format("no {}\n", what);
  TellTroubles((*cluster)->Troubles(), doc);
  if (what == "queues") {
    for (const std::string& note : (*cluster)->QueueNotes())
      doc.table += "not acted on: " + Printable(note) + "\n";
  }
  doc.cases = {{"get", what, Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
