#include "backend/kubernetes/node_hold.h"

#include <fmt/format.h>

#include "backend/kubernetes/field_owner.h"
#include "backend/kubernetes/kubernetes_actuator.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::kubernetes {

namespace {

// " by kubectl-cordon at ...", as far as the API server knows.
std::string By(const std::string& json, const std::vector<std::string>& path) {
  const std::string owner = OwnerOf(json, path);
  return owner.empty() || owner.starts_with(fmt::format("{} at ", kube::kFieldManager))
             ? ""
             : " by " + owner;
}

}  // namespace

uint64_t FenceOf(const kube::Node& node) {
  const std::string* text = node.meta.Annotation(kFenceKey);
  const auto fence = text == nullptr ? Result<int64_t>(0) : ParseInt(*text);
  return fence.ok() && *fence > 0 ? static_cast<uint64_t>(*fence) : 0;
}

std::optional<Lease> LeaseOf(const kube::Node& node) {
  const std::string* text = node.meta.Annotation(kLeaseKey);
  if (text == nullptr || !node.unschedulable) return std::nullopt;
  auto lease = ReadLease(*text);
  return lease.ok() ? std::optional(std::move(*lease)) : std::nullopt;
}

Hold HoldOf(const kube::Node& node, const std::string& json) {
  Hold hold;
  hold.schedulable = !node.unschedulable;
  hold.lease = LeaseOf(node);
  const std::string* text = node.meta.Annotation(kLeaseKey);
  if (hold.lease) {
    hold.note = fmt::format("{}:{} {}", hold.lease->owner, hold.lease->run, hold.lease->reason);
  } else if (node.unschedulable) {
    const std::string lease_field = "f:" + std::string(kLeaseKey);
    hold.note = text == nullptr
                    ? fmt::format("cordoned{}, and nobody wrote why",
                                  By(json, {"f:spec", "f:unschedulable"}))
                    : fmt::format("cordoned, with a lease that cannot be read{}",
                                  By(json, {"f:metadata", "f:annotations", lease_field}));
  } else if (text != nullptr) {
    hold.note = fmt::format("somebody uncordoned it{} while a lease was on it",
                            By(json, {"f:spec", "f:unschedulable"}));
  }
  // The resourceVersion moves with every heartbeat; this only with what is said above.
  hold.version =
      Sha256Hex(fmt::format("{}|{}", node.unschedulable, text ? *text : "")).substr(0, 16);
  return hold;
}

bool Ours(const std::optional<Lease>& lease, const Order& order) {
  return lease && lease->run == order.run &&
         (order.lease.owner.empty() || lease->owner == order.lease.owner);
}

}  // namespace muster::kubernetes
