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

// That a scope, or some nodes, pass says nothing of the whole site; that they fail, does.
bool OfWholeSite(const Site& site, const RunHeader& header) {
  return header.scope.empty() &&
         std::all_of(site.cluster.nodes.begin(), site.cluster.nodes.end(), [&](const Node& node) {
           return std::find(header.nodes.begin(), header.nodes.end(), node.name) !=
                  header.nodes.end();
         });
}

// What the runs, told from the oldest to the newest, leave of each gate.
class Standing {
 public:
  explicit Standing(const Site& site) : site_(site) {}

  void Take(const std::string& run, const RunHeader& header, GateResult result) {
    const int gate = result.gate;
    const bool good = result.level == Level::kPass || result.level == Level::kWarn;
    if (!OfWholeSite(site_, header)) {
      if (good) Acquit(gate, header.nodes);
      if (result.level == Level::kFail)
        parts_[gate].push_back({header.nodes, {run, std::move(result)}});
      return;
    }
    for (const auto& [name, value] : result.components) components_[name] = value;
    for (const auto& [name, value] : components_) result.components.try_emplace(name, value);
    // A look leaves out what only a proof can answer: that it passes opens nothing, that it does
    // not pass closes what an earlier run had proven.
    if (!header.look_only || good) {
      looked_.erase(gate);
      parts_.erase(gate);
    }
    if (!header.look_only) {
      proven_[gate] = {run, std::move(result)};
    } else if (!good) {
      looked_[gate] = {run, std::move(result)};
    }
  }

  using Judged = std::pair<std::string, GateResult>;  // the run, and what it judged
  // Null for a gate that was never judged.
  const Judged* Of(int gate) const {
    if (const auto part = parts_.find(gate); part != parts_.end() && !part->second.empty())
      return &part->second.back().judged;
    if (const auto look = looked_.find(gate); look != looked_.end()) return &look->second;
    const auto proof = proven_.find(gate);
    return proof == proven_.end() ? nullptr : &proof->second;
  }
  const std::map<std::string, std::string>& components() const { return components_; }

 private:
  struct Part {
    std::vector<std::string> nodes;
    Judged judged;
  };

  // The failure of some nodes stands until all of them were seen to pass.
  void Acquit(int gate, const std::vector<std::string>& nodes) {
    std::erase_if(parts_[gate], [&](const Part& part) {
      return std::all_of(part.nodes.begin(), part.nodes.end(), [&](const std::string& node) {
        return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
      });
    });
  }

  const Site& site_;
  std::map<int, Judged> proven_, looked_;
  std::map<int, std::vector<Part>> parts_;
  std::map<std::string, std::string> components_;
};

}  // namespace

Result<SiteStatus> StatusOf(const SiteContext& context) {
  SiteStatus status;
  status.site = context.site().name;
  const TimePoint now = context.world.clock.Now();
  TRY(status.waivers, ReadWaivers(context.world.files, context.paths));
  TRY(const std::vector<Change> changes, ReadChanges(context.world.files, context.paths));
  TRY(const std::vector<std::string> names, ListRuns(context.world.files, context.paths));

  Standing standing(context.site());
  for (const std::string& name : names) {
    auto run = ReadLedger(context.world.files, context.paths.Ledger(name));
    if (!run.ok()) {
      if (run.error().code == Code::kNotFound) continue;
      return tl::unexpected(std::move(run.error()));
    }
    // The newest run that began: the one that `resume` would take up.
    status.unfinished_run = run->closed ? "" : name;
    for (GateRecord& record : run->gates) {
      if (!record.result || !record.result->blocked_by.empty()) continue;
      standing.Take(name, run->header, std::move(*record.result));
    }
  }

  std::map<int, bool> open;
  for (const GateInfo& info : context.catalogue->gates) {
    GateStatus gate;
    gate.gate = info.id;
    gate.name = info.name;
    if (const Standing::Judged* judged = standing.Of(info.id)) {
      const GateResult& result = judged->second;
      gate.level = result.level;
      gate.run = judged->first;
      gate.judged_at = result.judged_at;
      gate.suspects = result.suspects;
      gate.stale_because = StaleBecause(info, result, standing.components(), changes);
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
