// Whether the last line of a text that ends without a line end is whole. A pasted text often has no
// end of its last line; a text that was cut inside a line must never pass for a whole one. Only
// lines whose own form says that nothing can follow are whole.
#pragma once

#include <string_view>

namespace muster::diagnose {

// `before` are bytes that stand right before `line`: its first line may be a piece. True when two
// lines of it differ from `line` in digits alone, and end as it does (fixed-width rows), when one
// is the same (the rule of a drawn table), or when `line` ends as one tool's record ends. Pure,
// O(length of both).
bool IsWholeLine(std::string_view line, std::string_view before);

// Equal but for the figures: "step 9 | loss 2.31 |" and "step 10 | loss 2.29 |".
bool SameButDigits(std::string_view a, std::string_view b);

}  // namespace muster::diagnose
