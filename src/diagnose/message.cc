#include "diagnose/message.h"

#include <algorithm>

#include "base/strings.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

bool Digit(char c) { return c >= '0' && c <= '9'; }

// What stands between quotation marks from `at` on, with its escapes undone; cut lines have no end.
std::string Quoted(std::string_view line, size_t at) {
  std::string out;
  for (; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\' || at + 1 == line.size()) {
      out += line[at];
      continue;
    }
    const char escaped = line[++at];
    out += escaped == 'n' || escaped == 't' || escaped == 'r' ? ' ' : escaped;
  }
  return out;
}

// The first of `keys` (with their opening mark) that stands in the line, and its value.
template <size_t N>
std::string ValueOf(std::string_view line, const std::string_view (&keys)[N]) {
  for (const std::string_view key : keys)
    if (const size_t at = line.find(key); at != std::string_view::npos)
      return Quoted(line, at + key.size());
  return "";
}

// "10:00:01.123", "2026-11-20T10:00:01Z", "2026/11/20", "[", "123.456]", "Nov" and the "20" behind
// it: parts of a time. A number alone is none, nor is an address.
bool IsTime(std::string_view word, std::string_view before) {
  if (word == "[" || IsMonth(word)) return true;
  const auto part = [](char c) {
    return Digit(c) || std::string_view(":.,-+/TZ[]()").find(c) != std::string_view::npos;
  };
  if (!std::all_of(word.begin(), word.end(), part)) return false;
  const auto count = [&](char c) { return std::count(word.begin(), word.end(), c); };
  if (std::all_of(word.begin(), word.end(), Digit)) return IsMonth(before);
  const bool date = count('-') == 2 || count('/') == 2;
  return HasClock(word) || (date && Digit(word[0])) || (count('.') == 1 && word.back() == ']');
}

bool IsLevel(std::string_view word) {
  while (!word.empty() &&
         std::string_view("[](){}<>:|-").find(word.front()) != std::string_view::npos)
    word.remove_prefix(1);
  while (!word.empty() &&
         std::string_view("[](){}<>:|-,").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  static constexpr std::string_view kLevels[] = {"error", "err",   "fatal", "warning", "warn",
                                                 "info",  "debug", "panic", "trace",   "critical",
                                                 "erro",  "e",     "w",     "severe"};
  return word.empty() ||
         std::any_of(std::begin(kLevels), std::end(kLevels),
                     [&](std::string_view level) { return EqualsIgnoreCase(level, word); });
}

// "E1120 10:00:00.123456    4242 controller.go:123] ": what follows.
std::string_view BehindKlogHead(std::string_view line) {
  if (line.size() < 30 || std::string_view("EWIF").find(line[0]) == std::string_view::npos ||
      !std::all_of(line.begin() + 1, line.begin() + 5, Digit) || line[5] != ' ')
    return line;
  const size_t end = line.find("] ");
  return end == std::string_view::npos || end > 120 ? line : line.substr(end + 2);
}

// "11/20/2026 10:00:01;0100;pbs_mom;Job;1203.pbs01;": what follows. Source: OpenPBS
// src/lib/Liblog/pbs_log.c (log_record).
std::string_view BehindPbsHead(std::string_view line) {
  const auto fields = Split(line.substr(0, 200), ';');
  constexpr size_t kBefore = 5;
  if (fields.size() <= kBefore || !HasClock(fields[0]) || fields[1].size() != 4 ||
      !ParseHex(fields[1]).ok())
    return line;
  size_t at = 0;
  for (size_t i = 0; i < kBefore; ++i) at += fields[i].size() + 1;
  return line.substr(at);
}

std::string_view BehindTimeAndLevel(std::string_view line) {
  const std::string_view whole = line;
  std::string_view before;
  constexpr int kMostWords = 8;
  for (int i = 0; i < kMostWords; ++i) {
    line = Trim(line);
    const size_t end = line.find_first_of(" \t");
    if (end == std::string_view::npos) return whole;
    const std::string_view word = line.substr(0, end);
    if (!IsTime(word, before) && !IsLevel(word)) return line;
    before = word;
    line.remove_prefix(end);
  }
  return whole;
}

}  // namespace

std::string MessageOf(std::string_view line) {
  constexpr size_t kFewestWords = 8;  // bytes: less before the fields is no message
  line = Trim(line);
  static constexpr std::string_view kMessages[] = {"msg=\"", "message=\"", "\"msg\":\"",
                                                   "\"msg\": \""};
  static constexpr std::string_view kErrors[] = {" err=\"", " error=\"", "\"error\": \"",
                                                 "\"error\":\"", "\"err\": \""};
  std::string message = ValueOf(line, kMessages);
  if (message.empty()) {
    std::string_view rest = BehindTimeAndLevel(BehindPbsHead(BehindKlogHead(line)));
    // klog's structured lines: "Sync failed" err="no such pod" key="a/b"
    if (rest.starts_with('"') && Contains(rest, "=")) {
      message = Quoted(rest, 1);
    } else {
      // zap's: the message, then {"controller": "a", "error": "b"}
      if (const size_t fields = rest.find("{\"");
          fields != std::string_view::npos && fields >= kFewestWords)
        rest = Trim(rest.substr(0, fields));
      else if (const size_t pairs = rest.find(" err=\""); pairs != std::string_view::npos)
        rest = rest.substr(0, pairs);
      message = std::string(rest);
    }
  }
  if (const std::string error = ValueOf(line, kErrors); !error.empty() && !Contains(message, error))
    message += (message.empty() ? "" : ": ") + error;
  std::replace(message.begin(), message.end(), '\t', ' ');
  return message.empty() ? std::string(line) : message;
}

std::string ShortenMiddle(std::string_view text, size_t limit) {
  constexpr std::string_view kCut = " ... ";
  if (text.size() <= limit) return std::string(text);
  size_t head = (limit - kCut.size()) / 2, tail = text.size() - (limit - kCut.size() - head);
  // Whole words, where one ends not far away; never inside of a character.
  constexpr size_t kFar = 16;
  if (const size_t blank = text.rfind(' ', head);
      blank != std::string_view::npos && head - blank < kFar)
    head = blank;
  if (const size_t blank = text.find(' ', tail);
      blank != std::string_view::npos && blank - tail < kFar)
    tail = blank + 1;
  const auto inside = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  while (head > 0 && inside(head)) --head;
  while (tail < text.size() && inside(tail)) ++tail;
  return std::string(text.substr(0, head)).append(kCut).append(text.substr(tail));
}

}  // namespace muster::diagnose
