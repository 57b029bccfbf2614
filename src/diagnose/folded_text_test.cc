#include "diagnose/folded_text.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::diagnose {
namespace {

// The lines of a text with what is folded put together, each behind its number.
std::string Unfolded(std::string_view text) {
  FoldedText folded;
  std::string out;
  size_t number = 0;
  const auto flush = [&] {
    const size_t at = folded.number();
    out += std::to_string(at) + " " + folded.Take() + "\n";
  };
  for (const std::string_view line : Lines(text)) {
    ++number;
    if (folded.open() && folded.Continue(line)) continue;
    if (folded.open()) flush();
    if (!folded.Begin(line, number)) out += std::to_string(number) + " " + std::string(line) + "\n";
  }
  if (folded.open()) flush();
  return out;
}

TEST(FoldedText, PutsAPlainMessageTogether) {
  EXPECT_EQ(Unfolded("  - type: QuotaReserved\n"
                     "    message: couldn't assign flavors: insufficient quota\n"
                     "      for nvidia.com/gpu\n"
                     "    reason: Pending\n"
                     "    status: \"False\"\n"),
            "1   - type: QuotaReserved\n"
            "2     message: couldn't assign flavors: insufficient quota for nvidia.com/gpu\n"
            "4     reason: Pending\n"
            "5     status: \"False\"\n");
}

TEST(FoldedText, AQuotedMessageEndsWithItsQuotes) {
  EXPECT_EQ(Unfolded("        message: 'rpc error: it''s\n"
                     "          cut: a != b'\n"
                     "          reason: ErrImagePull\n"),
            "1         message: 'rpc error: it''s cut: a != b'\n"
            "3           reason: ErrImagePull\n");
  EXPECT_EQ(Unfolded("  message: \"one\\\n"
                     "    \\ two \\\"\n"
                     "    three\"\n"),
            "1   message: \"one two \\\" three\"\n");
}

TEST(FoldedText, LeavesWhatIsNotFoldedAlone) {
  for (const std::string_view text :
       {"  message: |\n    first\n    second\n", "  message: 'whole'\n    deeper: 1\n",
        "message: at the margin\n  more\n", "  messages: a\n    b\n", "  message: \n    a\n"}) {
    std::string expected;
    size_t number = 0;
    for (const std::string_view line : Lines(text))
      expected += std::to_string(++number) + " " + std::string(line) + "\n";
    EXPECT_EQ(Unfolded(text), expected);
  }
  EXPECT_EQ(Unfolded("  message: plain\n    key: value\n"),
            "1   message: plain\n2     key: value\n");
}

}  // namespace
}  // namespace muster::diagnose
