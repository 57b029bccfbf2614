#include <cstddef>
#include <cstdint>

#include "probes/rocm_smi/probes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::rocm_smi::ParseQuery(reading);
  return 0;
}
