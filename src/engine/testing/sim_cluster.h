// A cluster of a few dozen nodes on a simulated clock, for the engine's tests: acts that are lost,
// late, doubled by nobody but the engine, or lied about; hosts that reboot, vanish and come back;
// people who interfere. It keeps its own account of what really happened and so can say when a
// promise is broken.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/actuator.h"
#include "engine/ports.h"
#include "model/cluster.h"
#include "world/random.h"

namespace muster::engine::testing {

// What heals a node's fault: a rung or higher, or new packages. kNone: it is well.
struct SimFault {
  Rung heals = Rung::kNone;
  bool packages = false;
  bool any() const { return heals != Rung::kNone || packages; }
};

struct SimNode {
  std::string name, rack, leaf;
  bool partitioned = false;
  TimePoint back_at;  // rebooting until then
  Hold hold;
  uint64_t version = 0;
  bool human = false;  // a person changed the hold last
  TimePoint human_at;
  SimFault fault;
  std::vector<RunningJob> jobs;
  TimePoint jobs_end;                // of a drain under way
  std::map<std::string, int> count;  // landed effects by act and subject
  uint64_t fence = 0;
  uint64_t effect_at = 0, proof_at = 0;  // in the order of things, to compare
  uint64_t cordoned_at = 0;
};

// How the world misbehaves; chances in [0, 1].
struct SimWeather {
  double lost = 0, answer_lost = 0, late = 0, lie = 0, fails = 0, unreadable = 0, unknowable = 0,
         look_unknown = 0, bad_package = 0;
};

class SimCluster final : public Actuator, public Looker {
 public:
  SimCluster(int nodes, uint64_t seed) : random_(seed) {
    ClusterSpec spec;
    spec.nodes = nodes;
    spec.gpus = 2;
    spec.numa = 1;
    spec.rails = 2;
    spec.leaves = 2;
    spec.spines = 1;
    cluster = BuildCluster(spec);
    for (const Node& node : cluster.nodes) {
      SimNode made;
      made.name = node.name;
      made.rack = node.rack;
      nodes_[node.name] = made;
    }
    for (const ActTraits& act : AllActs()) can_.push_back(act.kind);
  }

  SimNode& At(const std::string& node) { return nodes_.at(node); }
  std::map<std::string, SimNode>& nodes() { return nodes_; }
  bool Reachable(const SimNode& node) const { return !node.partitioned && now >= node.back_at; }

  // --- Actuator ---
  Origin origin() const override { return Origin::kRehearsed; }
  std::vector<ActKind> Can() const override { return can_; }
  std::vector<std::string> Render(const Action& action) const override {
    return {action.ToString()};
  }
  Result<Fingerprint> Before(const Action& action) override {
    SimNode& node = At(std::string(action.on.Host()));
    if (!Reachable(node) || random_.Unit() < weather.unreadable)
      return Fail(Code::kUnavailable, "no answer");
    return Fingerprint{{"n", std::to_string(node.count[Key(action)])}};
  }
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;
  Result<Hold> ReadHold(const std::string& name) override {
    if (random_.Unit() < weather.unreadable) return Fail(Code::kUnavailable, "no answer");
    return At(name).hold;
  }
  Result<Fleet> ReadFleet() override {
    Fleet fleet;
    for (const auto& [name, node] : nodes_) {
      if (node.partitioned) {
        fleet.silent.push_back(name);
      } else {
        fleet.nodes.push_back({name, node.hold});
      }
    }
    return fleet;
  }
  Result<std::vector<RunningJob>> JobsOn(const std::string& name) override {
    SimNode& node = At(name);
    if (node.partitioned) return Fail(Code::kUnavailable, "no answer");
    EndJobs(node);
    return node.jobs;
  }

