#include <cstddef>
#include <cstdint>

#include "probes/node/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::node::ParseIdentity(reading);
  (void)muster::node::ParseServices(reading);
  (void)muster::node::ParseModules(reading);
  return 0;
}
