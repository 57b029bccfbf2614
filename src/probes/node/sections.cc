#include "probes/node/sections.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::node {
namespace {
constexpr std::string_view kMark = "# muster: ";
}

void AddSection(std::string& text, std::string_view name, std::string_view said) {
  fmt::format_to(std::back_inserter(text), "{}{}\n{}", kMark, name, said);
  if (!said.empty() && said.back() != '\n') text.push_back('\n');
}

std::optional<std::string_view> Section(std::string_view text, std::string_view name) {
  const std::string head = fmt::format("{}{}\n", kMark, name);
  size_t at = text.find(head);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n')
    at = text.find(head, at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + head.size());
  if (StartsWith(rest, kMark)) return std::string_view();
  const size_t next = rest.find(fmt::format("\n{}", kMark));
  if (next == std::string_view::npos) return std::nullopt;
  return rest.substr(0, next + 1);
}

}  // namespace muster::node
