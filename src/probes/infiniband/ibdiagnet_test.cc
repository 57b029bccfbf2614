#include "probes/infiniband/ibdiagnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

using ::muster::infiniband::testing::DumpOf;
using ::muster::infiniband::testing::ExpectNothingInvented;
using ::muster::testing::Capture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kId[] = "infiniband.ibdiagnet";

// The summary of generation 2: warnings stand before errors.
std::string Second(int warnings, int errors) {
  return fmt::format(
      "Summary\n-I- Stage                     Warnings   Errors     Comment\n"
      "-I- Discovery                 0          0\n-I- Lids Check                0          0\n"
      "-I- Port Counters             {}          {}\n-I- Speed / Width checks      0          0\n\n"
      "-I- You can find detailed errors/warnings in: /var/tmp/ibdiagnet2/ibdiagnet2.log\n",
      warnings, errors);
}

TEST(Ibdiagnet, CountsErrorsAndNotWarnings) {
  const std::string text = Capture(MUSTER_SOURCE_DIR, "rehearsed/04-healthy-ibdiagnet.txt");
  const Ibdiagnet diag = ParseIbdiagnet(text);
  EXPECT_EQ(diag.generation, 1);
  ASSERT_EQ(diag.stages.size(), 6u);
  EXPECT_EQ(diag.stages[5].name, "IPoIB Subnets Check");
  EXPECT_EQ(diag.stages[5].warnings, 1);
  EXPECT_THAT(DumpOf(kId, text), ElementsAre("fabric fabric | ibdiagnet.errors | 0"));
}

TEST(Ibdiagnet, ReadsTheColumnsOfEachGeneration) {
  EXPECT_THAT(DumpOf(kId, Second(16, 0)), ElementsAre("fabric fabric | ibdiagnet.errors | 0"));
  EXPECT_THAT(DumpOf(kId, Second(0, 15)), ElementsAre("fabric fabric | ibdiagnet.errors | 15"));
}

TEST(Ibdiagnet, DoesNotPassARunThatWasCut) {
  const std::string text = Capture(MUSTER_SOURCE_DIR, "rehearsed/04-healthy-ibdiagnet.txt");
  EXPECT_THAT(DumpOf(kId, text.substr(0, text.find("-I- Done."))),
              ElementsAre(HasSubstr("? unparsable: the output ends before")));
  EXPECT_THAT(DumpOf(kId, text.substr(0, text.find("-I- Stages Status"))),
              ElementsAre(HasSubstr("? unparsable: no stage table")));
  // The degraded run of 1.5.7 stopped at its IPoIB check, before any table.
  EXPECT_THAT(DumpOf(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/06-degraded-width-and-speed.txt")),
              ElementsAre(HasSubstr("? unparsable")));
}

TEST(Ibdiagnet, DoesNotPassAStageThatDidNotRun) {
  std::string text = Second(0, 0);
  text.replace(text.find("-I- Lids Check                0          0"), 42,
               "-I- Lids Check                NA         NA");
  EXPECT_THAT(DumpOf(kId, text),
              ElementsAre(HasSubstr("? not observed: no result for stage \"Lids Check")));
}

TEST(Ibdiagnet, TellsACrashFromAResult) {
  EXPECT_THAT(DumpOf(kId, Second(0, 0), 139), ElementsAre(HasSubstr("? tool fault")));
}

TEST(Ibdiagnet, DoesNotPassWhenARowOfErrorsWasLost) {
  std::string text = "-E- Port leaf00/5 speed is not as expected\n" + Second(0, 15);
  EXPECT_THAT(DumpOf(kId, text), ElementsAre("fabric fabric | ibdiagnet.errors | 15"));
  const size_t row = text.find("-I- Port Counters");
  text.erase(row, text.find('\n', row) + 1 - row);
  EXPECT_THAT(DumpOf(kId, text),
              ElementsAre(HasSubstr("? unparsable: no stage counts an error, and yet: -E-")));
}

TEST(Ibdiagnet, InventsNothingFromDamage) {
  ExpectNothingInvented(kId, Second(3, 0));
  ExpectNothingInvented(kId, Capture(MUSTER_SOURCE_DIR, "rehearsed/04-healthy-ibdiagnet.txt"));
}

}  // namespace
}  // namespace muster::infiniband
