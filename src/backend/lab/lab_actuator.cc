#include "backend/lab/lab_actuator.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/state/truth.h"
#include "backend/lab/tool_faults.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr int kLockTries = 200;
constexpr Duration kLockWait = std::chrono::milliseconds(10);

std::string Param(const Action& action, const std::string& name) {
  const auto it = action.params.find(name);
  return it == action.params.end() ? "" : it->second;
}

std::string CountKey(const Action& action) {
  return fmt::format("{} {}", ToString(action.kind), action.on.id);
}

// The power of a node is switched from beside it.
bool OutOfBand(ActKind kind) { return kind == ActKind::kPowerCycle || kind == ActKind::kBmcReset; }
bool OfTheScheduler(ActKind kind) {
  return kind == ActKind::kCordon || kind == ActKind::kDrain || kind == ActKind::kReturn;
}

Result<const Node*> NodeOf(const LabState& state, std::string_view name) {
  const Node* node = state.cluster.FindNode(name);
  if (node == nullptr)
    return Fail(Code::kNotFound, fmt::format("the lab has no node {}", Printable(name)));
  return node;
}

NodeOps OpsOf(const LabState& state, std::string_view node) {
  const auto it = state.ops.find(node);
  return it == state.ops.end() ? NodeOps{} : it->second;
}

Status ControllerAnswers(const LabState& state, const Node& node) {
  if (!state.Has("bmc_silent", NodeSubject(node.name))) return {};
  return Fail(Code::kUnavailable,
              fmt::format("the controller of {} does not answer from outside", node.name));
}

std::vector<RunningJob> JobsNow(const LabState& state, const std::string& node, TimePoint now) {
  std::vector<RunningJob> jobs;
  for (const auto& [name, ops] : state.ops) {
    for (const LabJob& job : ops.jobs) {
      const auto& on = job.job.nodes;
      if (std::find(on.begin(), on.end(), node) == on.end()) continue;
      if (job.ends_at != TimePoint{} && now >= job.ends_at) continue;
      jobs.push_back(job.job);
      jobs.back().durable_at = job.DurableAt(now);
    }
  }
  return jobs;
}

std::string Index(const Action& action) {
  const size_t at = action.on.id.find("/gpu");
  return at == std::string::npos ? "" : " -i " + action.on.id.substr(at + 4);
}

}  // namespace

std::vector<ActKind> LabActuator::Can() const {
  std::vector<ActKind> can;
  for (const ActTraits& act : AllActs()) can.push_back(act.kind);
  return can;
}

std::vector<std::string> LabActuator::Render(const Action& action) const {
  const std::string node(action.on.Host());
  const auto on = [&](const std::string& command) {
    return std::vector<std::string>{node + ": " + command};
  };
  switch (action.kind) {
    case ActKind::kCordon:
      return {"cordon " + node + " with its lease"};
    case ActKind::kDrain:
      return {
          fmt::format("drain {} {}", node,
                      action.Destructive() ? "now, by force" : "at the next durable checkpoint")};
    case ActKind::kReturn:
      return {"return " + node + " if its lease is still ours"};
    case ActKind::kServiceStart:
    case ActKind::kServiceStop:
    case ActKind::kServiceRestart:
      return on(
          fmt::format("systemctl {} {}", ToString(action.kind).substr(8), Param(action, "unit")));
    case ActKind::kModuleLoad:
      return on("modprobe " + Param(action, "module"));
    case ActKind::kModuleReload:
      return {node + ": modprobe -r " + Param(action, "module"),
              node + ": modprobe " + Param(action, "module")};
    case ActKind::kGpuReset:
      return on("nvidia-smi --gpu-reset" + Index(action));
    case ActKind::kPersistence:
      return on("nvidia-smi -pm " + Param(action, "mode") + Index(action));
    case ActKind::kClocks:
      return on("nvidia-smi -lgc " + Param(action, "lock") + Index(action));
    case ActKind::kPowerCap:
      return on("nvidia-smi -pl " + Param(action, "watt") + Index(action));
    case ActKind::kEccMode:
      return on("nvidia-smi -e " + Param(action, "mode") + Index(action));
    case ActKind::kMigSet:
      return {node + ": nvidia-smi -mig 1" + Index(action),
              node + ": nvidia-smi mig -cgi " + Param(action, "layout") + " -C" + Index(action)};
    case ActKind::kMigClear:
      return {node + ": nvidia-smi mig -dci" + Index(action),
              node + ": nvidia-smi mig -dgi" + Index(action),
              node + ": nvidia-smi -mig 0" + Index(action)};
    case ActKind::kReboot:
      return on("systemctl reboot");
    case ActKind::kPowerCycle:
      return {"BMC of " + node + ": ComputerSystem.Reset ForceRestart"};
    case ActKind::kBmcReset:
      return {"BMC of " + node + ": Manager.Reset"};
    default: {
      std::string params;
      for (const auto& [name, value] : action.params) params += fmt::format(" {}={}", name, value);
      return on(fmt::format("{}{}", ToString(action.kind), params));
    }
  }
}