  // --- Looker: prechecks have an id and ask whether the node answers; all else asks for the fault
  // ---
  Looked Look(const Check& check, const Subject& on, const TemplateValues&) override {
    SimNode& node = At(std::string(on.Host()));
    if (look_hook) {
      if (auto said = look_hook(check, on)) {
        if (said->level == Level::kPass && check.id.empty()) node.proof_at = ++order_;
        return *said;
      }
    }
    Land();
    if (!check.id.empty())
      return Reachable(node) ? Looked{Level::kPass, "it answers", "e"}
                             : Looked{Level::kFail, "it does not answer", "e"};
    if (check.form == Check::Form::kBuiltin || check.form == Check::Form::kAttest)
      return {Level::kPass, "so it is", "e"};
    if (!Reachable(node) || random_.Unit() < weather.look_unknown)
      return {Level::kUnknown, "nothing to see", "e"};
    if (node.fault.any()) return {Level::kFail, "the fault is there", "e"};
    node.proof_at = ++order_;
    return {Level::kPass, "it is well", "e"};
  }

  // What is under way arrives; what reboots comes back.
  void Land();
  void Effect(const Order& order);
  // A person at the keyboard.
  void HumanUncordons(const std::string& name) { HumanSets(name, {}); }
  void HumanTakes(const std::string& name) {
    Hold hold;
    hold.schedulable = false;
    hold.note = "mine, says a person";
    HumanSets(name, hold);
  }

  Cluster cluster;
  TimePoint now = TimePoint{} + std::chrono::hours(24 * 365 * 50);
  SimWeather weather;
  std::vector<std::string> broken;    // promises, as they were broken
  std::map<std::string, int> landed;  // destructive effects by token
  std::function<std::optional<Looked>(const Check&, const Subject&)> look_hook;
  std::function<std::optional<DidResult>(const Order&)> do_hook;
  std::function<std::optional<ProbeResult>(const Order&)> probe_hook;
  size_t acts = 0;

 private:
  static std::string Key(const Action& action) {
    return fmt::format("{} {}", muster::ToString(action.kind), action.on.id);
  }
  void HumanSets(const std::string& name, Hold hold) {
    SimNode& node = At(name);
    node.hold = std::move(hold);
    node.hold.version = std::to_string(++node.version);
    node.human = true;
    node.human_at = now;
    node.proof_at = node.effect_at = 0;
  }
  void EndJobs(SimNode& node) {
    if (node.jobs_end != TimePoint{} && now >= node.jobs_end) {
      node.jobs.clear();
      node.jobs_end = {};
    }
  }
  void Hold_(SimNode& node, const Order& order);
  void Say(std::string what) {
    if (broken.size() < 20) broken.push_back(std::move(what));
  }

  struct Coming {
    TimePoint at;
    Order order;
  };
  SeededRandom random_;
  std::map<std::string, SimNode> nodes_;
  std::vector<ActKind> can_;
  std::vector<Coming> coming_;
  uint64_t order_ = 0;
};

inline DidResult SimCluster::Do(const Order& order) {
  ++acts;
  SimNode& node = At(std::string(order.action.on.Host()));
  if (do_hook) {
    if (auto said = do_hook(order)) return *said;
  }
  if (!TraitsOf(order.action.kind).effect) return {Did::kAccepted, "collected"};
  if (order.fence < node.fence) return {Did::kRefused, "an older engine"};
  node.fence = order.fence;
  if (node.partitioned) return {Did::kUnknown, "no answer"};
  const double roll = random_.Unit();
  const SimWeather& w = weather;
  double edge = w.lost;
  if (roll < edge) return {Did::kUnknown, "timed out"};
  if (roll < (edge += w.lie)) return {Did::kAccepted, "it says"};
  if (roll < (edge += w.fails)) return {Did::kFailed, "it says that it failed"};
  if (roll < (edge += w.late)) {
    // Always within the engine's grace: later than that nobody could tell.
    coming_.push_back({now + std::chrono::seconds(1 + random_.Below(80)), order});
    return {random_.Unit() < 0.5 ? Did::kAccepted : Did::kUnknown, "later"};
  }
  Effect(order);
  if (roll < edge + w.answer_lost) return {Did::kUnknown, "the answer was lost"};
  return {Did::kAccepted, "done"};
}

inline ProbeResult SimCluster::Probe(const Order& order) {
  if (probe_hook) {
    if (auto said = probe_hook(order)) return *said;
  }
  Land();
  SimNode& node = At(std::string(order.action.on.Host()));
  const ActKind kind = order.action.kind;
  if (!TraitsOf(kind).effect) return {Happened::kYes, "nothing to see"};
  if (kind == ActKind::kCordon || kind == ActKind::kReturn) {
    if (random_.Unit() < weather.unreadable) return {Happened::kUnknown, "no answer"};
    const bool ours = node.hold.lease && node.hold.lease->run == order.run;
    if (kind == ActKind::kCordon) {
      // Without a lease to look for, all that shows is that somebody cordoned it.
      const bool yes = order.lease.owner.empty() ? !node.hold.schedulable : ours;
      return {yes ? Happened::kYes : Happened::kNo, "lease"};
    }
    return {ours || (!node.hold.schedulable && order.lease.owner.empty()) ? Happened::kNo
                                                                          : Happened::kYes,
            "lease"};
  }
  if (!Reachable(node) || random_.Unit() < weather.unreadable)
    return {Happened::kUnknown, "no answer"};
  if (kind == ActKind::kDrain) {
    EndJobs(node);
    return {node.jobs.empty() ? Happened::kYes : Happened::kNo, "jobs"};
  }
  if (random_.Unit() < weather.unknowable) return {Happened::kUnknown, "it cannot be told"};
  const int before = std::stoi(order.before.at("n"));
  const int is = node.count[Key(order.action)];
  return {is > before ? Happened::kYes : Happened::kNo, fmt::format("{} was {}", is, before)};
}

inline void SimCluster::Land() {
  for (size_t i = 0; i < coming_.size();) {
    if (coming_[i].at > now) {
      ++i;
      continue;
    }
    const Order order = coming_[i].order;
    coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(i));
    Effect(order);
  }
}

