#include "backend/lab/state/ops.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backend/lab/state/lab_state.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr Duration kReboot = std::chrono::seconds(2);
constexpr double kFullWatt = 700;  // of the lab's GPUs
constexpr std::string_view kModule = "/updates/dkms/nvidia.ko";

std::string ModuleOf(std::string_view kernel) {
  return fmt::format("/lib/modules/{}{}", kernel, kModule);
}

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
  if (unit == "slurmd" || unit == "kubelet") return {"gpus_not_registered"};
  if (unit == kReplicaUnit) return {"endpoint_slow", "endpoint_failing"};
  return {};
}

void Boot(NodeOps& ops, TimePoint now) {
  ++ops.boots;
  ops.booted_at = now;
  ops.back_at = now + kReboot;
  ops.loaded_driver = ops.driver;
  ops.stopped.clear();
  ops.started.clear();
  if (!ops.next_kernel.empty()) ops.kernel = ops.next_kernel;
  ops.next_kernel.clear();
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
  ops.next_kernel = Param(action, "kernel");
  const std::string set = Param(action, "set");
  if (const auto kernel = After(set, "headers-")) {
    ops.disk[HeadersOf(*kernel)] = "headers";
  } else if (!set.empty()) {
    ops.set = set;
  }
}

// A job is kept once, with its first node, wherever it runs.
template <typename Each>
void ForJobs(LabState& state, Each each) {
  for (auto& [name, ops] : state.ops) {
    for (LabJob& job : ops.jobs) each(job);
  }
}

bool RunsOn(const LabJob& job, const std::string& node) {
  return std::find(job.job.nodes.begin(), job.job.nodes.end(), node) != job.job.nodes.end();
}

void EndJobs(LabState& state, const std::string& node, const Action& action, TimePoint now) {
  const bool force = Param(action, "force") == "true";
  ForJobs(state, [&](LabJob& job) {
    if (!RunsOn(job, node)) return;
    if (force) {
      job.ends_at = now;
    } else if (job.ends_at == TimePoint{} && job.checkpoint_every > Duration::zero()) {
      const auto rounds = (now - job.job.started) / job.checkpoint_every + 1;
      job.ends_at = job.job.started + rounds * job.checkpoint_every;
    }
  });
}

// Its next attempt on nodes that are at work, from its last durable checkpoint; where there are too
// few it stays ended, as a job that waits.
void Requeue(LabState& state, LabJob& job, TimePoint now) {
  std::vector<std::string> nodes;
  for (const Node& node : state.cluster.nodes) {
    const auto ops = state.ops.find(node.name);
    const bool at_work = ops == state.ops.end() || ops->second.hold.schedulable;
    if (at_work && nodes.size() < job.job.nodes.size()) nodes.push_back(node.name);
  }
  if (nodes.size() < job.job.nodes.size()) {
    job.ends_at = now;
    return;
  }
  job.job.nodes = std::move(nodes);
  job.job.started = now;
  job.ends_at = {};
  ++job.attempt;
}

// A site's own tools, as runbooks call them; any other command changes nothing.
void RunCommand(LabState& state, const Node& node, const Action& action, TimePoint now) {
  NodeOps& ops = state.ops[node.name];
  const std::string line = Param(action, "argv");
  const NodeTruth truth = NodeNow(state, node, now);
  if (const auto kernel = After(line, "dkms autoinstall -k "); kernel && *kernel == truth.kernel) {
    if (truth.headers) ops.disk[ModuleOf(*kernel)] = "built";
  } else if (const auto image = After(line, "update-initramfs -u -k ")) {
    ops.disk[fmt::format("/boot/initrd.img-{}", *image)] = "made";
  } else if (const auto config = After(line, fmt::format("kubectl label node {} --overwrite "
                                                         "nvidia.com/device-plugin.config=",
                                                         node.name))) {
    ops.disk[std::string(kPluginConfig)] = *config;
  }
}

