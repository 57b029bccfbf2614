#include "app/sched_features.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SchedFeatures, EachIsMeasuredOnTheSameLoad) {
  const auto rows = CompareFeatures(128, 300, 90, 1);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 4u);
  const FeatureRow& all = rows->at(0);
  EXPECT_EQ(all.name, "all");
  EXPECT_GE(all.spread, 1.0);
  EXPECT_GT(rows->at(1).spread, all.spread) << "gangs sit on more leaves where nobody knows them";
  EXPECT_GT(all.utilisation_pct, 20);
  for (const FeatureRow& row : *rows) EXPECT_LE(row.utilisation_pct, 100) << row.name;
}

}  // namespace
}  // namespace muster
