#include "plan/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;
using Versions = std::map<std::string, std::string>;

TimePoint Day(std::string_view day) { return ParseTime(std::string(day) + "T00:00:00Z").value(); }

SupportAnswer Ask(const Versions& versions, std::string_view day = "2026-11-21") {
  return AskSupport(EmbeddedSupport().value(), versions, Day(day));
}

TEST(Support, SaysYesOnlyToWhatIsListed) {
  const auto yes = Ask({{"driver", "580.95.05"}, {"cuda", "13.0"}});
  EXPECT_EQ(yes.level, Level::kPass) << yes.text;
  EXPECT_THAT(yes.text, HasSubstr("of 2026-09-09, 73 days old"));
  EXPECT_EQ(Ask({{"driver", "900.1"}}).level, Level::kUnknown);
  EXPECT_EQ(Ask({}).level, Level::kUnknown);
  EXPECT_EQ(Ask({{"driver", "580.1"}, {"operator", "v30.1.0"}}).level, Level::kUnknown);
  EXPECT_EQ(Ask({{"driver", "580.1"}, {"kernel", "6.1.0-40"}, {"os", "Debian GNU/Linux 12"}}).level,
            Level::kUnknown);
}

TEST(Support, SaysNoToWhatIsKnownNotToGoTogether) {
  EXPECT_THAT(Ask({{"driver", "535.274.02"}}).text, HasSubstr("end of life since 2026-07-01"));
  EXPECT_EQ(Ask({{"driver", "535.274.02"}}, "2026-06-30").level, Level::kPass);
  for (const Versions& bad :
       {Versions{{"driver", "535.274.02"}}, Versions{{"driver", "580.1"}, {"cuda", "14.0"}},
        Versions{{"driver", "580.1"}, {"operator", "v25.10.1"}},
        Versions{{"driver", "580.1"}, {"kernel", "6.14.0-1-generic"}, {"os", "Ubuntu 22.04.5 LTS"}},
        Versions{{"driver", "580.1"}, {"fabric_manager", "570.1"}},
        Versions{{"driver", "580.1"}, {"gsp", "580.2"}}})
    EXPECT_EQ(Ask(bad).level, Level::kFail) << Ask(bad).text;
  EXPECT_EQ(Ask({{"driver", "580.1"}, {"operator", "26.3.0"}}).level, Level::kWarn);
  EXPECT_EQ(Ask({{"driver", "580.1"}, {"operator", "26.7.0"}, {"kubernetes", "1.35"}}).level,
            Level::kUnknown);
}

TEST(Support, AnOldMatrixWarnsAndAVeryOldOneKnowsNothing) {
  EXPECT_EQ(Ask({{"driver", "580.1"}}, "2027-02-28").level, Level::kPass);
  EXPECT_EQ(Ask({{"driver", "580.1"}}, "2027-03-15").level, Level::kWarn);
  const auto old = Ask({{"driver", "580.1"}}, "2027-09-15");
  EXPECT_EQ(old.level, Level::kUnknown);
  EXPECT_THAT(old.text, HasSubstr("too old"));
}

TEST(Support, AFileIsReadStrictly) {
  const auto wrong = ParseSupport(
      "as_of: yesterday\nsource: x\ndrivers:\n  - {branch: 1, kind: a, source: b, cuda: 12, "
      "end_of_life: 2026-06-30, colour: red}\n",
      "s.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("s.yaml:1:"));
  EXPECT_THAT(wrong.error().message, HasSubstr("colour"));
  EXPECT_FALSE(ParseSupport("[]", "s.yaml").ok());
}

}  // namespace
}  // namespace muster
