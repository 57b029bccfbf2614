#include "probes/infiniband/sminfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kId[] = "infiniband.sminfo";

// As OpenSM 3.3.23 with a second one beside it answered on ibsim.
std::string Transcript(std::string_view second_state) {
  const std::string number = second_state == "MASTER" ? "3" : "2";
  return RenderBlock("sminfo",
                     "sminfo: sm lid 1 sm guid 0x2c90003000001, activity count 987 priority 0 "
                     "state 3 SMINFO_MASTER\n",
                     0) +
         RenderBlock(
             "saquery -s",
             "IsSM ports\nPortInfoRecord "
             "dump:\n\t\tEndPortLid..............1\n\t\tPortNum.................1\n"
             "PortInfoRecord dump:\n\t\tEndPortLid..............12\n\t\tPortNum.................1\n"
             "\t\tbase_lid................12\n\nIsSMdisabled ports\n",
             0) +
         RenderBlock(
             "sminfo 12",
             fmt::format(
                 "sminfo: sm lid 12 sm guid 0x2c90003000501, activity count 280 priority 0 state "
                 "{} SMINFO_{}\n",
                 number, second_state),
             0);
}

TEST(Sminfo, CountsOneMasterBesideAStandby) {
  EXPECT_THAT(DumpOf(kId, Transcript("STANDBY")),
              ElementsAre("fabric fabric | sm.state | MASTER", "fabric fabric | sm.masters | 1"));
}

TEST(Sminfo, ReadsWhatARealStandbyAnswered) {
  EXPECT_THAT(DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/ib/sminfo-with-standby.txt")),
              ElementsAre("fabric fabric | sm.state | MASTER", "fabric fabric | sm.masters | 1"));
}

TEST(Sminfo, CountsTwoMasters) {
  EXPECT_THAT(DumpOf(kId, Transcript("MASTER")),
              ElementsAre("fabric fabric | sm.state | MASTER", "fabric fabric | sm.masters | 2"));
}

TEST(Sminfo, DoesNotCountFromOneAnswerAlone) {
  const auto lines =
      DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/01-healthy-sminfo-ibstat.txt"));
  EXPECT_THAT(lines,
              ElementsAre("fabric fabric | sm.state | MASTER",
                          HasSubstr("sm.masters | ? not observed: saquery -s listed no ports")));
}

TEST(Sminfo, DoesNotCountWhileACapablePortIsSilent) {
  std::string text = Transcript("STANDBY");
  text.erase(text.find("$ sminfo 12"));
  EXPECT_THAT(DumpOf(kId, text),
              ::testing::Contains(HasSubstr("sm.masters | ? not observed: the port with LID 12")));
}

TEST(Sminfo, SeesThatNobodyAnswers) {
  const auto lines =
      DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/09-no-subnet-manager.txt"), 255);
  EXPECT_THAT(
      lines, ElementsAre("fabric fabric | sm.masters | 0", HasSubstr("sm.state | ? not observed")));
}

TEST(Sminfo, TakesABrokenToolForNoAnswerAtAll) {
  EXPECT_TRUE(
      DumpOf(kId, "sminfo: iberror: failed: Failed to open '(null)' port '0'\n", 255).empty());
}

TEST(Sminfo, WantsTheStateWordAndItsNumberToAgree) {
  EXPECT_FALSE(ParseSminfo(
      "sminfo: sm lid 1 sm guid 0x1, activity count 5 priority 0 state 2 SMINFO_MASTER\n"));
  EXPECT_TRUE(ParseSminfo(
      "sminfo: sm lid 1 sm guid 0x1, activity count 5 priority 0 state 3 SMINFO_MASTER\n"));
}

TEST(Sminfo, InventsNothingFromDamage) {
  for (const std::string_view state : {"STANDBY", "MASTER"}) {
    ExpectNothingInvented(kId, Transcript(state));
  }
}

}  // namespace
}  // namespace muster::infiniband
