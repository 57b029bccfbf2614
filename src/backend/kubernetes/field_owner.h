// Who wrote a field of an object last, as its managedFields say: so a person who reads that a node
// is held also reads by whom. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::kubernetes {

// `object` is an object's JSON as the API server gave it; `path` is the field as managedFields name
// it: {"f:spec", "f:unschedulable"}. "kubectl-cordon at 2026-11-22T03:00:00Z"; "" where nobody owns
// the field: it is not set, or was taken away, which leaves no owner behind.
std::string OwnerOf(std::string_view object, const std::vector<std::string>& path);

}  // namespace muster::kubernetes
