// Any bytes as the body of a request.
#include <cstdint>
#include <string_view>

#include "backend/lab/work/serve/openai_api.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static_cast<void>(muster::lab::ParseGeneration(true, body));
  static_cast<void>(muster::lab::ParseGeneration(false, body));
  return 0;
}
