#include "diagnose/document_lines.h"

#include <cstring>
#include <utility>

namespace muster::diagnose {

namespace {
constexpr size_t kLongestDocument = 64u << 20;

DocumentLines::Kind Opens(std::string_view line, bool within) {
  const size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return DocumentLines::Kind::kNone;
  const std::string_view text = line.substr(first);
  const bool object = text == "{" || text.starts_with("{\"") || text.starts_with("{ \"");
  const bool array = text == "[" || text.starts_with("[{") || text.starts_with("[ {");
  // kubectl describe shortens an annotation so: what follows is not the rest of it.
  const bool shortened = text.size() > 3 && text.ends_with("...");
  if (!within && (object || array) && !shortened) return DocumentLines::Kind::kJson;
  if (text.starts_with("<?xml") || text.starts_with("<nvidia_smi_log"))
    return DocumentLines::Kind::kXml;
  return DocumentLines::Kind::kNone;
}
}  // namespace

DocumentLines::Step DocumentLines::Take(std::string_view line, const std::string& file,
                                        size_t number, const std::string& host, bool within) {
  if (kind_ == Kind::kNone) {
    kind_ = Opens(line, within);
    if (kind_ == Kind::kNone) return Step::kOutside;
    depth_ = 0;
    in_string_ = escaped_ = false;
    document_ = {file, number, "", host, false};
  }
  if (kind_ == Kind::kJson) return TakeJson(line, number);
  Keep(line);
  return line.find("</nvidia_smi_log>") != std::string_view::npos ? Step::kLast : Step::kInside;
}

DocumentLines::Step DocumentLines::TakeJson(std::string_view line, size_t number) {
  const size_t first = line.find_first_not_of(" \t");
  if (!in_string_ && first != std::string_view::npos && document_.first_line != number &&
      std::strchr("{}[]\",:0123456789-tfn", line[first]) == nullptr)
    return Step::kBroken;
  for (const char c : line) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    }
  }
  Keep(line);
  return depth_ <= 0 ? Step::kLast : Step::kInside;
}

void DocumentLines::Keep(std::string_view line) {
  if (document_.text.size() + line.size() >= kLongestDocument) return;
  document_.text += line;
  document_.text += '\n';
}

void DocumentLines::BeginPickle(const std::string& file) {
  kind_ = Kind::kPickle;
  document_ = {file, 1, "", "", false};
}

void DocumentLines::AddBytes(std::string_view bytes) {
  if (document_.text.size() + bytes.size() <= kLongestDocument) document_.text += bytes;
}

Section DocumentLines::Close(bool cut) {
  kind_ = Kind::kNone;
  document_.cut = cut;
  return std::exchange(document_, {});
}

}  // namespace muster::diagnose
