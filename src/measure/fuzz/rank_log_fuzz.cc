// Any bytes as a rank's log.
#include <cstdint>
#include <string_view>

#include "measure/training/rank_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto report =
      muster::training::ParseRankLog(0, "n", 0, {reinterpret_cast<const char*>(data), size});
  static_cast<void>(muster::training::NamedMissing(report));
  return 0;
}
