#include "diagnose/pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::diagnose {

namespace {
constexpr size_t kLongestWord = 200;

bool EndsWord(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';' || c == ')' || c == ']' || c == '"' ||
         c == '\'' || c == '}' || c == '>' || c == '`' || c == '\r';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

// A word of a line, and where the line goes on behind it: the quotes of a quoted one are not of it.
struct Span {
  size_t begin = 0, end = 0, after = 0;
};
Span WordAt(std::string_view line, size_t at) {
  if (at < line.size() && IsQuote(line[at])) {
    const size_t close = line.find(line[at], at + 1);
    if (close != std::string_view::npos) return {at + 1, close, close + 1};
    ++at;  // the text ends before the quote does
  }
  size_t end = at;
  while (end < line.size() && !EndsWord(line[end])) ++end;
  // A colon or full stop that ends the sentence is no part of the word.
  while (end > at && (line[end - 1] == '.' || line[end - 1] == ':')) --end;
  return {at, end, end};
}

// The rest of a line up to the quote that closes what began before it: `err="a: no space" pod="b"`,
// `message: 'a: no space'`.
std::string_view RestOf(std::string_view rest) {
  rest = Trim(rest);
  const auto escaped = [&](size_t at) { return at > 0 && rest[at - 1] == '\\'; };
  size_t quotes = 0, first = std::string_view::npos;
  for (size_t at = rest.find('"'); at != std::string_view::npos; at = rest.find('"', at + 1)) {
    if (escaped(at)) continue;
    ++quotes;
    if (first == std::string_view::npos) first = at;
  }
  const auto closes = [&](size_t at) {
    return at > 0 && rest[at - 1] != ' ' && rest[at - 1] != '=' &&
           (at + 1 == rest.size() || EndsWord(rest[at + 1]));
  };
  if (quotes % 2 == 1 && closes(first)) return Trim(rest.substr(0, first));
  if (rest.size() > 1 && rest.ends_with('\'') && closes(rest.size() - 1) &&
      std::count(rest.begin(), rest.end(), '\'') == 1)
    rest.remove_suffix(1);
  return rest;
}
}  // namespace

void FoldInto(std::string_view line, std::string& out) {
  out.resize(line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    out[i] = static_cast<char>(c + ((c >= 'A' && c <= 'Z') ? 32 : 0));
  }
}

Result<Pattern> Pattern::Parse(std::string_view text) {
  Pattern pattern;
  pattern.text_ = text;
  std::string literal;
  pattern.whole_ = text.starts_with("==");
  if (pattern.whole_) text.remove_prefix(2);
  const auto flush = [&] {
    if (literal.empty()) return;
    if (literal.size() > pattern.anchor_.size()) pattern.anchor_ = literal;
    pattern.parts_.push_back({Part::Kind::kLiteral, literal});
    literal.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      flush();
      pattern.parts_.push_back({Part::Kind::kAny, ""});
    } else if (c == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos)
        return Fail(Code::kInvalid, fmt::format("pattern \"{}\": an unclosed brace", text));
      std::string_view name = text.substr(i + 1, end - i - 1);
      flush();
      if (!pattern.parts_.empty() && pattern.parts_.back().kind != Part::Kind::kLiteral &&
          pattern.parts_.back().kind != Part::Kind::kAny)
        return Fail(Code::kInvalid,
                    fmt::format("pattern \"{}\": two captures with nothing between", text));
      Part::Kind kind = Part::Kind::kWord;
      if (name.ends_with(":int")) {
        kind = Part::Kind::kInt;
        name.remove_suffix(4);
      } else if (name.ends_with('*')) {
        kind = Part::Kind::kRest;
        name.remove_suffix(1);
      }
      pattern.parts_.push_back({kind, std::string(name)});
      i = end;
    } else {
      literal += static_cast<char>(c + ((c >= 'A' && c <= 'Z') ? 32 : 0));
    }
  }
  flush();
  for (size_t p = 0; p + 1 < pattern.parts_.size(); ++p)
    if (pattern.parts_[p].kind == Part::Kind::kRest)
      return Fail(Code::kInvalid,
                  fmt::format("pattern \"{}\": a capture of the rest ends a pattern", text));
  if (pattern.whole_ && (pattern.parts_.size() != 1 || pattern.anchor_.empty()))
    return Fail(Code::kInvalid, fmt::format("pattern \"=={}\": a whole line is plain text", text));
  if (pattern.anchor_.size() < 4)
    return Fail(Code::kInvalid,
                fmt::format("pattern \"{}\": needs four characters of plain text in a row", text));
  return pattern;
}

bool Pattern::MatchFrom(std::string_view line, std::string_view folded, size_t at,
                        Attributes& captured) const {
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    const Part* next = p + 1 < parts_.size() ? &parts_[p + 1] : nullptr;
    switch (part.kind) {
      case Part::Kind::kLiteral:
        if (folded.compare(at, part.text.size(), part.text) != 0) return false;
        at += part.text.size();
        break;
      case Part::Kind::kAny: {
        if (next == nullptr) return true;
        if (next->kind == Part::Kind::kLiteral) {
          at = folded.find(next->text, at);
          if (at == std::string_view::npos) return false;
        } else if (next->kind == Part::Kind::kInt) {
          while (at < line.size() && !IsDigit(line[at])) ++at;
        }
        break;
      }
      case Part::Kind::kInt: {
        size_t end = at;
        while (end < line.size() && IsDigit(line[end]) && end - at < 20) ++end;
        if (end == at) return false;
        captured.emplace_back(part.text, line.substr(at, end - at));
        at = end;
        break;
      }
      case Part::Kind::kRest:
        captured.emplace_back(part.text, RestOf(line.substr(at)));
        return true;
      case Part::Kind::kWord: {
        Span word;
        if (next != nullptr && next->kind == Part::Kind::kLiteral) {
          const size_t end = folded.find(next->text, at);
          if (end == std::string_view::npos) return false;
          // Where nothing fixed stands before it, the word is the last one before the text behind.
          size_t begin = at;
          if (p == 0 || parts_[p - 1].kind == Part::Kind::kAny) {
            const std::string_view before = line.substr(at, end - at);
            const size_t last = before.find_last_not_of(" \t");
            const size_t blank = before.find_last_of(" \t", last);
            if (last != std::string_view::npos && blank != std::string_view::npos)
              begin = at + blank + 1;
          }
          word = {begin, end, end};
        } else {
          word = WordAt(line, at);
        }
        if (word.end == word.begin || word.end - word.begin > kLongestWord) return false;
        captured.emplace_back(part.text, Trim(line.substr(word.begin, word.end - word.begin)));
        at = word.after;
        break;
      }
    }
  }
  return true;
}

bool Pattern::Match(std::string_view line, std::string_view folded, Attributes& captured) const {
  if (whole_) return Trim(folded) == anchor_;
  const size_t had = captured.size();
  const Part& first = parts_.front();
  if (first.kind != Part::Kind::kLiteral) {
    if (MatchFrom(line, folded, 0, captured)) return true;
    captured.resize(had);
    return false;
  }
  for (size_t at = folded.find(first.text); at != std::string_view::npos;
       at = folded.find(first.text, at + 1)) {
    if (MatchFrom(line, folded, at, captured)) return true;
    captured.resize(had);
  }
  return false;
}

}  // namespace muster::diagnose
