#include "app/runbook_site.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "plan/plan.h"

namespace muster {

namespace {

using Json = nlohmann::json;
using Request = engine::Requests::Request;
constexpr std::string_view kKinds[] = {"approve",  "pause",  "continue",
                                       "rollback", "attest", "unbind"};

std::optional<Request> RequestFrom(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto get = [&](const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Request request;
  const auto kind = std::find(std::begin(kKinds), std::end(kKinds), get("kind"));
  if (kind == std::end(kKinds)) return std::nullopt;
  request.kind = static_cast<Request::Kind>(kind - std::begin(kKinds));
  request.step = get("step");
  request.by = get("by");
  request.plan_hash = get("planHash");
  request.reason = get("reason");
  request.on = get("on");
  request.evidence = get("evidence");
  request.yes = get("says") == "yes";
  return request;
}

}  // namespace

Result<std::vector<std::string>> ListRunbookRuns(Files& files, const RunbookPaths& paths) {
  std::vector<std::string> runs;
  const auto infos = files.List(paths.root);
  if (!infos.ok())
    return infos.error().code == Code::kNotFound ? Result<std::vector<std::string>>(runs)
                                                 : Fail(infos.error());
  for (const FileInfo& info : *infos) {
    // Beside the runs lies what proofs asked by hand saw.
    if (info.is_directory && info.name != "by-hand") runs.push_back(info.name);
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

engine::Standing StandingOf(Files& files, const RunbookPaths& paths, const std::string& run) {
  const auto stored = engine::ReadRun(files, paths.Journal(run));
  if (!stored.ok())
    return stored.error().code == Code::kNotFound ? engine::Standing::kUnknown
                                                  : engine::Standing::kLive;
  return stored->state.closed ? engine::Standing::kClosed : engine::Standing::kLive;
}

engine::FileLocks SiteLocks(World& world, const RunbookPaths& paths, Actuator& actuator) {
  Files* const files = &world.files;
  Actuator* const on = &actuator;
  return {world.files, world.clock, paths.Locks(),
          [files, paths](const std::string& run) { return StandingOf(*files, paths, run); },
          [on](const std::string& node, const std::string& run) {
            const auto hold = on->ReadHold(node);
            // Who cannot be asked may well still bear the mark.
            return !hold.ok() || (hold->lease && hold->lease->run == run);
          }};
}

Result<int> JournalHistory::Attempts(const Subject& on, Rung rung, TimePoint since) {
  TRY(const auto runs, ListRunbookRuns(files_, paths_));
  int attempts = 0;
  for (const std::string& run : runs) {
    if (run == asking_) continue;
    const auto stored = engine::ReadRun(files_, paths_.Journal(run));
    if (!stored.ok() && stored.error().code == Code::kNotFound) continue;
    if (!stored.ok())
      return Fail(Error(stored.error()).Context("counting the attempts of earlier runs"));
    std::optional<Plan> plan;
    for (const engine::Entry& entry : stored->entries) {
      if (entry.type != engine::EntryType::kIntent || entry.rung != rung || entry.at < since)
        continue;
      if (!plan) {
        TRY(plan, ReadPlan(stored->state.plan_text, run));
      }
      if (static_cast<size_t>(entry.target) < plan->targets.size() &&
          plan->targets[static_cast<size_t>(entry.target)].on == on)
        ++attempts;
    }
  }
  return attempts;
}

std::vector<Request> FolderRequests::Take() {
  std::vector<Request> requests;
  const auto infos = files_.List(folder_);
  if (!infos.ok()) return requests;
  for (const FileInfo& info : *infos) {
    if (!EndsWith(info.name, ".json")) continue;
    const std::string path = folder_ + "/" + info.name;
    const auto text = files_.Read(path, 64 << 10);
    if (!text.ok()) continue;
    if (auto request = RequestFrom(*text)) requests.push_back(std::move(*request));
    // The engine writes it down before it acts on it; lost in between, a person asks again.
    (void)files_.Remove(path);
  }
  return requests;
}

Status FolderRequests::Put(World& world, const std::string& folder, const Request& request) {
  TRY_VOID(world.files.MakeFolders(folder));
  const Json json = {{"kind", kKinds[static_cast<size_t>(request.kind)]},
                     {"step", request.step},
                     {"by", request.by},
                     {"planHash", request.plan_hash},
                     {"reason", request.reason},
                     {"on", request.on},
                     {"evidence", request.evidence},
                     {"says", request.yes ? "yes" : "no"},
                     {"at", FormatTime(world.clock.Now())}};
  return world.files.WriteAtomic(fmt::format("{}/{:016x}.json", folder, world.random.Next()),
                                 json.dump(1) + "\n");
}

Result<std::vector<engine::MarkFinding>> ReconcileSite(World& world, const RunbookPaths& paths,
                                                       Actuator& actuator) {
  TRY(const Actuator::Fleet fleet, actuator.ReadFleet());
  TRY(const auto runs, ListRunbookRuns(world.files, paths));
  struct Read {
    engine::RunState state;
    std::optional<Plan> plan;
  };
  std::map<std::string, Read> read;
  std::vector<std::pair<std::string, std::string>> believed;
  for (const std::string& run : runs) {
    auto stored = engine::ReadRun(world.files, paths.Journal(run));
    if (!stored.ok()) continue;  // a mark of it then shows as lost
    Read& of = read[run];
    of.state = std::move(stored->state);
    if (auto plan = ReadPlan(of.state.plan_text, run); plan.ok()) of.plan = std::move(*plan);
    for (size_t i = 0; of.plan && !of.state.closed && i < of.state.targets.size(); ++i) {
      if (of.state.targets[i].held) believed.emplace_back(run, of.plan->targets[i].node);
    }
  }
  const auto find = [&](const std::string& run,
                        const std::string& node) -> std::optional<engine::RunOfNode> {
    const auto it = read.find(run);
    if (it == read.end() || !it->second.plan) return std::nullopt;
    for (size_t i = 0; i < it->second.plan->targets.size(); ++i) {
      if (it->second.plan->targets[i].node == node)
        return engine::RunOfNode{it->second.state.closed, it->second.state.targets[i]};
    }
    return std::nullopt;
  };
  return engine::Reconcile(fleet, find, believed, world.clock.Now());
}

}  // namespace muster
