#include "diagnose/last_line.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

TEST(LastLine, IsWholeWhenItsFormSaysThatNothingFollows) {
  EXPECT_TRUE(IsWholeLine("+------+------+", "+------+------+\n| a    | b    |\n"));
  EXPECT_TRUE(
      IsWholeLine(" step 12 | loss 2.31 |", " step 10 | loss 2.51 |\n step 11 | loss 2.4 |\n"));
  EXPECT_TRUE(IsWholeLine("n:1:2 [0] NCCL INFO ncclCommInitRank comm 0xa - Init COMPLETE", ""));
  EXPECT_TRUE(IsWholeLine("\tLink layer: InfiniBand\r", ""));
}

TEST(LastLine, IsNoneWhenAnythingMayBeMissing) {
  EXPECT_FALSE(IsWholeLine("+------+---", "+------+------+\n| a    | b    |\n"));
  EXPECT_FALSE(
      IsWholeLine(" step 12 | loss 2.31", " step 10 | loss 2.51 |\n step 11 | loss 2.4 |\n"));
  EXPECT_FALSE(IsWholeLine("loss: 2.3", "loss: 2.51\nloss: 2.48\n"));
  EXPECT_FALSE(IsWholeLine("[ 12.1] NVRM: loading NVIDIA", "[ 11.0] Linux version 6.8\n"));
  EXPECT_FALSE(IsWholeLine(" step 12 | loss 2.31 |", ""));
}

TEST(LastLine, OfEveryCutOfARowIsWholeOnlyAtItsEnd) {
  const std::string row =
      " iteration 30/ 90 | lm loss: 2.3141E+00 | number of nan iterations:   0 |";
  const std::string before =
      " iteration 10/ 90 | lm loss: 2.9141E+00 | number of nan iterations:   0 |\n"
      " iteration 20/ 90 | lm loss: 2.5141E+00 | number of nan iterations:   0 |\n";
  for (size_t cut = 1; cut < row.size(); ++cut)
    EXPECT_FALSE(IsWholeLine(row.substr(0, cut), before)) << row.substr(0, cut);
  EXPECT_TRUE(IsWholeLine(row, before));
}

}  // namespace
}  // namespace muster::diagnose
