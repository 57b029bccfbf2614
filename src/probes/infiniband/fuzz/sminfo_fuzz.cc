// Any bytes as the output of sminfo.
#include <cstddef>
#include <cstdint>

#include "probes/infiniband/sminfo.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::infiniband::ParseSminfoReading(reading);
  return 0;
}
