// An output that lines of others part before it is whole, and rows of nccl-tests by themselves.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/diagnosis.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

const std::vector<std::string> kHead = {
    "# nThread 1 nGpus 1 minBytes 268435456 maxBytes 536870912 step: 2(factor) warmup iters: 5 "
    "iters: 20 agg iters: 1 validation: 1 graph: 0",
    "#", "# Using devices",
    "#  Rank  0 Group  0 Pid   2001 on     gpu01 device  0 [0x1b] NVIDIA H100 80GB HBM3",
    "#  Rank  1 Group  0 Pid   2002 on     gpu02 device  0 [0x1b] NVIDIA H100 80GB HBM3"};
const std::vector<std::string> kTable = {
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong",
    "   268435456      67108864     float     sum      -1   5600.1   47.93   47.93      0   5601.2 "
    "  47.92   47.92      0",
    "   536870912     134217728     float     sum      -1    11100   48.37   48.37      0    11102 "
    "  48.36   48.36      0"};
const std::vector<std::string> kEnd = {"# Out of bounds values : 0 OK",
                                       "# Avg bus bandwidth    : 48.15 "};
const std::vector<std::string> kOthers = {"[gpu01:0:2001 - context.c:589] INFO job (ID: 77)"};

std::string TextOf(const std::vector<std::vector<std::string>>& parts,
                   const std::string& prefix = "") {
  std::string text;
  for (const auto& part : parts)
    for (const std::string& line : part) text += prefix + line + "\n";
  return text;
}

TEST(PartedRun, IsReadAsOne) {
  for (const std::string prefix : {"", "[1,0]<stdout>:", "0: "}) {
    const Diagnosis d =
        testing::DiagnoseText(TextOf({kHead, kOthers, kTable, kOthers, kEnd}, prefix));
    EXPECT_EQ(testing::OutcomeName(d), "nothing_wrong") << prefix << d.summary;
  }
}

TEST(PartedRun, ShowsAWrongRowAtItsOwnLine) {
  std::vector<std::string> wrong = kTable;
  wrong[2].replace(wrong[2].rfind('0'), 1, "7");
  const Diagnosis d = testing::DiagnoseText(TextOf({kHead, kOthers, wrong, kEnd}));
  ASSERT_EQ(testing::OutcomeName(d), "finding");
  EXPECT_EQ(d.findings.front().cause->id, "nccl.wrong_data");
  EXPECT_EQ(d.findings.front().evidence.front().at.line, kHead.size() + kOthers.size() + 3);
}

TEST(PartedRun, ThatNeverGoesOnIsNotHealthy) {
  for (const std::string prefix : {"", "0: "}) {
    EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(TextOf({kHead, kOthers}, prefix))),
              "not_enough");
    EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(TextOf({kHead, kOthers, kTable}, prefix))),
              "not_enough");
  }
}

TEST(RowsAlone, AreReadWhateverTheirTimes) {
  EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(TextOf({kTable, kEnd}))), "nothing_wrong");
  EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(TextOf({kTable}))), "not_enough");
}

// Versions before 2.13 print the largest deviation where newer ones count.
TEST(RowsAlone, ADeviationByRoundingIsNoWrongData) {
  const std::string row =
      "   268435456      67108864     float     sum   5600.1   47.93   47.93  5e-07   5601.2   "
      "47.92 "
      "  47.92  4e-07\n";
  EXPECT_EQ(testing::OutcomeName(testing::DiagnoseText(row + TextOf({kEnd}))), "nothing_wrong");
}

}  // namespace
}  // namespace muster::diagnose
