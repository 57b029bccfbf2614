// Any bytes as the answer of /v1/models.
#include <cstdint>

#include "probes/openai/probes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "openai";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  static_cast<void>(muster::openai::ParseModels(reading, "m"));
  return 0;
}
