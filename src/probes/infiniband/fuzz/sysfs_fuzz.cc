// Any bytes as the output of sysfs.
#include <cstddef>
#include <cstdint>

#include "probes/infiniband/sysfs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::infiniband::ParseSysfsReading(reading);
  return 0;
}
