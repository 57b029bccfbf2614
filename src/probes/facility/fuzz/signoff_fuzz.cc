// Any bytes as a sign-off and as the answers of PDUs.
#include <cstddef>
#include <cstdint>

#include "probes/facility/redfish.h"
#include "probes/facility/signoff.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "facility";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::facility::ParseSignoff(reading);
  (void)muster::facility::ParseRedfish(reading);
  return 0;
}
