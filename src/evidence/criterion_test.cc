#include "evidence/criterion.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Criterion, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(Measure::kAllEqual); ++i) {
    const auto measure = static_cast<Measure>(i);
    EXPECT_EQ(ParseMeasure(ToString(measure)).value(), measure);
  }
  for (int i = 0; i <= static_cast<int>(Compare::kFalse); ++i) {
    const auto compare = static_cast<Compare>(i);
    EXPECT_EQ(ParseCompare(ToString(compare)).value(), compare);
  }
}

TEST(Criterion, AnUnknownNameListsTheKnownOnes) {
  const auto measure = ParseMeasure("mean");
  ASSERT_FALSE(measure.ok());
  EXPECT_NE(measure.error().message.find("median"), std::string::npos);
  EXPECT_FALSE(ParseCompare("=").ok());
}

}  // namespace
}  // namespace muster
