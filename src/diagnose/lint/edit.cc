#include "diagnose/lint/edit.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster {

namespace {

constexpr size_t kNowhere = std::string_view::npos;

size_t LineStart(std::string_view text, size_t offset) {
  const size_t end = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  return offset == 0 || end == kNowhere ? 0 : end + 1;
}
size_t LineEnd(std::string_view text, size_t offset) {  // of the line's "\n", or the end
  const size_t end = text.find('\n', offset);
  return end == kNowhere ? text.size() : end;
}

// Length of the scalar written at `offset`, 0 when it cannot be told.
size_t ScalarLength(std::string_view text, size_t offset, const YamlNode& node) {
  const char first = text[offset];
  if (first == '"' || first == '\'') {
    for (size_t i = offset + 1; i < text.size(); ++i) {
      if (first == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == first) {
        if (first == '\'' && i + 1 < text.size() && text[i + 1] == first) {
          ++i;
          continue;
        }
        return i + 1 - offset;
      }
    }
    return 0;
  }
  if (node.text.empty() || text.substr(offset, node.text.size()) != node.text) return 0;
  return node.text.size();
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = LineEnd(text, at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

size_t OffsetOf(std::string_view text, YamlMark at) {
  if (at.line < 1 || at.column < 1) return kNowhere;
  size_t offset = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (int line = 1; line < at.line; ++line) {
    offset = LineEnd(text, offset);
    if (offset >= text.size()) return kNowhere;
    ++offset;
  }
  for (int column = 1; column < at.column; ++column) {
    if (offset >= text.size() || text[offset] == '\n') return kNowhere;
    ++offset;
    while (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80)
      ++offset;
  }
  return offset < text.size() ? offset : kNowhere;
}

std::vector<TextEdit> ReplaceScalar(std::string_view file, std::string_view text,
                                    const YamlNode& node, std::string_view value) {
  const size_t offset = OffsetOf(text, node.at);
  if (offset == kNowhere || node.kind != YamlNode::Kind::kScalar) return {};
  const size_t length = ScalarLength(text, offset, node);
  if (length == 0) return {};
  return {{std::string(file), offset, length, std::string(value)}};
}

std::vector<TextEdit> InsertEntry(std::string_view file, std::string_view text,
                                  const YamlNode& mapping, std::string_view entry) {
  if (mapping.kind != YamlNode::Kind::kMapping) return {};
  const size_t own = OffsetOf(text, mapping.at);
  if (own != kNowhere && text[own] == '{') {
    if (entry.find('\n') != kNowhere) return {};
    const bool empty = mapping.entries.empty();
    return {{std::string(file), own + 1, 0, std::string(entry) + (empty ? "" : ", ")}};
  }
  if (mapping.entries.empty()) return {};
  // Entries that came by a merge key stand elsewhere; an alias stands before them all.
  YamlMark first = mapping.entries.front().at;
  for (const YamlEntry& e : mapping.entries) {
    const bool mine = std::pair(e.at.line, e.at.column) >= std::pair(mapping.at.line, 0);
    const bool taken = std::pair(first.line, first.column) >= std::pair(mapping.at.line, 0);
    if (mine && (!taken || e.at.line < first.line)) first = e.at;
  }
  const size_t offset = OffsetOf(text, first);
  if (offset == kNowhere) return {};
  const std::string indent(static_cast<size_t>(first.column - 1), ' ');
  std::string added;
  for (const char c : entry) {
    added += c;
    if (c == '\n') added += indent;
  }
  return {{std::string(file), offset, 0, added + "\n" + indent}};
}

std::vector<TextEdit> RemoveLines(std::string_view file, std::string_view text, YamlMark at) {
  size_t offset = OffsetOf(text, at);
  if (offset == kNowhere) return {};
  const size_t start = LineStart(text, offset);
  size_t indent = start;
  while (indent < text.size() && text[indent] == ' ') ++indent;
  // Only a line that begins with what is removed: nothing else may go with it.
  const bool item = text.substr(indent, 2) == "- ";
  size_t content = indent;
  if (item) {
    content += 2;
    while (content < text.size() && text[content] == ' ') ++content;
  }
  if (offset != content && offset != indent) return {};
  const size_t depth = indent - start;
  size_t end = std::min(text.size(), LineEnd(text, start) + 1);
  while (end < text.size()) {
    size_t next = end;
    while (next < text.size() && text[next] == ' ') ++next;
    const bool blank = next >= text.size() || text[next] == '\n';
    if (blank || next - end <= depth) break;
    end = std::min(text.size(), LineEnd(text, end) + 1);
  }
  return {{std::string(file), start, end - start, ""}};
}

std::vector<TextEdit> InsertItem(std::string_view file, std::string_view text, const YamlNode& list,
                                 size_t before, std::string_view item) {
  if (list.kind != YamlNode::Kind::kSequence || before >= list.items.size()) return {};
  const size_t open = OffsetOf(text, list.at);
  const size_t offset = OffsetOf(text, list.items[before].at);
  if (open == kNowhere || offset == kNowhere) return {};
  if (text[open] == '[') return {{std::string(file), offset, 0, std::string(item) + ", "}};
  const size_t start = LineStart(text, offset);
  const size_t dash = text.find("- ", start);
  if (dash == kNowhere || dash >= offset) return {};
  const std::string indent(text.substr(start, dash - start));
  if (indent.find_first_not_of(' ') != std::string::npos) return {};
  return {{std::string(file), start, 0, fmt::format("{}- {}\n", indent, item)}};
}

std::string ApplyEdits(std::string_view file, std::string_view text, std::vector<TextEdit> edits) {
  std::erase_if(edits, [&](const TextEdit& e) { return e.file != file; });
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  std::string out;
  size_t at = 0;
  std::vector<const TextEdit*> here;  // made at the same offset: two findings may share a repair
  for (const TextEdit& edit : edits) {
    if (edit.offset < at || edit.offset + edit.length > text.size()) continue;
    if (!here.empty() && here.back()->offset != edit.offset) here.clear();
    if (std::any_of(here.begin(), here.end(), [&](const TextEdit* e) { return *e == edit; }))
      continue;
    out += text.substr(at, edit.offset - at);
    out += edit.text;
    at = edit.offset + edit.length;
    here.push_back(&edit);
  }
  return out += text.substr(at);
}

std::string UnifiedDiff(const std::string& path, std::string_view before, std::string_view after) {
  if (before == after) return "";
  const auto a = LinesOf(before), b = LinesOf(after);
  // Longest common subsequence by rows, between the common head and tail.
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const size_t n = a.size() - head - tail, m = b.size() - head - tail;
  struct Line {
    char sign;
    std::string_view text;
  };
  std::vector<Line> script;
  for (size_t i = 0; i < head; ++i) script.push_back({' ', a[i]});
  if (n * m > 4'000'000) {  // beyond this one hunk says it as well
    for (size_t i = 0; i < n; ++i) script.push_back({'-', a[head + i]});
    for (size_t j = 0; j < m; ++j) script.push_back({'+', b[head + j]});
  } else {
    std::vector<std::vector<uint32_t>> best(n + 1, std::vector<uint32_t>(m + 1, 0));
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        best[i][j] = a[head + i] == b[head + j] ? best[i + 1][j + 1] + 1
                                                : std::max(best[i + 1][j], best[i][j + 1]);
      }
    }
    size_t i = 0, j = 0;
    while (i < n || j < m) {
      if (i < n && j < m && a[head + i] == b[head + j]) {
        script.push_back({' ', a[head + i]});
        ++i, ++j;
      } else if (i < n && (j == m || best[i + 1][j] >= best[i][j + 1])) {
        script.push_back({'-', a[head + i++]});
      } else {
        script.push_back({'+', b[head + j++]});
      }
    }
  }
  for (size_t i = a.size() - tail; i < a.size(); ++i) script.push_back({' ', a[i]});

  constexpr size_t kContext = 3;
  std::string out = fmt::format("--- {}\n+++ {}\n", path, path);
  size_t line_a = 1, line_b = 1;
  for (size_t k = 0; k < script.size();) {
    if (script[k].sign == ' ') {
      ++k, ++line_a, ++line_b;
      continue;
    }
    size_t end = k, same = 0;  // the hunk goes on while changes are less than two contexts apart
    for (size_t i = k; i < script.size() && same <= 2 * kContext; ++i) {
      same = script[i].sign == ' ' ? same + 1 : 0;
      if (same == 0) end = i + 1;
    }
    const size_t from = k - std::min(kContext, k);
    const size_t to = std::min(script.size(), end + kContext);
    const size_t lead = k - from;
    size_t in_a = 0, in_b = 0;
    std::string body;
    for (size_t i = from; i < to; ++i) {
      in_a += script[i].sign != '+';
      in_b += script[i].sign != '-';
      body += fmt::format("{}{}\n", script[i].sign, script[i].text);
    }
    const size_t start_a = line_a - lead, start_b = line_b - lead;
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", in_a == 0 ? start_a - 1 : start_a, in_a,
                       in_b == 0 ? start_b - 1 : start_b, in_b, body);
    line_a += in_a - lead;
    line_b += in_b - lead;
    k = to;
  }
  return out;
}

}  // namespace muster
