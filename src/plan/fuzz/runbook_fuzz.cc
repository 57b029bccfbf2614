// Any text is a runbook or is refused, and a runbook's own text is always read the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/runbook.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto book = muster::ParseRunbook(text, "fuzz.yaml");
  if (!book.ok()) return 0;
  for (const muster::StepSpec& step : book->steps) {
    // What loads keeps the first promise of the format.
    if (muster::TraitsOf(step.act).destructive && (step.verify.empty() || step.probe.empty()))
      std::abort();
  }
  return 0;
}
