// Any bytes as a checkpoint's manifest.
#include <cstdint>
#include <string_view>

#include "backend/lab/work/trainer/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static_cast<void>(muster::lab::Manifest::FromJson({reinterpret_cast<const char*>(data), size}));
  return 0;
}
