#include "backend/lab/state/ops_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::lab {

namespace {

using Json = nlohmann::json;

std::string Time(TimePoint t) { return t == TimePoint{} ? "" : FormatTime(t); }
Result<TimePoint> TimeFrom(const Json& json, const char* key) {
  const std::string text = json.value(key, "");
  if (text.empty()) return TimePoint{};
  return ParseTime(text);
}

Json HoldJson(const Hold& hold) {
  Json json = {{"schedulable", hold.schedulable}, {"note", hold.note}};
  if (!hold.lease) return json;
  json["lease"] = {
      {"owner", hold.lease->owner},          {"run", hold.lease->run},
      {"reason", hold.lease->reason},        {"priorSchedulable", hold.lease->prior_schedulable},
      {"priorNote", hold.lease->prior_note}, {"since", Time(hold.lease->since)},
      {"until", Time(hold.lease->until)},    {"fence", hold.lease->fence}};
  return json;
}

Status HoldFrom(const Json& json, Hold& hold) {
  hold.schedulable = json.at("schedulable").get<bool>();
  hold.note = json.at("note").get<std::string>();
  if (!json.contains("lease")) return {};
  const Json& from = json["lease"];
  Lease lease;
  lease.owner = from.at("owner").get<std::string>();
  lease.run = from.at("run").get<std::string>();
  lease.reason = from.at("reason").get<std::string>();
  lease.prior_schedulable = from.at("priorSchedulable").get<bool>();
  lease.prior_note = from.at("priorNote").get<std::string>();
  TRY(lease.since, TimeFrom(from, "since"));
  TRY(lease.until, TimeFrom(from, "until"));
  lease.fence = from.at("fence").get<uint64_t>();
  hold.lease = lease;
  return {};
}

Json JobJson(const LabJob& job) {
  return {{"id", job.job.id},
          {"owner", job.job.owner},
          {"nodes", job.job.nodes},
          {"gpus", job.job.gpus},
          {"started", Time(job.job.started)},
          {"checkpointEveryMs",
           std::chrono::duration_cast<std::chrono::milliseconds>(job.checkpoint_every).count()},
          {"endsAt", Time(job.ends_at)},
          {"attempt", job.attempt}};
}

Result<LabJob> JobFrom(const Json& json) {
  LabJob job;
  job.job.id = json.at("id").get<std::string>();
  job.job.owner = json.at("owner").get<std::string>();
  job.job.nodes = json.at("nodes").get<std::vector<std::string>>();
  job.job.gpus = json.at("gpus").get<int>();
  TRY(job.job.started, TimeFrom(json, "started"));
  job.checkpoint_every = std::chrono::milliseconds(json.at("checkpointEveryMs").get<int64_t>());
  TRY(job.ends_at, TimeFrom(json, "endsAt"));
  job.attempt = json.value("attempt", 1);
  return job;
}

}  // namespace

Json OpsToJson(const LabState& state) {
  Json json = Json::object();
  for (const auto& [node, ops] : state.ops) {
    if (ops.empty()) continue;
    Json of = {{"boots", ops.boots},
               {"bootedAt", Time(ops.booted_at)},
               {"backAt", Time(ops.back_at)},
               {"driver", ops.driver},
               {"loadedDriver", ops.loaded_driver},
               {"fabricManager", ops.fabric_manager},
               {"hold", HoldJson(ops.hold)},
               {"changes", ops.changes},
               {"fence", ops.fence},
               {"count", ops.count},
               {"stopped", ops.stopped},
               {"jobs", Json::array()}};
    if (!ops.started.empty()) of["started"] = ops.started;
    if (!ops.mig.empty()) of["mig"] = ops.mig;
    if (!ops.spoiled.empty()) of["spoiled"] = ops.spoiled;
    if (!ops.kernel.empty()) of["kernel"] = ops.kernel;
    if (!ops.next_kernel.empty()) of["nextKernel"] = ops.next_kernel;
    if (!ops.set.empty()) of["set"] = ops.set;
    if (!ops.disk.empty()) of["disk"] = ops.disk;
    for (const LabJob& job : ops.jobs) of["jobs"].push_back(JobJson(job));
    json[node] = std::move(of);
  }
  return json;
}

Status OpsFromJson(const Json& json, LabState& state) {
  for (const auto& [node, of] : json.items()) {
    if (state.cluster.FindNode(node) == nullptr)
      return Fail(Code::kInvalid, fmt::format("ops of {}: no such node", Printable(node)));
    NodeOps& ops = state.ops[node];
    ops.boots = of.at("boots").get<int>();
    TRY(ops.booted_at, TimeFrom(of, "bootedAt"));
    TRY(ops.back_at, TimeFrom(of, "backAt"));
    ops.driver = of.at("driver").get<std::string>();
    ops.loaded_driver = of.at("loadedDriver").get<std::string>();
    ops.fabric_manager = of.at("fabricManager").get<std::string>();
    TRY_VOID(HoldFrom(of.at("hold"), ops.hold));
    ops.changes = of.at("changes").get<uint64_t>();
    ops.hold.version = std::to_string(ops.changes);
    ops.fence = of.at("fence").get<uint64_t>();
    ops.count = of.at("count").get<std::map<std::string, int>>();
    ops.stopped = of.at("stopped").get<std::map<std::string, bool>>();
    ops.started = of.value("started", std::map<std::string, bool>());
    ops.mig = of.value("mig", std::map<std::string, std::string>());
    ops.spoiled = of.value("spoiled", std::map<std::string, std::string>());
    ops.kernel = of.value("kernel", "");
    ops.next_kernel = of.value("nextKernel", "");
    ops.set = of.value("set", "");
    ops.disk = of.value("disk", std::map<std::string, std::string>());
    for (const Json& job : of.at("jobs")) {
      TRY(LabJob read, JobFrom(job));
      ops.jobs.push_back(std::move(read));
    }
  }
  return {};
}

}  // namespace muster::lab
