#include "backend/lab/state/ops.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/state/lab_state.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr Duration kReboot = std::chrono::seconds(2);

std::string Param(const Action& action, const std::string& name) {
  const auto it = action.params.find(name);
  return it == action.params.end() ? "" : it->second;
}

void Append(std::vector<std::string_view>& list, std::vector<std::string_view> more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::vector<std::string_view> HealedByUnit(std::string_view unit) {
  if (unit == "nvidia-fabricmanager") return {"fabric_manager_down"};
  if (unit == "nvidia-dcgm") return {"dcgm_hang"};
  if (unit == "dcgm-exporter") return {"exporter_silent"};
  if (unit == "chronyd" || unit == "chrony") return {"clock_skew"};
  if (unit == "nvidia-persistenced") return {"persistence_off"};
  return {};
}

void Boot(NodeOps& ops, TimePoint now) {
  ++ops.boots;
  ops.booted_at = now;
  ops.back_at = now + kReboot;
  ops.loaded_driver = ops.driver;
  ops.stopped.clear();
  ops.started.clear();
}

void Install(NodeOps& ops, const Action& action) {
  if (const std::string driver = Param(action, "driver"); !driver.empty()) {
    // What is loaded stays until the module is loaded anew.
    if (ops.loaded_driver.empty()) ops.loaded_driver = ops.driver;
    if (ops.loaded_driver.empty()) ops.loaded_driver = std::string(kLabDriver);
    ops.driver = driver;
  }
  if (const std::string manager = Param(action, "fabric_manager"); !manager.empty())
    ops.fabric_manager = manager == "driver" ? ops.driver : manager;
}

void EndJobs(NodeOps& ops, const Action& action, TimePoint now) {
  const bool force = Param(action, "force") == "true";
  for (LabJob& job : ops.jobs) {
    if (force) {
      job.ends_at = now;
    } else if (job.ends_at == TimePoint{} && job.checkpoint_every > Duration::zero()) {
      const auto rounds = (now - job.job.started) / job.checkpoint_every + 1;
      job.ends_at = job.job.started + rounds * job.checkpoint_every;
    }
  }
}

}  // namespace

std::optional<TimePoint> LabJob::DurableAt(TimePoint now) const {
  if (checkpoint_every <= Duration::zero()) return std::nullopt;
  const auto rounds = (now - job.started) / checkpoint_every;
  if (rounds < 1) return std::nullopt;
  return job.started + rounds * checkpoint_every;
}

std::vector<std::string_view> HealedBy(const Action& action) {
  std::vector<std::string_view> healed;
  const auto reset = [&] {
    Append(healed, {"xid_48", "xid_63", "xid_94", "xid_95", "xid_119", "remap_pending",
                    "ecc_uncorrectable"});
  };
  switch (action.kind) {
    case ActKind::kServiceStart:
    case ActKind::kServiceRestart:
      return HealedByUnit(Param(action, "unit"));
    case ActKind::kModuleLoad:
      if (Contains(Param(action, "module"), "peermem")) return {"peermem_missing"};
      return {};
    case ActKind::kModuleReload:
      return {"module_mismatch"};
    case ActKind::kPersistence:
      return {"persistence_off"};
    case ActKind::kMigClear:
      return {"mig_left_on"};
    case ActKind::kGpuReset:
      reset();
      return healed;
    case ActKind::kPowerCycle:
      Append(healed, {"xid_79", "unreachable"});
      [[fallthrough]];
    case ActKind::kReboot:
      reset();
      Append(healed, {"xid_74", "module_mismatch", "peermem_missing", "fabric_manager_down",
                      "exporter_silent", "dcgm_hang"});
      return healed;
    case ActKind::kPackages:
      if (!Param(action, "driver").empty()) Append(healed, {"driver_mismatch"});
      if (!Param(action, "fabric_manager").empty()) Append(healed, {"fabric_manager_mismatch"});
      return healed;
    default:
      return {};
  }
}

void Land(LabState& state, const Order& order, TimePoint now) {
  const Action& action = order.action;
  const std::string node(action.on.Host());
  NodeOps& ops = state.ops[node];
  ++ops.count[fmt::format("{} {}", ToString(action.kind), action.on.id)];
  if (ops.spoiled.contains(std::string(ToString(action.kind)))) return;  // a lie
  if (action.kind == ActKind::kServiceStop) {
    ops.stopped[Param(action, "unit")] = true;
    ops.started.erase(Param(action, "unit"));
  }
  if (action.kind == ActKind::kServiceStart || action.kind == ActKind::kServiceRestart) {
    ops.stopped.erase(Param(action, "unit"));
    ops.started[Param(action, "unit")] = true;
  }
  if (action.kind == ActKind::kMigSet) ops.mig[action.on.id] = Param(action, "layout");
  if (action.kind == ActKind::kMigClear) ops.mig.erase(action.on.id);
  if (action.kind == ActKind::kModuleReload) ops.loaded_driver = ops.driver;
  if (action.kind == ActKind::kPackages) Install(ops, action);
  if (action.kind == ActKind::kDrain) EndJobs(ops, action, now);
  if (action.kind == ActKind::kJobStop || action.kind == ActKind::kJobRequeue) {
    // Wherever it runs: a job is kept once, with its first node.
    for (auto& [name, other] : state.ops) {
      for (LabJob& job : other.jobs) {
        if (job.job.id == Param(action, "job")) job.ends_at = now;
      }
    }
  }
  const bool boots = action.kind == ActKind::kReboot || action.kind == ActKind::kPowerCycle ||
                     (action.kind == ActKind::kPackages && Param(action, "reboot") == "true");
  if (boots) Boot(ops, now);
  const auto healed = HealedBy(action);
  std::erase_if(state.faults, [&](const Fault& fault) {
    if (std::find(healed.begin(), healed.end(), fault.kind) == healed.end()) return false;
    // A GPU's act heals that GPU; a node's act all of the node.
    return fault.on == action.on ||
           (action.on.kind == SubjectKind::kNode && fault.on.Host() == action.on.Host());
  });
}

}  // namespace muster::lab
