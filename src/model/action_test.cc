#include "model/action.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(Action, TheTableStandsInTheOrderOfTheKinds) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < AllActs().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(AllActs()[i].kind), i) << AllActs()[i].name;
    EXPECT_TRUE(names.insert(AllActs()[i].name).second) << AllActs()[i].name;
    EXPECT_EQ(ParseActKind(AllActs()[i].name).value(), AllActs()[i].kind);
    if (!AllActs()[i].undo.empty()) {
      EXPECT_TRUE(ParseActKind(AllActs()[i].undo).ok());
    }
  }
}

TEST(Action, WhateverHasAnEffectHasAProbe) {
  for (const ActTraits& act : AllActs()) {
    EXPECT_EQ(act.effect, !act.probe.empty()) << act.name;
    if (act.destructive) {
      EXPECT_TRUE(act.effect) << act.name;
    }
  }
}

TEST(Action, ADrainIsDestructiveOnlyByForce) {
  EXPECT_FALSE((Action{ActKind::kDrain, NodeSubject("n"), {}}.Destructive()));
  EXPECT_TRUE((Action{ActKind::kDrain, NodeSubject("n"), {{"force", "true"}}}.Destructive()));
}

TEST(Action, ParametersAndSubjectsAreHeldToTheKind) {
  EXPECT_TRUE(CheckAction({ActKind::kReboot, NodeSubject("n"), {}}).has_value());
  EXPECT_THAT(CheckAction({ActKind::kReboot, GpuSubject("n", 0), {}}).error().message,
              HasSubstr("is done to a node"));
  EXPECT_THAT(CheckAction({ActKind::kServiceStop, NodeSubject("n"), {}}).error().message,
              HasSubstr("needs unit"));
  EXPECT_THAT(CheckAction({ActKind::kReboot, NodeSubject("n"), {{"when", "now"}}}).error().message,
              HasSubstr("has no parameter when"));
  EXPECT_THAT(ParseActKind("rebot").error().message, HasSubstr("did you mean reboot"));
  EXPECT_THAT(ParseRung("roof").error().message, HasSubstr("unknown rung"));
}

}  // namespace
}  // namespace muster
