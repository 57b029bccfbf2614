// Any bytes as the output of ibqueryerrors.
#include <cstddef>
#include <cstdint>

#include "probes/infiniband/ibqueryerrors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::infiniband::ParseIbqueryerrorsReading(reading);
  return 0;
}
