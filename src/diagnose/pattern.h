// The language in which the catalogue writes what a line says: literal text without regard to case,
// `{name}` for a word to keep (a quoted one without its quotes), `{name:int}` for digits, `{name*}`
// for the rest of the line (up to the quote that closes what began before it), `%` for any text,
// `==text` for a line that is this text and nothing else. No backtracking over captures, so a match
// is O(length of the line x occurrences of the first literal).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnose/fact.h"

namespace muster::diagnose {

class Pattern {
 public:
  // kInvalid: an unclosed brace, two captures without text between them, no literal of four
  // characters to look for, or `==` before more than plain text.
  static Result<Pattern> Parse(std::string_view text);

  // The longest literal, in lower case: a line without it cannot match.
  const std::string& anchor() const { return anchor_; }
  // Appends what was captured. `folded` is the line in lower case, of the same length.
  bool Match(std::string_view line, std::string_view folded, Attributes& captured) const;
  const std::string& text() const { return text_; }

 private:
  struct Part {
    enum class Kind { kLiteral, kWord, kInt, kRest, kAny } kind = Kind::kLiteral;
    std::string text;  // literal in lower case, or the name
  };
  bool MatchFrom(std::string_view line, std::string_view folded, size_t at,
                 Attributes& captured) const;
  std::string text_, anchor_;
  std::vector<Part> parts_;
  bool whole_ = false;
};

// ASCII lower case of a line, into `out` (reused, no allocation once it is large enough).
void FoldInto(std::string_view line, std::string& out);

}  // namespace muster::diagnose
