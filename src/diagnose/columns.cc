#include "diagnose/columns.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::diagnose {

bool Columns::Has(std::string_view head) const {
  return std::any_of(heads.begin(), heads.end(), [&](const auto& h) { return h.first == head; });
}

std::string Columns::Cell(std::string_view line, std::string_view head) const {
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].first != head || heads[i].second >= line.size()) continue;
    const size_t end = i + 1 < heads.size() ? heads[i + 1].second : line.size();
    return std::string(Trim(line.substr(heads[i].second, end - heads[i].second)));
  }
  return "";
}

std::string Columns::CellOf(std::string_view line, std::string_view head) const {
  const auto words = SplitBlank(line);
  if (words.size() != heads.size()) return Cell(line, head);
  for (size_t i = 0; i < heads.size(); ++i)
    if (heads[i].first == head) return std::string(words[i]);
  return "";
}

Columns HeadsOf(std::string_view line) {
  Columns columns;
  for (size_t i = 0; i < line.size();) {
    while (i < line.size() && line[i] == ' ') ++i;
    const size_t begin = i;
    while (i < line.size() && !(line[i] == ' ' && (i + 1 >= line.size() || line[i + 1] == ' ')))
      ++i;
    if (i > begin) columns.heads.emplace_back(std::string(line.substr(begin, i - begin)), begin);
  }
  return columns;
}

bool IsLongAge(std::string_view age) {
  if (age.find_first_of("dhy") != std::string_view::npos) return true;
  const auto minutes = ParseInt(age.substr(0, age.find('m')));
  return age.find('m') != std::string_view::npos && minutes.ok() && *minutes >= 10;
}

}  // namespace muster::diagnose