Result<std::unique_ptr<FileLock>> LockLab(World& world, const std::string& folder) {
  for (int n = 1;; ++n) {
    auto lock = world.files.Lock(folder + "/lab.lock", "muster lab");
    if (lock.ok() || lock.error().code != Code::kConflict || n == kLockTries) return lock;
    world.clock.SleepFor(kLockWait);
  }
}

Result<LabActuator::Open> LabActuator::OpenLab() {
  TRY(auto lock, LockLab(base_, folder_));
  TRY(const std::shared_ptr<const LabState> state, Look());
  return Open{std::move(lock), *state};
}

// lab.json is replaced as a whole: a reader sees the old or the new, and needs no lock.
Result<std::shared_ptr<const LabState>> LabActuator::Look() {
  TRY(const std::string text, base_.files.Read(folder_ + "/lab.json", kMaxLabBytes));
  if (seen_ == nullptr || text != seen_text_) {
    TRY(LabState state, ParseLab(text, folder_));
    seen_ = std::make_shared<const LabState>(std::move(state));
    seen_text_ = text;
  }
  return seen_;
}

Result<Fingerprint> LabActuator::Before(const Action& action) {
  TRY(const std::shared_ptr<const LabState> lab, Look());
  const LabState& state = *lab;
  const TimePoint now = base_.clock.Now();
  TRY(const Node* const node, NodeOf(state, action.on.Host()));
  if (!OutOfBand(action.kind) && !OfTheScheduler(action.kind)) {
    if (auto down = Unreachable(state, *node, now)) return Fail(std::move(*down));
  }
  if (action.kind == ActKind::kPowerCycle) TRY_VOID(ControllerAnswers(state, *node));
  const NodeOps ops = OpsOf(state, node->name);
  const auto count = ops.count.find(CountKey(action));
  const NodeTruth truth = NodeNow(state, *node, now);
  return Fingerprint{{"n", std::to_string(count == ops.count.end() ? 0 : count->second)},
                     {"boot_id", truth.boot_id},
                     {"driver", truth.driver_version},
                     {"hold", ops.hold.version}};
}

DidResult LabActuator::DoHold(LabState& state, const Order& order) {
  NodeOps& ops = state.ops[order.action.on.id];
  const bool ours = ops.hold.lease && ops.hold.lease->run == order.lease.run &&
                    ops.hold.lease->owner == order.lease.owner;
  if (order.action.kind == ActKind::kCordon) {
    if (order.lease.owner.empty()) return {Did::kRefused, "a cordon has its lease"};
    if (ours) return {Did::kAccepted, "it is ours already"};
    if (!ops.hold.schedulable || ops.hold.lease)
      return {Did::kRefused,
              "somebody holds it: " + (ops.hold.lease ? ops.hold.lease->owner : ops.hold.note)};
    ops.hold.schedulable = false;
    ops.hold.lease = order.lease;
    ops.hold.note = fmt::format("{}:{} {}", order.lease.owner, order.lease.run, order.lease.reason);
  } else {
    if (!ours) return {Did::kRefused, "the lease on it is not ours any more"};
    ops.hold.schedulable = order.lease.prior_schedulable;
    ops.hold.note = order.lease.prior_note;
    ops.hold.lease.reset();
  }
  ops.hold.version = std::to_string(++ops.changes);
  return {Did::kAccepted, ""};
}

