#include "app/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;

Result<Change> Say(LabSite& lab, const std::string& component, const std::string& by = "A. Person",
                   const std::string& reason = "25.3 to 25.10") {
  World world = lab.world();
  return AddChange(world, lab.paths(), *LoadEmbedded().value(), component, by, reason);
}
GateStatus StatusOfGate(LabSite& lab, int gate) {
  const auto context = lab.Open();
  return StatusOf(*context)->gates.at(static_cast<size_t>(gate - 1));
}

TEST(Changes, StatedChangeMakesExactlyTheGatesStaleThatStandOnIt) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 3).ok());
  lab.clock.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(Say(lab, "fabric").ok());
  EXPECT_EQ(StatusOfGate(lab, 1).stale_because, "");
  EXPECT_THAT(StatusOfGate(lab, 2).stale_because, HasSubstr("fabric changed, says A. Person"));
  EXPECT_FALSE(StatusOfGate(lab, 2).open);
  EXPECT_EQ(StatusOfGate(lab, 3).stale_because, "");
  EXPECT_FALSE(StatusOfGate(lab, 3).open) << "it waits for gate 2";
}

TEST(Changes, GateThatWasSeenAgainIsNotStaleAnyMore) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 3).ok());
  lab.clock.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(Say(lab, "fabric").ok());
  lab.clock.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(lab.RunGates(2, 2).ok());
  EXPECT_EQ(StatusOfGate(lab, 2).stale_because, "");
  EXPECT_TRUE(StatusOfGate(lab, 2).open);
  EXPECT_TRUE(StatusOfGate(lab, 3).open);
}

TEST(Changes, EveryComponentThatAGateIsStaleByCanBeStated) {
  const Catalogue& catalogue = *LoadEmbedded().value();
  EXPECT_THAT(StalingComponents(catalogue), Contains("operator"));
  EXPECT_THAT(GatesStandingOn(catalogue, "telemetry"), ElementsAre(5));
  for (const std::string& component : StalingComponents(catalogue)) {
    LabSite lab;
    EXPECT_TRUE(Say(lab, component).ok()) << component;
    EXPECT_FALSE(GatesStandingOn(catalogue, component).empty());
  }
}

TEST(Changes, WhatSaysNothingIsRefusedAndNothingIsWritten) {
  LabSite lab;
  const auto before = lab.files.Paths();
  EXPECT_THAT(Say(lab, "moon").error().message, HasSubstr("expected one of cni"));
  EXPECT_EQ(Say(lab, "cni", "").error().code, Code::kInvalid);
  EXPECT_EQ(Say(lab, "cni", "A. Person", "").error().code, Code::kInvalid);
  EXPECT_EQ(lab.files.Paths(), before);
}

TEST(Changes, EditedEntryIsRefusedByName) {
  LabSite lab;
  ASSERT_TRUE(Say(lab, "cni").ok());
  ASSERT_TRUE(Say(lab, "operator").ok());
  const std::string path = lab.paths().state + "/changes.json";
  std::string text = lab.files.Read(path).value();
  ASSERT_EQ(ReadChanges(lab.files, lab.paths())->size(), 2u);
  text.replace(text.find("\"operator\""), 10, "\"topology\"");
  lab.files.Put(path, text);
  const auto read = ReadChanges(lab.files, lab.paths());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_THAT(read.error().message, HasSubstr("topology"));
  for (const char* bad :
       {"", "[]", "{\"changes\": 1}", "{\"changes\": [1]}", "{\"changes\": [{}]}"}) {
    lab.files.Put(path, bad);
    EXPECT_EQ(ReadChanges(lab.files, lab.paths()).error().code, Code::kCorrupt) << bad;
  }
}

}  // namespace
}  // namespace muster
