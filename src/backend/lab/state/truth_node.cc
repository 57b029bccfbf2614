// What is so of one node: versions, services, clock.
#include <fmt/format.h>

#include "backend/lab/state/chance.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {

namespace {
// An older release of the same branch.
constexpr std::string_view kOtherDriver = "570.172.08";

int Advertised(const LabState& state, const Subject& node, const NodeOps* ops) {
  if (state.Has("gpus_not_registered", node)) return 0;
  if (const Fault* fault = state.Find("time_slicing_left_on", node))
    return static_cast<int>(Setting(*fault, "replicas"));
  if (ops == nullptr) return 1;
  const auto config = ops->disk.find(std::string(kPluginConfig));
  return config == ops->disk.end() || config->second != kSharedConfig ? 1 : 4;
}
}  // namespace

std::string HeadersOf(std::string_view kernel) {
  return fmt::format("/lib/modules/{}/build", kernel);
}

NodeTruth NodeNow(const LabState& state, const Node& node, TimePoint now) {
  NodeTruth truth;
  const auto found = state.ops.find(node.name);
  const NodeOps* ops = found == state.ops.end() ? nullptr : &found->second;
  const int boots = ops == nullptr ? 0 : ops->boots;
  truth.boot_id =
      DrawUuid(state, node.name, boots == 0 ? std::string("boot") : fmt::format("boot{}", boots));
  // Nodes came up some hours before the lab was made, not all in one minute.
  truth.uptime = (now - state.created) + std::chrono::hours(20) +
                 FromSeconds(1800 * Draw(state, node.name, "uptime"));
  if (boots > 0) truth.uptime = now - ops->booted_at;
  if (ops != nullptr && !ops->driver.empty()) {
    truth.driver_version = ops->driver;
    truth.loaded_driver_version = ops->loaded_driver.empty() ? ops->driver : ops->loaded_driver;
  }
  if (ops != nullptr && !ops->fabric_manager.empty())
    truth.fabric_manager_version = ops->fabric_manager;
  const Subject subject = NodeSubject(node.name);
  truth.reachable = !state.Has("unreachable", subject) && (ops == nullptr || now >= ops->back_at);
  if (state.Has("driver_mismatch", subject)) {
    truth.driver_version = truth.loaded_driver_version = truth.fabric_manager_version =
        kOtherDriver;
  }
  if (state.Has("module_mismatch", subject)) truth.loaded_driver_version = kOtherDriver;
  if (state.Has("fabric_manager_mismatch", subject)) truth.fabric_manager_version = kOtherDriver;
  if (state.Has("image_drift", subject)) {
    truth.kernel = "6.8.0-60-generic";
    truth.os_version = "22.04.4";
    truth.container_toolkit_version = "1.17.4";
  }
  if (ops != nullptr && !ops->kernel.empty()) truth.kernel = ops->kernel;
  if (state.Has("kernel_module_missing", subject)) {
    truth.module_built = false;
    truth.headers = ops != nullptr && ops->disk.contains(HeadersOf(truth.kernel));
  }
  truth.fabric_manager_running = truth.module_built && !state.Has("fabric_manager_down", subject) &&
                                 (ops == nullptr || !ops->stopped.contains("nvidia-fabricmanager"));
  truth.peermem_loaded = truth.module_built && !state.Has("peermem_missing", subject);
  truth.advertised_per_gpu = Advertised(state, subject, ops);
  truth.mps_runs = state.Has("mps_left_on", subject);
  for (const auto& [unit, on] : ops == nullptr ? std::map<std::string, bool>{} : ops->started)
    truth.mps_runs = truth.mps_runs || (on && Contains(unit, "mps"));
  if (const Fault* fault = state.Find("clock_skew", subject)) {
    truth.clock_offset = FromSeconds(Setting(*fault, "seconds"));
  }
  truth.exporter_answers = truth.module_built && !state.Has("exporter_silent", subject);
  if (const Fault* fault = state.Find("scrape_too_slow", subject)) {
    truth.scrape_interval_seconds = Setting(*fault, "seconds");
  }
  return truth;
}

}  // namespace muster::lab
