#include "sched/decision.h"

#include <fmt/format.h>

namespace muster::sched {

std::string TextOf(const Detail& detail) {
  std::string text;
  for (const auto& [key, value] : detail) {
    text += fmt::format("{}{}=", text.empty() ? "" : " ", key);
    if (const auto* number = std::get_if<int64_t>(&value)) text += fmt::format("{}", *number);
    if (const auto* word = std::get_if<std::string>(&value)) text += *word;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      text += fmt::format("{}", fmt::join(*list, ","));
  }
  return text;
}

std::string TextOf(const Because& because) {
  return because.detail.empty() ? because.code : because.code + " " + TextOf(because.detail);
}

}  // namespace muster::sched
