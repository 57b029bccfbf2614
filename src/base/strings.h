// Small text helpers used by every parser. Numbers are read whole and in the C locale: "12x" is an
// error, not 12.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

std::string_view Trim(std::string_view text);
// Fields between separators; empty fields are kept.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Runs of non-blank characters.
std::vector<std::string_view> SplitBlank(std::string_view text);
// Lines without their "\n" or "\r\n"; a last line without an end of line counts.
std::vector<std::string_view> Lines(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string ToLower(std::string_view text);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
bool Contains(std::string_view text, std::string_view part);
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
// What follows `prefix`, or nothing when the text does not begin with it.
std::optional<std::string_view> After(std::string_view text, std::string_view prefix);

Result<int64_t> ParseInt(std::string_view text);    // decimal, optional sign
Result<uint64_t> ParseHex(std::string_view text);   // with or without 0x
Result<double> ParseDouble(std::string_view text);  // finite decimal or exponent form

// Bytes of the UTF-8 sequence that begins the text (RFC 3629, section 4: no overlong forms, no
// surrogates, nothing beyond U+10FFFF); 0 when none does.
size_t Utf8Length(std::string_view text);
// Text safe to put on a terminal: control characters and escapes become visible, invalid UTF-8
// becomes U+FFFD.
std::string Printable(std::string_view text);
// Text for XML and HTML: Printable, with & < > " as entities.
std::string EscapeXml(std::string_view text);
// At most `limit` bytes, cut on a UTF-8 boundary, with "..." when something was cut.
std::string Shorten(std::string_view text, size_t limit);
// The word of `known` nearest to `word` (edit distance at most 3), for "did you mean".
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace muster
