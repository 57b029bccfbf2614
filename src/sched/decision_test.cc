#include "sched/decision.h"

#include <gtest/gtest.h>

namespace muster::sched {
namespace {

TEST(Because, IsItsCodeAndItsFiguresInTheirOrder) {
  EXPECT_EQ(TextOf(Because{"ORDER", {}}), "ORDER");
  EXPECT_EQ(TextOf(Because{"QUOTA", {{"queue", "ml-prod"}, {"short", int64_t{8}}}}),
            "QUOTA queue=ml-prod short=8");
  EXPECT_EQ(TextOf(Because{"SHAPE", {{"free", std::vector<int64_t>{4, 2, 0}}}}),
            "SHAPE free=4,2,0");
}

TEST(Detail, OfNothingIsNothing) {
  EXPECT_EQ(TextOf(Detail{}), "");
  EXPECT_EQ(TextOf(Detail{{"ranks", std::vector<int64_t>{}}}), "ranks=");
}

}  // namespace
}  // namespace muster::sched
