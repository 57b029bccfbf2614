// Columns for a person: padded to the widest cell, never trailing blanks, colour only where the
// context allows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "evidence/verdict.h"

namespace muster::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header);  // empty = no header line
  void Row(std::vector<std::string> cells);
  // `indent` blanks before each line. Colour escapes in cells do not count as width.
  std::string ToString(int indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool has_header_;
};

// "PASS", "WARN", "FAIL", "UNKNOWN", "n/a", coloured where allowed: green, yellow, red, magenta,
// dim.
std::string LevelWord(const Context& context, Level level);
std::string Bold(const Context& context, std::string_view text);
std::string Dim(const Context& context, std::string_view text);
// Folded at blanks at the terminal's width, the following lines indented by `indent` columns.
std::string Folded(const Context& context, const std::string& text, size_t indent);
// Columns that the text takes on a terminal: escapes are 0, UTF-8 sequences are 1.
size_t DisplayWidth(std::string_view text);

}  // namespace muster::cli
