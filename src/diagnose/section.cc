#include "diagnose/section.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::diagnose {

void Section::Add(std::string_view line, size_t number) {
  text += line;
  text += '\n';
  if (!numbers.empty()) numbers.push_back(number);
}

Place Section::At(size_t offset) const {
  const size_t end = std::min(offset, text.size());
  const auto below = static_cast<size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  if (!numbers.empty()) return {file, numbers[std::min(below, numbers.size() - 1)]};
  return {file, first_line + below};
}

Place Section::Where(std::string_view part) const {
  const size_t at = part.empty() ? std::string::npos : text.find(part);
  return At(at == std::string::npos ? 0 : at);
}

size_t Section::LinesThatBegin(std::string_view with) const {
  const auto lines = Lines(text);
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [&](std::string_view line) {
    return Trim(line).starts_with(with);
  }));
}

Fact Section::Make(std::string id, Attributes attrs, Place at, std::string_view line) const {
  Fact fact{std::move(id),
            std::move(attrs),
            std::move(at),
            Shorten(Printable(Trim(line)), kTextBytes),
            {},
            0,
            1};
  std::erase_if(fact.attrs, [](const auto& attr) { return attr.second.empty(); });
  if (fact.Get("host").empty()) fact.Set("host", host);
  return fact;
}

bool Indented(std::string_view line) { return line.empty() || line[0] == ' ' || line[0] == '\t'; }

void AddDamage(const Section& section, FactStore& facts, std::string_view what) {
  facts.Add(section.Make("damage", {{"what", std::string(what)}}, section.At(0), what));
}

}  // namespace muster::diagnose
