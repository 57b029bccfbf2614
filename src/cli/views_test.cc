#include "cli/views.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Stage : muster::testing::TestMachine {
  std::ostringstream out, err;
  Context context{.world = world(), .out = out, .err = err};
};

Verdict Unknown(const char* code, const char* budget) {
  Verdict v;
  v.code = code;
  v.subject = {SubjectKind::kBudget, budget};
  v.level = Level::kUnknown;
  v.reason = UnknownReason::kNotObserved;
  v.text = std::string(code) + " of " + budget + " is not observed (no sign-off document)";
  return v;
}
size_t LinesWith(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (const std::string_view line : Lines(text)) n += Contains(line, part) ? 1 : 0;
  return n;
}

TEST(Views, OneCauseOverManyCriteriaIsSaidOnce) {
  Stage stage;
  GateResult result;
  result.gate = 1;
  for (const char* code : {"FAC-001", "FAC-002", "FAC-003"}) {
    for (const char* budget : {"power", "cooling"})
      result.verdicts.push_back(Unknown(code, budget));
  }
  const Document doc = CheckView(stage.context, {result}, *LoadEmbedded().value(), {});
  EXPECT_EQ(LinesWith(doc.table, "no sign-off document"), 1u) << doc.table;
  EXPECT_THAT(doc.table,
              HasSubstr("FAC-001 FAC-002 FAC-003  budget power and 1 more: not observed"));
  EXPECT_EQ((*doc.json)["gates"][0]["verdicts"].size(), 6u) << "JSON keeps all of them";
}

TEST(Views, CauseOfOneCriterionKeepsItsOwnLine) {
  Stage stage;
  GateResult result;
  result.gate = 1;
  result.verdicts = {Unknown("FAC-001", "power")};
  const Document doc = CheckView(stage.context, {result}, *LoadEmbedded().value(), {});
  EXPECT_THAT(doc.table, HasSubstr("FAC-001  budget power: FAC-001 of power is not observed"));
}

TEST(Views, WhatDoesNotApplyIsSaidOnceForEachReason) {
  Stage stage;
  GatePlan plan;
  plan.gate = 2;
  plan.name = "fabric";
  plan.criteria = 1;
  plan.not_applicable = {{"FAB-001", "one", "no switches"},
                         {"FAB-002", "two", "not asked for"},
                         {"FAB-003", "three", "no switches"}};
  const Document doc = PlanView(stage.context, {plan});
  EXPECT_THAT(doc.table, HasSubstr("no switches: FAB-001 FAB-003"));
  EXPECT_THAT(doc.table, HasSubstr("1 criterion\n"));
  EXPECT_EQ((*doc.json)["gates"][0]["not_applicable"].size(), 3u);
}

TEST(Views, WaiverOfAWarningIsShown) {
  Stage stage;
  SiteStatus status;
  status.site = "s";
  GateStatus gate;
  gate.gate = 8;
  gate.name = "inference";
  gate.level = Level::kWarn;
  gate.run = "r-1";
  gate.waived_by = "A. Person until tomorrow: short";
  status.gates = {gate};
  EXPECT_THAT(StatusView(stage.context, status, stage.clock.Now()).table,
              HasSubstr("waived by A. Person"));
}

}  // namespace
}  // namespace muster::cli
