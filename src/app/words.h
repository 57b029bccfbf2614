// Numbers with their noun, as a person writes them: "1 node", "2 nodes".
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace muster {

// `many` only where it is not `one` and an s: Counted(1, "criterion", "criteria").
inline std::string Counted(size_t n, std::string_view one, std::string_view many = {}) {
  if (n == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", n, one) : fmt::format("{} {}", n, many);
}

}  // namespace muster
