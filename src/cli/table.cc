#include "cli/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::cli {

namespace {
std::string Paint(const Context& context, std::string_view code, std::string_view text) {
  return context.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}
}  // namespace

Table::Table(std::vector<std::string> header) : has_header_(!header.empty()) {
  if (has_header_) rows_.push_back(std::move(header));
}

void Table::Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::ToString(int indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - DisplayWidth(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string LevelWord(const Context& context, Level level) {
  switch (level) {
    case Level::kPass:
      return Paint(context, "32", "PASS");
    case Level::kWarn:
      return Paint(context, "33", "WARN");
    case Level::kFail:
      return Paint(context, "1;31", "FAIL");
    case Level::kUnknown:
      return Paint(context, "35", "UNKNOWN");
    case Level::kNotApplicable:
      return Paint(context, "2", "n/a");
  }
  return "UNKNOWN";
}

std::string Bold(const Context& context, std::string_view text) {
  return Paint(context, "1", text);
}
std::string Dim(const Context& context, std::string_view text) { return Paint(context, "2", text); }

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string Folded(const Context& context, const std::string& text, size_t indent) {
  const size_t width = static_cast<size_t>(std::max(60, context.width - 2));
  std::string out, line, word;
  const auto flush = [&] {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      out += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  for (const char c : text + " ") {
    if (c == ' ' || c == '\n') {
      if (!word.empty()) flush();
    } else {
      word += c;
    }
  }
  return out + line;
}

}  // namespace muster::cli
