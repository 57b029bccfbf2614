#include "base/strings.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

using Views = std::vector<std::string_view>;

TEST(StringsTest, TrimTakesBlanksOfBothEndsOnly) {
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim("  "), "");
}

TEST(StringsTest, SplitKeepsEmptyFields) {
  EXPECT_EQ(Split("a,,b,", ','), (Views{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), Views{""});
}

TEST(StringsTest, SplitBlankGivesRunsOfNonBlanks) {
  EXPECT_EQ(SplitBlank("  4X   25.78125 Gbps\t"), (Views{"4X", "25.78125", "Gbps"}));
  EXPECT_TRUE(SplitBlank(" \n").empty());
}

TEST(StringsTest, LinesGoWithoutTheirEnds) {
  EXPECT_EQ(Lines("a\r\nb\n\nlast"), (Views{"a", "b", "", "last"}));
  EXPECT_TRUE(Lines("").empty());
}

TEST(StringsTest, AfterGivesTheRestOrNothing) {
  EXPECT_EQ(After("State: Active", "State: "), "Active");
  EXPECT_EQ(After("state", "State"), std::nullopt);
}

TEST(StringsTest, CaseIsIgnoredWhereAskedFor) {
  EXPECT_TRUE(EqualsIgnoreCase("LinkUp", "linkup"));
  EXPECT_FALSE(EqualsIgnoreCase("LinkUp", "linkups"));
  EXPECT_EQ(ToLower("X-Request-ID"), "x-request-id");
}

TEST(StringsTest, NumbersAreReadWhole) {
  EXPECT_EQ(*ParseInt(" -42 "), -42);
  EXPECT_EQ(*ParseInt("+7"), 7);
  EXPECT_EQ(*ParseInt("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* bad : {"", "12x", "1.5", "0x10", "--1", "9223372036854775808", "N/A"}) {
    EXPECT_FALSE(ParseInt(bad).ok()) << bad;
  }
  EXPECT_EQ(*ParseHex("0x0002c90001000000"), 0x0002c90001000000ull);
  EXPECT_EQ(*ParseHex("ff"), 255u);
  EXPECT_FALSE(ParseHex("0xfg").ok());
  EXPECT_FALSE(ParseHex("-1").ok());
}

TEST(StringsTest, RealNumbersAreFiniteAndWhole) {
  EXPECT_DOUBLE_EQ(*ParseDouble("106.25"), 106.25);
  EXPECT_DOUBLE_EQ(*ParseDouble("1e3"), 1000);
  for (const char* bad : {"", "nan", "inf", "-inf", "1e999", "1,5", "1.5 W", "[N/A]"}) {
    EXPECT_FALSE(ParseDouble(bad).ok()) << bad;
  }
}

TEST(StringsTest, PrintableDisarmsTerminalEscapes) {
  EXPECT_EQ(Printable("plain\ttext\n"), "plain\ttext\n");
  EXPECT_EQ(Printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(Printable("a\rb\x7f\x07"), "a\\x0db\\x7f\\x07");
  EXPECT_EQ(Printable(std::string_view("\0", 1)), "\\x00");
  // C1: U+009B is "ESC [" in one character.
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");
}

TEST(StringsTest, PrintableReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Printable("r\xc3\xa4"
                      "ck"),
            "r\xc3\xa4"
            "ck");
  EXPECT_EQ(Printable("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(Printable("a\xc3"), "a\xef\xbf\xbd");
  EXPECT_EQ(Printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // an overlong '/'
}

TEST(StringsTest, Utf8LengthKnowsOnlyTheFormsOfTheStandard) {
  EXPECT_EQ(Utf8Length("a"), 1u);
  EXPECT_EQ(Utf8Length("\xc3\xa4"), 2u);
  EXPECT_EQ(Utf8Length("\xe2\x82\xac rest"), 3u);
  EXPECT_EQ(Utf8Length("\xf4\x8f\xbf\xbf"), 4u);
  for (const std::string_view none : {std::string_view(), std::string_view("\x80"),
                                      std::string_view("\xe0\x97\xbd"),      // overlong
                                      std::string_view("\xf0\x8f\xbf\xbf"),  // overlong
                                      std::string_view("\xed\xa0\x80"),  // half of a surrogate pair
                                      std::string_view("\xf4\x90\x80\x80"),  // beyond U+10FFFF
                                      std::string_view("\xe2\x82"), std::string_view("\xe2(\xac")})
    EXPECT_EQ(Utf8Length(none), 0u);
}

TEST(StringsTest, ShortenCutsBetweenCharactersAndSaysSo) {
  EXPECT_EQ(Shorten("short", 5), "short");
  EXPECT_EQ(Shorten("too long", 6), "too...");
  EXPECT_EQ(Shorten("\xc3\xa4\xc3\xa4\xc3\xa4", 5), "\xc3\xa4...");
}

TEST(StringsTest, NearestGuessesATypoAndNotAnotherWord) {
  const std::vector<std::string> known = {"nodes", "gpus", "rails", "leaves", "spines"};
  EXPECT_EQ(Nearest("nodez", known), "nodes");
  EXPECT_EQ(Nearest("Spines", known), "spines");
  EXPECT_EQ(Nearest("laeves", known), "leaves");
  EXPECT_EQ(Nearest("temperature", known), std::nullopt);
  EXPECT_EQ(Nearest("x", known), std::nullopt);
  EXPECT_EQ(Nearest("nodes", {}), std::nullopt);
}

RC_GTEST_PROP(StringsProperty, SplitAndJoinAreInverse, (const std::string& text)) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(text, ',')) parts.emplace_back(part);
  RC_ASSERT(Join(parts, ",") == text);
}

RC_GTEST_PROP(StringsProperty, WholeNumbersReadBack, (int64_t value)) {
  RC_ASSERT(*ParseInt(fmt::format("{}", value)) == value);
}

RC_GTEST_PROP(StringsProperty, RealNumbersReadBack, (double value)) {
  RC_PRE(std::isfinite(value));
  RC_ASSERT(*ParseDouble(fmt::format("{}", value)) == value);
}

RC_GTEST_PROP(StringsProperty, PrintableHasNoControlCharacterAndStaysAsItIs, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const std::string safe = Printable(text);
  for (const char c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    RC_ASSERT((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t');
  }
  RC_ASSERT(Printable(safe) == safe);
}

RC_GTEST_PROP(StringsProperty, ShortenNeverExceedsItsLimit, (const std::string& text)) {
  const size_t limit = *rc::gen::inRange<size_t>(3, 40);
  const std::string cut = Shorten(text, limit);
  RC_ASSERT(cut.size() <= limit);
  RC_ASSERT(text.size() > limit || cut == text);
}

RC_GTEST_PROP(StringsProperty, NearestOfAKnownWordIsItself, ()) {
  const auto known = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'e')))));
  RC_ASSERT(Nearest(*rc::gen::elementOf(known), known).has_value());
  const std::string word = *rc::gen::elementOf(known);
  RC_ASSERT(*Nearest(word, known) == word);
}

}  // namespace
}  // namespace muster
