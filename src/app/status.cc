// The site's standing, read from its ledgers: the newest result of each gate, and whether what it
// stood on has changed since.
#include <algorithm>

#include <fmt/format.h>

#include "app/bringup.h"
#include "app/changes.h"

namespace muster {

namespace {

void Count(const GateResult& result, GateStatus& status) {
  for (const Verdict& v : result.verdicts) {
    if (v.level == Level::kPass) ++status.passed;
    if (v.level == Level::kWarn) ++status.warned;
    if (v.level == Level::kFail) ++status.failed;
    if (v.level == Level::kUnknown) ++status.unknown;
    if (v.origin != Origin::kLive) status.origin = v.origin;
  }
  status.not_applicable = result.not_applicable.size();
}

// The first component that the gate is stale by and that has another value now, or of which a
// person said after the gate was judged that it changed.
std::string StaleBecause(const GateInfo& info, const GateResult& result,
                         const std::map<std::string, std::string>& now,
                         const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (change.at <= result.judged_at) continue;
    const auto& by = info.staled_by;
    if (std::find(by.begin(), by.end(), change.component) != by.end())
      return fmt::format("{} changed, says {}: {}", change.component, change.by, change.reason);
  }
  for (const std::string& component : info.staled_by) {
    const auto was = result.components.find(component);
    const auto is = now.find(component);
    if (was != result.components.end() && is != now.end() && was->second != is->second) {
      return fmt::format("{} changed from {} to {}", component, was->second, is->second);
    }
  }
  return "";
}

// A run of a scope, or of some nodes, says nothing of the whole site.
bool OfWholeSite(const Site& site, const RunHeader& header) {
  return header.scope.empty() &&
         std::all_of(site.cluster.nodes.begin(), site.cluster.nodes.end(), [&](const Node& node) {
           return std::find(header.nodes.begin(), header.nodes.end(), node.name) !=
                  header.nodes.end();
         });
}

}  // namespace

Result<SiteStatus> StatusOf(const SiteContext& context) {
  SiteStatus status;
  status.site = context.site().name;
  const TimePoint now = context.world.clock.Now();
  TRY(status.waivers, ReadWaivers(context.world.files, context.paths));
  TRY(const std::vector<Change> changes, ReadChanges(context.world.files, context.paths));
  TRY(const std::vector<std::string> names, ListRuns(context.world.files, context.paths));

  std::map<int, std::pair<std::string, GateResult>> newest, looked;
  std::map<std::string, std::string> components;
  for (size_t i = 0; i < names.size(); ++i) {
    auto run = ReadLedger(context.world.files, context.paths.Ledger(names[i]));
    if (!run.ok()) {
      if (run.error().code == Code::kNotFound) continue;
      return tl::unexpected(std::move(run.error()));
    }
    // The newest run that began: the one that `resume` would take up.
    status.unfinished_run = run->closed ? "" : names[i];
    if (!OfWholeSite(context.site(), run->header)) continue;
    for (GateRecord& record : run->gates) {
      if (!record.result || !record.result->blocked_by.empty()) continue;
      for (const auto& [name, value] : record.result->components) components[name] = value;
      for (const auto& [name, value] : components)
        record.result->components.try_emplace(name, value);
      // A look leaves out what only a proof can answer: that it passes opens nothing, that it does
      // not pass closes what an earlier run had proven.
      if (!run->header.look_only) {
        looked.erase(record.gate);
        newest[record.gate] = {names[i], std::move(*record.result)};
      } else if (record.result->level == Level::kPass || record.result->level == Level::kWarn) {
        looked.erase(record.gate);
      } else {
        looked[record.gate] = {names[i], std::move(*record.result)};
      }
    }
  }

  for (auto& [gate, result] : looked) newest[gate] = std::move(result);
  std::map<int, bool> open;
  for (const GateInfo& info : context.catalogue->gates) {
    GateStatus gate;
    gate.gate = info.id;
    gate.name = info.name;
    const auto found = newest.find(info.id);
    if (found != newest.end()) {
      const GateResult& result = found->second.second;
      gate.level = result.level;
      gate.run = found->second.first;
      gate.judged_at = result.judged_at;
      gate.suspects = result.suspects;
      gate.stale_because = StaleBecause(info, result, components, changes);
      Count(result, gate);
    }
    for (const Waiver& waiver : status.waivers) {
      if (waiver.Covers(info.id, now))
        gate.waived_by =
            fmt::format("{} until {}: {}", waiver.by, FormatTime(waiver.until), waiver.reason);
    }
    const bool judged_open = !gate.run.empty() && gate.stale_because.empty() &&
                             (gate.level == Level::kPass || gate.level == Level::kWarn);
    // Where a warning opens the gate, a waiver of it stays in sight: somebody answers for the
    // warning.
    if (judged_open && gate.level == Level::kPass) gate.waived_by.clear();
    gate.open = judged_open || !gate.waived_by.empty();
    for (const int need : info.needs) {
      if (!open[need] && gate.blocked_by.empty())
        gate.blocked_by = fmt::format("waits for gate {}", need);
    }
    gate.open = gate.open && gate.blocked_by.empty();
    open[info.id] = gate.open;
    status.gates.push_back(std::move(gate));
  }
  return status;
}

}  // namespace muster
