// A lease as text, the same wherever it stands: in an annotation of a Node, in a file of a host.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "backend/actuator.h"

namespace muster {

nlohmann::json LeaseJson(const Lease& lease);
// One line of JSON.
std::string WriteLease(const Lease& lease);
// kParse for text that we did not write.
Result<Lease> ReadLease(std::string_view json);

}  // namespace muster
