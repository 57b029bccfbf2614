#include "backend/kubernetes/pod_work.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kubernetes_actuator.h"
#include "base/strings.h"

namespace muster::kubernetes {

namespace {

constexpr int64_t kWhole = 1000;  // amounts are in thousandths

}  // namespace

const kube::Owner* ControllerOf(const kube::Pod& pod) {
  for (const kube::Owner& owner : pod.meta.owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

bool Stays(const kube::Pod& pod) {
  const kube::Owner* controller = ControllerOf(pod);
  return (controller != nullptr && controller->kind == "DaemonSet") ||
         pod.meta.Annotation("kubernetes.io/config.mirror") != nullptr || pod.Finished();
}

int64_t GpusOf(const kube::Pod& pod) {
  int64_t gpus = 0;
  for (const auto& [name, amount] : pod.Requests()) {
    if (name == "nvidia.com/gpu" || StartsWith(name, "nvidia.com/mig-") || name == "amd.com/gpu")
      gpus += amount / kWhole;
  }
  return gpus;
}

std::string JobOf(const kube::Pod& pod) {
  const kube::Owner* by = ControllerOf(pod);
  return fmt::format("{}/{}", pod.meta.ns,
                     by == nullptr ? pod.meta.name : by->kind + "/" + by->name);
}

std::optional<TimePoint> DurableAt(const kube::Pod& pod) {
  const std::string* text = pod.meta.Annotation(kCheckpointKey);
  const auto at = text == nullptr ? Result<TimePoint>(Fail(Code::kNotFound, "")) : ParseTime(*text);
  return at.ok() ? std::optional(*at) : std::nullopt;
}

SavedWork::SavedWork(const std::vector<kube::Pod>& pods, TimePoint since) : since_(since) {
  for (const kube::Pod& pod : pods) {
    const auto at = DurableAt(pod);
    if (!at) continue;
    TimePoint& newest = newest_.try_emplace(JobOf(pod), *at).first->second;
    newest = std::max(newest, *at);
  }
}

Saved SavedWork::Of(const kube::Pod& pod) const {
  const kube::Owner* by = ControllerOf(pod);
  const std::string* said = pod.meta.Annotation(kCheckpointKey);
  if (GpusOf(pod) == 0 || (by != nullptr && by->kind == "ReplicaSet") ||
      (said != nullptr && *said == "none"))
    return Saved::kYes;
  const auto newest = newest_.find(JobOf(pod));
  if (newest == newest_.end()) return Saved::kUnknown;
  return newest->second >= since_ ? Saved::kYes : Saved::kNotYet;
}

}  // namespace muster::kubernetes
