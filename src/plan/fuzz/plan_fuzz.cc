// Any text is a plan or is refused; one that is read writes itself again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = muster::ReadPlan(text, "fuzz.json");
  if (plan.ok() && muster::PlanHash(*plan) != plan->hash) std::abort();
  return 0;
}