DidResult LabActuator::Do(const Order& order) {
  if (!TraitsOf(order.action.kind).effect) return {Did::kAccepted, "nothing of the lab changes"};
  auto open = OpenLab();
  if (!open.ok()) return {Did::kRefused, open.error().ToString()};
  LabState& state = open->state;
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(base_.clock.Now());
  const auto node = NodeOf(state, order.action.on.Host());
  if (!node.ok()) return {Did::kRefused, node.error().message};
  if (!OutOfBand(order.action.kind) && !OfTheScheduler(order.action.kind)) {
    if (auto down = Unreachable(state, **node, now)) return {Did::kRefused, down->ToString()};
  }
  if (order.action.kind == ActKind::kPowerCycle) {
    if (auto answers = ControllerAnswers(state, **node); !answers.has_value())
      return {Did::kRefused, answers.error().ToString()};
  }
  NodeOps& ops = state.ops[(*node)->name];
  if (order.fence < ops.fence)
    return {Did::kRefused, fmt::format("fence {} is older than {}", order.fence, ops.fence)};
  DidResult did{Did::kAccepted, ""};
  const ActKind kind = order.action.kind;
  const auto spoiled = ops.spoiled.find(std::string(ToString(kind)));
  if (spoiled != ops.spoiled.end() && (spoiled->second == "refuse" || spoiled->second == "fail"))
    return {spoiled->second == "refuse" ? Did::kRefused : Did::kFailed,
            "the lab was told to spoil it"};
  if (kind == ActKind::kCordon || kind == ActKind::kReturn) {
    did = DoHold(state, order);
  } else {
    const auto& lease = ops.hold.lease;
    if (!order.lease.owner.empty() && (!lease || lease->run != order.lease.run))
      return {Did::kRefused, "the node is not held by this run any more"};
    Land(state, order, now);
  }
  if (did.did != Did::kAccepted) return did;
  ops.fence = std::max(ops.fence, order.fence);
  // A crash in here leaves the old file or the new: the probe tells which.
  const Status saved = SaveLab(base_.files, state);
  if (!saved.ok()) return {Did::kUnknown, saved.error().ToString()};
  return did;
}

ProbeResult LabActuator::Probe(const Order& order) {
  const ActKind kind = order.action.kind;
  if (!TraitsOf(kind).effect) return {Happened::kYes, "nothing to show"};
  const auto lab = Look();
  if (!lab.ok()) return {Happened::kUnknown, lab.error().ToString()};
  const LabState* const state = lab->get();
  const TimePoint now = base_.clock.Now();
  const auto node = NodeOf(*state, order.action.on.Host());
  if (!node.ok()) return {Happened::kUnknown, node.error().message};
  const NodeOps ops = OpsOf(*state, (*node)->name);
  if (kind == ActKind::kCordon || kind == ActKind::kReturn) {
    const bool ours = ops.hold.lease && ops.hold.lease->run == order.lease.run &&
                      ops.hold.lease->owner == order.lease.owner;
    const bool yes = ours == (kind == ActKind::kCordon);
    return {yes ? Happened::kYes : Happened::kNo,
            ours ? "our lease is on the node" : "our lease is not on the node"};
  }
  if (kind == ActKind::kDrain) {
    const auto jobs = JobsNow(*state, (*node)->name, now);
    std::vector<std::string> names;
    for (const RunningJob& job : jobs) names.push_back(job.id);
    return {jobs.empty() ? Happened::kYes : Happened::kNo,
            jobs.empty() ? "no job runs there"
                         : fmt::format("{} {} there", Shorten(Join(names, ", "), 200),
                                       jobs.size() == 1 ? "runs" : "run")};
  }
  if (auto down = Unreachable(*state, **node, now); down && kind != ActKind::kBmcReset)
    return {Happened::kUnknown, down->ToString()};
  const auto before = order.before.find("n");
  if (before == order.before.end()) return {Happened::kUnknown, "what was so before is not known"};
  const auto count = ops.count.find(CountKey(order.action));
  const int64_t is = count == ops.count.end() ? 0 : count->second;
  const int64_t was = ParseInt(before->second).value_or(-1);
  if (was < 0) return {Happened::kUnknown, "what was so before cannot be read"};
  if (kind == ActKind::kReboot || kind == ActKind::kPowerCycle) {
    const std::string boot_id = NodeNow(*state, **node, now).boot_id;
    const auto old = order.before.find("boot_id");
    if (old != order.before.end() && old->second == boot_id && is == was)
      return {Happened::kNo, "boot_id is still " + boot_id.substr(0, 8)};
    return {Happened::kYes, "boot_id is now " + boot_id.substr(0, 8)};
  }
  return {is > was ? Happened::kYes : Happened::kNo,
          fmt::format("{} marker {} was {}", TraitsOf(kind).probe, is, was)};
}

