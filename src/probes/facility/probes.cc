#include "probes/facility/probes.h"

#include "probes/facility/redfish.h"
#include "probes/facility/signoff.h"

namespace muster {

namespace {

Reading CollectSignoff(const HostPorts& ports) {
  return ReadFile(ports, "facility.signoff", std::string(facility::kSignoffPath));
}

}  // namespace

std::span<const Probe> FacilityProbes() {
  static const std::vector<Probe> probes = {
      {"facility.signoff",
       "json",
       {"facility.signed", "facility.signer", "facility.expires_in", "facility.used_ratio",
        "pdu.energised"},
       CollectSignoff,
       facility::ParseSignoff},
      {"facility.redfish",
       "json",
       {"pdu.energised"},
       facility::CollectRedfish,
       facility::ParseRedfish},
  };
  return probes;
}

}  // namespace muster
