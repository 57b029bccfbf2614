#include "backend/kubernetes/kueue/conditions.h"

#include <gtest/gtest.h>

namespace muster::kueue {
namespace {

using kube::Json;

TEST(Conditions, OneOfOursTakesThePlaceOfItsTypeAndTheTimeGoesOnWithTheStatusAlone) {
  Json all = Json::parse(
      R"([{"type":"Other","status":"True"},)"
      R"({"type":"Admitted","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])");
  SetCondition(all, 3, "Admitted", true, "Again", "why", "2026-02-02T00:00:00Z");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(SinceOf(ConditionOf(all, "Admitted")), *ParseTime("2026-01-01T00:00:00Z"));
  SetCondition(all, 3, "Admitted", false, "Off", "why", "2026-02-02T00:00:00Z");
  EXPECT_FALSE(IsTrue(all, "Admitted"));
  EXPECT_EQ(SinceOf(ConditionOf(all, "Admitted")), *ParseTime("2026-02-02T00:00:00Z"));
  RemoveCondition(all, "Admitted");
  EXPECT_TRUE(IsTrue(all, "Other"));
  EXPECT_TRUE(ConditionOf(all, "Admitted").is_null());
}

TEST(Conditions, WhatIsNoListHasNone) {
  for (const char* text : {"null", "7", R"({"a":1})", R"([7,{"type":1}])"}) {
    const Json odd = Json::parse(text);
    EXPECT_FALSE(IsTrue(odd, "Admitted")) << text;
    EXPECT_FALSE(SinceOf(ConditionOf(odd, "Admitted"))) << text;
  }
}

}  // namespace
}  // namespace muster::kueue