Result<Hold> LabActuator::ReadHold(const std::string& name) {
  TRY(const std::shared_ptr<const LabState> lab, Look());
  const LabState& state = *lab;
  TRY(const Node* const node, NodeOf(state, name));
  return OpsOf(state, node->name).hold;
}

Result<Actuator::Fleet> LabActuator::ReadFleet() {
  TRY(const std::shared_ptr<const LabState> lab, Look());
  const LabState& state = *lab;
  const TimePoint now = base_.clock.Now();
  Fleet fleet;
  for (const Node& node : state.cluster.nodes) {
    if (Unreachable(state, node, now)) {
      fleet.silent.push_back(node.name);
    } else {
      fleet.nodes.push_back({node.name, OpsOf(state, node.name).hold});
    }
  }
  return fleet;
}

Result<std::vector<RunningJob>> LabActuator::JobsOn(const std::string& node) {
  TRY(const std::shared_ptr<const LabState> lab, Look());
  const LabState& state = *lab;
  TRY(const Node* const found, NodeOf(state, node));
  return JobsNow(state, found->name, base_.clock.Now());
}

Status LabActuator::StartJob(const RunningJob& job, Duration checkpoint_every) {
  TRY(Open open, OpenLab());
  if (job.nodes.empty()) return Fail(Code::kInvalid, "a job runs on some node");
  for (const std::string& name : job.nodes) TRY_VOID(NodeOf(open.state, name));
  LabJob lab_job{job, checkpoint_every, {}};
  lab_job.job.durable_at.reset();
  lab_job.job.started = std::chrono::floor<std::chrono::milliseconds>(lab_job.job.started);
  // Kept once, with its first node.
  open.state.ops[job.nodes.front()].jobs.push_back(std::move(lab_job));
  return SaveLab(base_.files, open.state);
}

Status LabActuator::Spoil(const std::string& node, ActKind kind, const std::string& how) {
  static constexpr std::string_view kWays[] = {"", "refuse", "fail", "lie", "harm", "break"};
  if (std::find(std::begin(kWays), std::end(kWays), how) == std::end(kWays))
    return Fail(Code::kInvalid,
                "expected refuse, fail, lie, harm, break, or nothing to take it back");
  TRY(Open open, OpenLab());
  TRY_VOID(NodeOf(open.state, node));
  auto& spoiled = open.state.ops[node].spoiled;
  spoiled.erase(std::string(ToString(kind)));
  if (!how.empty()) spoiled[std::string(ToString(kind))] = how;
  return SaveLab(base_.files, open.state);
}

Status LabActuator::SetHold(const std::string& node, const Hold& hold) {
  TRY(Open open, OpenLab());
  TRY_VOID(NodeOf(open.state, node));
  NodeOps& ops = open.state.ops[node];
  ops.hold = hold;
  ops.hold.version = std::to_string(++ops.changes);
  return SaveLab(base_.files, open.state);
}

}  // namespace muster::lab
