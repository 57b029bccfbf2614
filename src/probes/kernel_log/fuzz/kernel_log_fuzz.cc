#include <cstddef>
#include <cstdint>

#include "probes/kernel_log/xid_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::kernel_log::ParseXids(reading);
  return 0;
}
