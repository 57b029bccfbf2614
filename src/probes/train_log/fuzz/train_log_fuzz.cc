// Any bytes as a trainer's log.
#include <cstdint>
#include <string_view>

#include "probes/train_log/train_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto log = muster::train_log::ParseTrainLog({reinterpret_cast<const char*>(data), size});
  return log.steps.size() > size ? 1 : 0;
}
