#include "base/unit.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

constexpr Unit kAll[] = {
    Unit::kCount,       Unit::kRatio,        Unit::kSeconds, Unit::kBytes,   Unit::kGbitPerSec,
    Unit::kGBytePerSec, Unit::kCelsius,      Unit::kWatt,    Unit::kPerHour, Unit::kKilogram,
    Unit::kMegahertz,   Unit::kTokensPerSec, Unit::kFlops};

TEST(UnitTest, EveryUnitReadsBackByItsName) {
  for (const Unit unit : kAll) EXPECT_EQ(*ParseUnit(ToString(unit)), unit) << ToString(unit);
  EXPECT_FALSE(ParseUnit("furlong").ok());
}

TEST(UnitTest, QuantitiesAreScaledToTheirBaseUnit) {
  EXPECT_EQ(*ParseQuantity("400 Gb/s"), (Quantity{400, Unit::kGbitPerSec}));
  EXPECT_EQ(*ParseQuantity("92 %"), (Quantity{0.92, Unit::kRatio}));
  EXPECT_EQ(*ParseQuantity("8 GiB"), (Quantity{8589934592.0, Unit::kBytes}));
  EXPECT_EQ(*ParseQuantity("45 kW"), (Quantity{45000, Unit::kWatt}));
  EXPECT_EQ(*ParseQuantity("70 C"), (Quantity{70, Unit::kCelsius}));
  EXPECT_EQ(*ParseQuantity("15s"), (Quantity{15, Unit::kSeconds}));
  EXPECT_EQ(*ParseQuantity("3"), (Quantity{3, Unit::kCount}));
  EXPECT_EQ(*ParseQuantity("1e3 W"), (Quantity{1000, Unit::kWatt}));
}

TEST(UnitTest, BitsAndBytesAreNotMixed) {
  EXPECT_EQ(ParseQuantity("400 Gb/s")->unit, Unit::kGbitPerSec);
  EXPECT_EQ(ParseQuantity("400 GB/s")->unit, Unit::kGBytePerSec);
}

TEST(UnitTest, UnknownUnitIsRefusedWithTheKnownOnes) {
  const auto bad = ParseQuantity("5 EB");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("GiB"), std::string::npos);
  for (const char* text : {"", "W", "five W", "5 gb/s", "nan W"}) {
    EXPECT_FALSE(ParseQuantity(text).ok()) << text;
  }
}

TEST(UnitTest, QuantitiesPrintForAPerson) {
  EXPECT_EQ(FormatQuantity({371.2, Unit::kGBytePerSec}), "371.2 GB/s");
  EXPECT_EQ(FormatQuantity({0.92, Unit::kRatio}), "92 %");
  EXPECT_EQ(FormatQuantity({8589934592.0, Unit::kBytes}), "8 GiB");
  EXPECT_EQ(FormatQuantity({12.4, Unit::kSeconds}), "12.4s");
  EXPECT_EQ(FormatQuantity({45000, Unit::kWatt}), "45 kW");
  EXPECT_EQ(FormatQuantity({3, Unit::kCount}), "3");
}

RC_GTEST_PROP(UnitProperty, WhatIsWrittenInABaseUnitIsRead, ()) {
  const Unit unit = *rc::gen::elementOf(std::vector<Unit>(std::begin(kAll), std::end(kAll)));
  const double value = *rc::gen::inRange(-1'000'000, 1'000'000) / 64.0;
  const auto read = ParseQuantity(fmt::format("{} {}", value, ToString(unit)));
  RC_ASSERT(read.ok());
  RC_ASSERT(read->unit == unit);
  RC_ASSERT(read->value == value);
}

RC_GTEST_PROP(UnitProperty, NoTextCrashesTheReader, (const std::string& text)) {
  static_cast<void>(ParseQuantity(text).ok());
}

}  // namespace
}  // namespace muster
