// Who holds a Node, as its own fields say it. Pure.
#pragma once

#include <optional>
#include <string>

#include "backend/actuator.h"
#include "kube/core.h"

namespace muster::kubernetes {

// 0: nobody has held it yet.
uint64_t FenceOf(const kube::Node& node);
// Whoever takes the cordon away by hand leaves our annotation behind: the lease is then over.
std::optional<Lease> LeaseOf(const kube::Node& node);
// `json` is the same Node, with the owners of its fields.
Hold HoldOf(const kube::Node& node, const std::string& json);
// Whether it is the lease under which the order is given.
bool Ours(const std::optional<Lease>& lease, const Order& order);

}  // namespace muster::kubernetes
