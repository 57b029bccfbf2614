#include "base/result.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/check.h"

namespace muster {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Fail(Code::kInvalid, "odd");
  return n / 2;
}
Status Even(int n) {
  TRY_VOID(Half(n));
  return {};
}
Result<int> Quarter(int n) {
  TRY(const int half, Half(n));
  return Half(half).Context("halving again");
}

TEST(ResultTest, TryHandsOnTheValueOrTheError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).error().code, Code::kInvalid);
  EXPECT_TRUE(Even(2).ok());
  EXPECT_FALSE(Even(3).ok());
}

TEST(ResultTest, FramesReadFromTheOutsideIn) {
  const Error error = Error{Code::kParse, "line 3: unknown key nodez", {}}
                          .Context("reading site.yaml")
                          .Context("starting");
  EXPECT_EQ(error.ToString(), "starting: reading site.yaml: line 3: unknown key nodez");
  EXPECT_EQ(Quarter(6).error().ToString(), "halving again: odd");
}

TEST(ResultTest, ErrorKnowsWhereItWasMade) {
  EXPECT_NE(std::string_view(Half(1).error().where.file_name()).find("result_test.cc"),
            std::string_view::npos);
}

TEST(ResultTest, ValuesThatOnlyMoveAreHandedOn) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  const auto use = [&]() -> Result<int> {
    TRY(const std::unique_ptr<int> p, make());
    return *p;
  };
  EXPECT_EQ(*use(), 3);
}

TEST(ResultTest, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(Code::kRefused); ++code) {
    EXPECT_FALSE(ToString(static_cast<Code>(code)).empty());
  }
  EXPECT_EQ(ToString(Code::kNotFound), "not found");
}

TEST(CheckDeathTest, BrokenInvariantAbortsSayingWhatAndWhy) {
  EXPECT_DEATH(CHECK(1 + 1 == 3, "sums hold"), "1 \\+ 1 == 3.*sums hold");
}

}  // namespace
}  // namespace muster
