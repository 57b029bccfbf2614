// What PDUs say of themselves over Redfish (DMTF DSP0266; Outlet and PowerDistribution schemas,
// DSP2046): the outlets' PowerState.
#pragma once

#include <string>
#include <string_view>

#include "probes/probe.h"

namespace muster::facility {

// Asks each PDU that the sign-off at kSignoffPath has a redfish_url for: that resource and, where
// it is a collection of references, its members. The reading's text is one JSON document:
// {"pdus":[{"name":..,"answers":[{"url":..,"status":200,"body":".."}]}]}.
Reading CollectRedfish(const HostPorts& ports);

// pdu.energised for each PDU: true only when every outlet that it lists was read and is On.
Observations ParseRedfish(const Reading& reading);

}  // namespace muster::facility
