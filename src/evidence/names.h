// Reading an enum back from its name, with the known names in the error: one helper for all enums
// of this room.
#pragma once

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "base/strings.h"

namespace muster {

// The enumerator whose number is the place of `text` among `names`; kInvalid lists them.
template <typename Enum, size_t n>
Result<Enum> ParseEnumName(const std::array<std::string_view, n>& names, std::string_view what,
                           std::string_view text) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown {} \"{}\", expected one of {}", what,
                                          Printable(text), fmt::join(names, ", ")));
}

}  // namespace muster
