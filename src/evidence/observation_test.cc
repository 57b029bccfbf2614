#include "evidence/observation.h"

#include <limits>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Observation, NamesReadBack) {
  for (const Origin o : {Origin::kLive, Origin::kReplayed, Origin::kRehearsed})
    EXPECT_EQ(ParseOrigin(ToString(o)).value(), o);
  for (int i = 0; i <= static_cast<int>(UnknownReason::kUnreachable); ++i) {
    const auto reason = static_cast<UnknownReason>(i);
    EXPECT_EQ(ParseUnknownReason(ToString(reason)).value(), reason);
  }
  EXPECT_FALSE(ParseOrigin("real").ok());
  EXPECT_FALSE(ParseUnknownReason("").ok());
}

TEST(Observation, ValuesAreShownWithTheirUnit) {
  EXPECT_EQ(FormatValue(true, Unit::kNone), "yes");
  EXPECT_EQ(FormatValue(int64_t{7}, Unit::kCount), "7");
  EXPECT_EQ(FormatValue(400.0, Unit::kGbitPerSec), "400 Gb/s");
  EXPECT_EQ(FormatValue(0.92, Unit::kRatio), "92 %");
  EXPECT_EQ(FormatValue(std::string("NVIDIA H100"), Unit::kNone), "NVIDIA H100");
  EXPECT_EQ(FormatValue(std::numeric_limits<int64_t>::max(), Unit::kCount), "9223372036854775807");
}

TEST(Observation, ATextCannotSteerTheTerminalNorFloodIt) {
  EXPECT_EQ(FormatValue(std::string("\x1b[2Jx"), Unit::kNone), "\\x1b[2Jx");
  EXPECT_LE(FormatValue(std::string(5000, 'x'), Unit::kNone).size(), 80u);
}

TEST(Observation, ASpanBeyondWhatADurationHoldsIsStillShown) {
  EXPECT_EQ(FormatValue(1e300, Unit::kSeconds), "1e+300 s");
  EXPECT_EQ(FormatValue(std::numeric_limits<double>::quiet_NaN(), Unit::kSeconds), "nan s");
}

}  // namespace
}  // namespace muster
