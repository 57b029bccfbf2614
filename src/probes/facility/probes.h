// The probes of gate 1: what a named person signed about the building, and what its PDUs say of
// themselves.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// "facility.signoff" reads kSignoffPath on the host "facility"; "facility.redfish" asks the PDUs
// that the sign-off names a URL for.
std::span<const Probe> FacilityProbes();

}  // namespace muster
