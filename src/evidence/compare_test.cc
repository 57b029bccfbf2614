#include "evidence/compare.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

using Values = std::vector<Value>;

TEST(Meets, ComparesNumbersOfBothKindsAndForgivesTheLastDigits) {
  const Values limit = {Value(350.0)};
  EXPECT_EQ(Meets(Compare::kAtLeast, Value(int64_t{350}), limit), true);
  EXPECT_EQ(Meets(Compare::kAtLeast, Value(350.0 - 1e-8), limit), true);
  EXPECT_EQ(Meets(Compare::kAtLeast, Value(349.9), limit), false);
  EXPECT_EQ(Meets(Compare::kGreater, Value(350.0 + 1e-8), limit), false);
  EXPECT_EQ(Meets(Compare::kLess, Value(350.0), limit), false);
}

TEST(Meets, WholeNumbersAreEqualToTheLastDigit) {
  const Values big = {Value(int64_t{9007199254740993})};
  EXPECT_EQ(Meets(Compare::kEqual, Value(int64_t{9007199254740992}), big), false);
  EXPECT_EQ(Meets(Compare::kNotEqual, Value(int64_t{9007199254740993}), big), false);
}

TEST(Meets, SaysNothingOfWhatCannotBeCompared) {
  const Value nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Meets(Compare::kAtLeast, nan, Values{Value(1.0)}), std::nullopt);
  EXPECT_EQ(Meets(Compare::kEqual, nan, Values{nan}), std::nullopt);
  EXPECT_EQ(Meets(Compare::kEqual, Value(std::string("4")), Values{Value(int64_t{4})}),
            std::nullopt);
  EXPECT_EQ(Meets(Compare::kTrue, Value(int64_t{1}), {}), std::nullopt);
  EXPECT_EQ(Meets(Compare::kAtMost, Value(int64_t{1}), {}), std::nullopt);
  EXPECT_EQ(Meets(Compare::kIn, Value(int64_t{1}), Values{Value(std::string("a"))}), std::nullopt);
}

TEST(Meets, LooksForTextInTextAndForValuesAmongValues) {
  const Value text(std::string("Active: LinkUp"));
  EXPECT_EQ(Meets(Compare::kContains, text, Values{Value(std::string("LinkUp"))}), true);
  const Values two = {Value(std::string("a")), Value(std::string("b"))};
  EXPECT_EQ(Meets(Compare::kIn, Value(std::string("b")), two), true);
  EXPECT_EQ(Meets(Compare::kNotIn, Value(std::string("c")), two), true);
}

TEST(WantedText, ReadsAsAPersonWouldSayIt) {
  Criterion c;
  c.compare = Compare::kAtLeast;
  EXPECT_EQ(WantedText(c, Values{Value(int64_t{8})}), ">= 8");
  c.compare = Compare::kNotIn;
  EXPECT_EQ(WantedText(c, Values{Value(std::string("a")), Value(std::string("b"))}),
            "none of a, b");
  c.compare = Compare::kTrue;
  EXPECT_EQ(WantedText(c, {}), "yes");
}

}  // namespace
}  // namespace muster
