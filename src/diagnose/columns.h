// Tables as kubectl and Slurm print them: cells stand below their heads, and may hold single
// blanks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::diagnose {

struct Columns {
  std::vector<std::pair<std::string, size_t>> heads;  // with the place where each begins

  bool Has(std::string_view head) const;
  // What stands below `head`, trimmed; empty where nothing does or there is no such head.
  std::string Cell(std::string_view line, std::string_view head) const;
  // The same of a row whose blanks were squeezed: where it has as many words as there are heads, by
  // their order.
  std::string CellOf(std::string_view line, std::string_view head) const;
};

// One blank belongs to a head ("NOMINATED NODE"); two end it.
Columns HeadsOf(std::string_view line);

// An age such as "14h", "2d3h" or "10m" is longer than a scheduler or a start takes; "42s" and
// "3m12s" are not.
bool IsLongAge(std::string_view age);

}  // namespace muster::diagnose