// What follows from several acts together: a module that was built is loaded by the next boot, a
// package set that was installed runs with it.
bool HealedByState(const LabState& state, const Fault& fault, const Action& action, bool boots) {
  const auto ops = state.ops.find(action.on.Host());
  if (ops == state.ops.end()) return false;
  const NodeOps& node = ops->second;
  if (fault.kind == "kernel_module_missing")
    return boots && (!node.kernel.empty() ||
                     std::any_of(node.disk.begin(), node.disk.end(),
                                 [](const auto& file) { return EndsWith(file.first, kModule); }));
  if (fault.kind == "image_drift") return boots && node.set == "pinned";
  if (fault.kind == "time_slicing_left_on") {
    const auto config = node.disk.find(std::string(kPluginConfig));
    return action.kind == ActKind::kCommand && config != node.disk.end() &&
           config->second != kSharedConfig;
  }
  if (fault.kind == "gpu_memory_held")
    return Param(action, "argv") ==
           fmt::format("kill -TERM {}", std::llround(Setting(fault, "pid")));
  if (fault.kind == "kv_cache_pressure") {
    // The engine reads its arguments when it starts.
    const auto file = node.disk.find(std::string(kReplicaFile));
    if (action.kind != ActKind::kServiceStart || Param(action, "unit") != kReplicaUnit ||
        file == node.disk.end())
      return false;
    const size_t at = file->second.find("--max-num-seqs ");
    if (at == std::string::npos) return false;
    const std::string_view rest = std::string_view(file->second).substr(at + 15);
    const auto most = ParseInt(rest.substr(0, rest.find_first_not_of("0123456789")));
    return most.ok() && static_cast<double>(*most) <= Setting(fault, "fits");
  }
  return false;
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
  const auto boot = [&] {
    reset();
    Append(healed, {"xid_74", "module_mismatch", "peermem_missing", "fabric_manager_down",
                    "exporter_silent", "dcgm_hang"});
  };
  switch (action.kind) {
    case ActKind::kServiceStart:
    case ActKind::kServiceRestart:
      return HealedByUnit(Param(action, "unit"));
    case ActKind::kServiceStop:
      if (Contains(Param(action, "unit"), "mps")) return {"mps_left_on"};
      return {};
    case ActKind::kBmcReset:
      return {"bmc_silent"};
    case ActKind::kPowerCap:
      // Less power is less heat; a brake is the board's or the room's, and stays.
      if (const auto watt = ParseDouble(Param(action, "watt")); watt.ok() && *watt < kFullWatt)
        return {"thermal"};
      return {};
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
      Append(healed, {"xid_79", "unreachable", "pcie_width_degraded"});
      [[fallthrough]];
    case ActKind::kReboot:
      boot();
      return healed;
    case ActKind::kPackages:
      if (Param(action, "reboot") == "true") boot();
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
  const auto spoiled = ops.spoiled.find(std::string(ToString(action.kind)));
  const std::string how = spoiled == ops.spoiled.end() ? "" : spoiled->second;
  if (how == "lie") return;
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
  if (action.kind == ActKind::kFileWrite)
    ops.disk[Param(action, "path")] = Param(action, "content");
  if (const Node* known = state.cluster.FindNode(node);
      known != nullptr && action.kind == ActKind::kCommand)
    RunCommand(state, *known, action, now);
  if (action.kind == ActKind::kDrain) EndJobs(state, node, action, now);
  if (action.kind == ActKind::kJobStop || action.kind == ActKind::kJobRequeue) {
    ForJobs(state, [&](LabJob& job) {
      if (job.job.id != Param(action, "job")) return;
      if (action.kind == ActKind::kJobStop) {
        job.ends_at = now;
      } else {
        Requeue(state, job, now);
      }
    });
  }
  const bool boots = action.kind == ActKind::kReboot || action.kind == ActKind::kPowerCycle ||
                     (action.kind == ActKind::kPackages && Param(action, "reboot") == "true");
  if (boots) Boot(ops, now);
  const auto healed = HealedBy(action);
  std::erase_if(state.faults, [&](const Fault& fault) {
    // A GPU's act heals that GPU; a node's act all of the node, and the endpoint that it serves.
    if (fault.on != action.on && fault.on.kind != SubjectKind::kEndpoint &&
        (action.on.kind != SubjectKind::kNode || fault.on.Host() != action.on.Host()))
      return false;
    return std::find(healed.begin(), healed.end(), fault.kind) != healed.end() ||
           HealedByState(state, fault, action, boots);
  });
  if (boots) ops.set.clear();
  if (how != "harm" && how != "break") return;
  const std::string gpu =
      action.on.kind == SubjectKind::kGpu ? action.on.id : GpuSubject(node, 0).id;
  (void)Inject(state, how == "harm" ? "xid_48" : "gpu_missing", gpu, now);
}

}  // namespace muster::lab
