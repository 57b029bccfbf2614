// CHECK(condition, "why"): an invariant of the program itself. It stays on in release and aborts,
// which is safe because every intent is on disk before its deed. User input and the outside world
// never reach a CHECK.
#pragma once

#include <source_location>
#include <string_view>

namespace muster {

[[noreturn]] void CheckFailed(std::string_view condition, std::string_view why,
                              std::source_location where);

}  // namespace muster

#define CHECK(condition, why)                                                                  \
  do {                                                                                         \
    if (!(condition)) ::muster::CheckFailed(#condition, why, std::source_location::current()); \
  } while (false)
