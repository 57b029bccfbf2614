#include "diagnose/folded_text.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

constexpr std::array<std::string_view, 3> kKeys = {"message: ", "reason: ", "note: "};

// Are the quotes open at the end of `value`, where they were `open` before it?
bool StillOpen(std::string_view value, char quote, bool open) {
  for (size_t at = 0; at < value.size(); ++at) {
    if (quote == '"' && open && value[at] == '\\') {
      ++at;
    } else if (value[at] == quote) {
      open = !open;  // '' within single quotes closes and opens again
    }
  }
  return open;
}

}  // namespace

bool FoldedText::Begin(std::string_view line, size_t number) {
  size_t indent = line.find_first_not_of(" -");
  if (indent == std::string_view::npos || indent == 0 || line.size() > kMostBytes) return false;
  const std::string_view field = line.substr(indent);
  for (const std::string_view key : kKeys) {
    if (!field.starts_with(key)) continue;
    const std::string_view value = Trim(field.substr(key.size()));
    if (value.empty() || value[0] == '|' || value[0] == '>') return false;
    quote_ = value[0] == '\'' || value[0] == '"' ? value[0] : '\0';
    if (quote_ != '\0' && !StillOpen(value, quote_, false)) return false;
    text_ = line;
    number_ = number;
    indent_ = indent;
    may_go_on_ = true;
    return true;
  }
  return false;
}

bool FoldedText::Continue(std::string_view line) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || indent <= indent_ || !may_go_on_) return false;
  if (text_.size() + line.size() > kMostBytes) return false;
  std::string_view more = Trim(line);
  // A plain value holds no key.
  if (quote_ == '\0' && (Contains(more, ": ") || more.ends_with(':') || more.starts_with("- ")))
    return false;
  if (quote_ == '"' && text_.ends_with('\\')) {
    text_.pop_back();
    if (more.starts_with('\\')) more.remove_prefix(1);
    text_ += more;
  } else {
    text_ += ' ';
    text_ += more;
  }
  may_go_on_ = quote_ == '\0' || StillOpen(more, quote_, true);
  return true;
}

std::string FoldedText::Take() { return std::exchange(text_, {}); }

}  // namespace muster::diagnose