inline void SimCluster::Hold_(SimNode& node, const Order& order) {
  if (order.action.kind == ActKind::kCordon) {
    if (!node.hold.schedulable) return;  // compare-and-set: somebody was quicker
    node.hold.schedulable = false;
    node.hold.lease.reset();
    if (!order.lease.owner.empty()) node.hold.lease = order.lease;
    node.human = false;
    node.cordoned_at = ++order_;
    node.effect_at = node.proof_at = 0;
  } else {
    const bool ours = node.hold.lease && node.hold.lease->run == order.run;
    if (!ours && !order.lease.owner.empty()) return;  // compare-and-set
    if (node.effect_at > node.proof_at)
      Say(fmt::format("{} was returned without a proof after its last act ({})", node.name,
                      order.token));
    node.hold = Hold{};
    node.human = false;
  }
  node.hold.version = std::to_string(++node.version);
}

inline void SimCluster::Effect(const Order& order) {
  SimNode& node = At(std::string(order.action.on.Host()));
  const ActKind kind = order.action.kind;
  if (kind == ActKind::kCordon || kind == ActKind::kReturn) return Hold_(node, order);
  if (order.action.Destructive() && ++landed[order.token] > 1)
    Say(fmt::format("{} was done twice: {}", order.action.ToString(), order.token));
  // Between intent and request a person may be quicker; before the intent the engine had to see it.
  const bool ours = node.hold.lease && node.hold.lease->run == order.run;
  if (!order.lease.owner.empty() && !ours && node.human && node.human_at < order.intended_at)
    Say(fmt::format("{} on {}, which a person had taken before", order.action.ToString(),
                    node.name));
  ++node.count[Key(order.action)];
  if (kind == ActKind::kDrain) {
    const bool force = order.action.Destructive();
    if (node.jobs_end == TimePoint{} || force)
      node.jobs_end = force ? now : now + std::chrono::minutes(1 + random_.Below(90));
    return;
  }
  node.effect_at = ++order_;
  const Rung rung = TraitsOf(kind).rung;
  if (node.fault.heals != Rung::kNone && rung >= node.fault.heals) node.fault.heals = Rung::kNone;
  if (kind == ActKind::kPackages) {
    node.fault.packages = order.step != "rollback" && random_.Unit() < weather.bad_package;
  }
  if (kind == ActKind::kReboot || kind == ActKind::kPowerCycle) {
    node.back_at = now + std::chrono::seconds(60 + random_.Below(600));
    node.jobs.clear();
  }
}

}  // namespace muster::engine::testing
