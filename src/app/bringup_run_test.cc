#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/bringup.h"
#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using testing::FailuresOf;
using ::testing::HasSubstr;
using testing::LabSite;
using testing::LevelsOf;

// Waives through the same door as `muster gate waive`.
void Waive(LabSite& lab, int gate, Duration span = std::chrono::hours(24)) {
  World world = lab.world();
  const auto waiver = AddWaiver(world, lab.paths(), gate, "A. Person", "the part comes on Monday",
                                lab.clock.Now() + span);
  ASSERT_TRUE(waiver.ok()) << waiver.error().ToString();
}

TEST(BringupRun, HealthyLabPassesTheGatesItCanBeHeldToWithoutProcesses) {
  LabSite lab;
  ASSERT_EQ(lab.problem, "");
  const auto run = lab.RunGates(1, 5);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  ASSERT_EQ(run->gates.size(), 5u);
  for (const GateRecord& record : run->gates) {
    EXPECT_EQ(record.result->level, Level::kPass) << record.gate << "\n"
                                                  << FailuresOf(*record.result);
  }
  EXPECT_EQ(run->level, Level::kPass);
  EXPECT_EQ(run->header.origin, Origin::kRehearsed);
  for (const GateRecord& record : run->gates) {
    for (const Verdict& v : record.result->verdicts) {
      EXPECT_EQ(v.origin, Origin::kRehearsed) << v.code;
    }
  }
}

TEST(BringupRun, NothingAdvancesPastAGateThatDoesNotPass) {
  LabSite lab;
  lab.Inject("link_down");
  ASSERT_EQ(lab.problem, "");
  const auto run = lab.RunGates(1, 8);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->Find(1)->result->level, Level::kPass);
  EXPECT_EQ(run->Find(2)->result->level, Level::kFail);
  EXPECT_EQ(run->level, Level::kFail);
  for (int gate = 3; gate <= 8; ++gate) {
    const GateRecord* record = run->Find(gate);
    ASSERT_NE(record, nullptr);
    EXPECT_THAT(record->result->blocked_by, HasSubstr("is not open")) << gate;
    EXPECT_EQ(record->result->level, Level::kUnknown) << gate;
    EXPECT_TRUE(record->result->verdicts.empty()) << gate;
    EXPECT_TRUE(record->evidence.readings.empty()) << "gate " << gate << " was looked at";
    EXPECT_FALSE(record->result->open());
  }
}

TEST(BringupRun, UnknownStopsAsSurelyAsFail) {
  LabSite lab;
  lab.Inject("dcgm_hang");
  ASSERT_EQ(lab.problem, "");
  const auto run = lab.RunGates(1, 4);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->Find(3)->result->level, Level::kUnknown) << FailuresOf(*run->Find(3)->result);
  EXPECT_FALSE(run->Find(3)->result->open());
  EXPECT_THAT(run->Find(4)->result->blocked_by, HasSubstr("gate 3"));
  EXPECT_EQ(run->level, Level::kUnknown);
}

TEST(BringupRun, WaiverOpensItsGateAndIsShownInTheResult) {
  LabSite lab;
  lab.Inject("link_down");
  Waive(lab, 2);
  const auto run = lab.RunGates(1, 3);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  const GateResult& second = *run->Find(2)->result;
  EXPECT_EQ(second.level, Level::kFail) << "a waiver opens, it does not turn a FAIL green";
  EXPECT_THAT(second.waived_by, HasSubstr("A. Person"));
  EXPECT_THAT(second.waived_by, HasSubstr("the part comes on Monday"));
  EXPECT_TRUE(second.open());
  EXPECT_EQ(run->Find(3)->result->blocked_by, "");
  EXPECT_NE(run->level, Level::kPass) << "a waived run is not a clean one";
}

TEST(BringupRun, ExpiredWaiverOpensNothing) {
  LabSite lab;
  lab.Inject("link_down");
  Waive(lab, 2, std::chrono::hours(1));
  lab.clock.Advance(std::chrono::hours(2));
  const auto run = lab.RunGates(1, 3);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->Find(2)->result->waived_by, "");
  EXPECT_NE(run->Find(3)->result->blocked_by, "");
}

TEST(BringupRun, WaiverOfAnotherGateOpensNothingHere) {
  LabSite lab;
  lab.Inject("link_down");
  Waive(lab, 3);
  const auto run = lab.RunGates(1, 3);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->Find(2)->result->waived_by, "");
  EXPECT_FALSE(run->Find(2)->result->open());
}

TEST(BringupRun, EditedWaiverIsRefusedNamingTheFile) {
  LabSite lab;
  lab.Inject("link_down");
  Waive(lab, 3);
  std::string text = lab.files.Read(lab.paths().Signatures()).value();
  const size_t at = text.find("\"gate\": 3");
  ASSERT_NE(at, std::string::npos) << text;
  text[at + 8] = '2';
  lab.files.Put(lab.paths().Signatures(), text);
  const auto run = lab.RunGates(1, 3);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kCorrupt);
  EXPECT_THAT(run.error().ToString(), HasSubstr("changed after it was signed"));
}

TEST(BringupRun, SecondRunAtOnceIsRefusedNamingTheFirst) {
  LabSite lab;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok()) << context.error().ToString();
  ASSERT_TRUE(lab.files.MakeFolders(lab.paths().state).ok());
  const auto first = lab.files.Lock(lab.paths().Lock(), "r-20261120T000000-00ff");
  ASSERT_TRUE(first.ok());
  const auto run = lab.RunGates(1, 1);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, Code::kConflict);
  EXPECT_THAT(run.error().ToString(), HasSubstr("r-20261120T000000-00ff"));
  EXPECT_TRUE(ListRuns(lab.files, lab.paths())->empty()) << "a refused run leaves nothing";
}

TEST(BringupRun, FromALaterGateIsBlockedWhileAGateBelowIsNotOpen) {
  LabSite lab;
  const auto run = lab.RunGates(6, 6);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_THAT(run->Find(6)->result->blocked_by, HasSubstr("gate 5"));
  EXPECT_EQ(run->level, Level::kUnknown);
}

TEST(BringupRun, FromALaterGateStandsOnWhatEarlierRunsOpened) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 2).ok());
  lab.clock.Advance(std::chrono::minutes(1));
  const auto run = lab.RunGates(3, 3);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->Find(3)->result->blocked_by, "");
  EXPECT_EQ(run->Find(3)->result->level, Level::kPass) << FailuresOf(*run->Find(3)->result);
}

TEST(BringupRun, GatesOutOfRangeAreRefused) {
  LabSite lab;
  for (const auto& [from, to] : {std::pair{0, 3}, {1, 9}, {4, 2}}) {
    const auto run = lab.RunGates(from, to);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code, Code::kInvalid);
  }
}

TEST(BringupRun, UnknownNodeOrScopeIsRefusedBeforeAnythingIsWritten) {
  LabSite lab;
  BringupOptions node, scope;
  node.nodes = {"node077"};
  scope.scope = "nowhere";
  for (const BringupOptions& options : {node, scope}) {
    const auto run = lab.RunGates(1, 1, options);
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().code, Code::kInvalid);
  }
  EXPECT_TRUE(ListRuns(lab.files, lab.paths())->empty());
}

TEST(BringupRun, ActOfAGateIsDoneBeforeTheGateIsLookedAt) {
  LabSite lab;
  lab.Set("acts",
          "  - gate: 1\n    name: converge\n    argv: [converge, now]\n    probe: [converged]\n");
  ASSERT_EQ(lab.problem, "");
  lab.processes.On("converged", CommandResult{.exit_code = 1, .out = "", .err = ""});
  lab.processes.On("converged", CommandResult{.exit_code = 0, .out = "", .err = ""});
  lab.processes.Prints("converge now", "done");
  const auto run = lab.RunGates(1, 1);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_THAT(lab.processes.asked(), ElementsAre("converged", "converge now", "converged"));
  ASSERT_EQ(run->Find(1)->acts.size(), 1u);
  EXPECT_EQ(run->Find(1)->acts[0].outcome, "done");
  EXPECT_EQ(run->Find(1)->result->level, Level::kPass);
}

TEST(BringupRun, GateIsNotLookedAtAfterAnActThatFailed) {
  LabSite lab;
  lab.Set("acts", "  - gate: 1\n    name: converge\n    argv: [converge]\n");
  lab.processes.On("converge", CommandResult{.exit_code = 2, .out = "", .err = "no"});
  const auto run = lab.RunGates(1, 2);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_THAT(run->Find(1)->result->blocked_by, HasSubstr("act \"converge\" failed"));
  EXPECT_TRUE(run->Find(1)->evidence.readings.empty());
  EXPECT_NE(run->Find(2)->result->blocked_by, "");
}

TEST(BringupRun, LookOnlyDoesNothingAndStartsNothing) {
  LabSite lab;
  lab.Set("acts", "  - gate: 1\n    name: converge\n    argv: [converge]\n");
  BringupOptions options;
  options.look_only = true;
  const auto run = lab.RunGates(1, 5, options);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_TRUE(lab.processes.asked().empty());
  for (const GateRecord& record : run->gates) {
    EXPECT_TRUE(record.acts.empty());
    for (const Reading& reading : record.evidence.readings) {
      EXPECT_NE(reading.probe, "dcgm.diag") << "a level-3 diagnostic takes the GPUs for minutes";
    }
  }
}

TEST(BringupRun, RunOfSomeNodesIsAScopeOfItsOwn) {
  LabSite lab;
  BringupOptions options;
  options.nodes = {"node001"};
  const auto run = lab.RunGates(1, 1, options);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_NE(run->header.scope, "");
  auto context = lab.Open();
  EXPECT_FALSE(StatusOf(*context)->gates[0].open);
}

TEST(BringupRun, FullDiskIsSaidAndWhatWasDurableIsStillRead) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 1).ok());
  uint64_t used = 0;
  for (const std::string& path : lab.files.Paths()) {
    if (auto text = lab.files.Read(path); text.ok()) used += text->size();
  }
  lab.files.SetCapacity(used + 3000);
  lab.clock.Advance(std::chrono::minutes(1));
  const auto run = lab.RunGates(1, 5);
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().ToString(), "");
  lab.files.SetCapacity(1ull << 40);
  const auto names = ListRuns(lab.files, lab.paths());
  ASSERT_TRUE(names.ok());
  EXPECT_TRUE(ReadLedger(lab.files, lab.paths().Ledger(names->front()))->closed);
  lab.clock.Advance(std::chrono::minutes(1));
  EXPECT_TRUE(lab.RunGates(1, 1).ok());
}

TEST(BringupRun, ClockThatGoesBackWhileARunWorksLosesNothing) {
  LabSite lab;
  ASSERT_TRUE(lab.RunGates(1, 2).ok());
  lab.clock.Jump(-std::chrono::hours(3));
  const auto run = lab.RunGates(1, 2);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(ListRuns(lab.files, lab.paths())->size(), 2u);
}

TEST(BringupResume, ThereIsNothingToResumeAfterAClosedRunOrNone) {
  LabSite lab;
  SilentProgress progress;
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(ResumeBringup(*context, {}, progress).error().code, Code::kNotFound);
  ASSERT_TRUE(lab.RunGates(1, 1).ok());
  EXPECT_EQ(ResumeBringup(*context, {}, progress).error().code, Code::kNotFound);
}

TEST(BringupResume, AnotherSiteFileThanTheRunBeganWithIsRefused) {
  LabSite lab;
  lab.CutRun(5);
  lab.files.Put(testing::kTestSite, lab.Text() + "# edited\n");
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  SilentProgress progress;
  const auto resumed = ResumeBringup(*context, {}, progress);
  ASSERT_FALSE(resumed.ok());
  EXPECT_EQ(resumed.error().code, Code::kConflict);
  EXPECT_THAT(resumed.error().ToString(), HasSubstr("another site file"));
}

TEST(BringupResume, JudgedGatesStandAndTheResumeIsNoted) {
  LabSite lab;
  lab.CutRun(5);
  ASSERT_EQ(lab.problem, "");
  const std::string name = ListRuns(lab.files, lab.paths())->back();
  const auto before = ReadLedger(lab.files, lab.paths().Ledger(name));
  ASSERT_TRUE(before.ok());
  ASSERT_FALSE(before->closed);
  lab.clock.Advance(std::chrono::minutes(1));
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  SilentProgress progress;
  const auto resumed = ResumeBringup(*context, {}, progress);
  ASSERT_TRUE(resumed.ok()) << resumed.error().ToString();
  EXPECT_EQ(resumed->header.run, name) << "the same run goes on";
  EXPECT_EQ(resumed->gates.size(), 5u);
  EXPECT_TRUE(resumed->closed);
  for (const GateRecord& record : before->gates) {
    if (record.result) {
      EXPECT_EQ(resumed->Find(record.gate)->result->judged_at, record.result->judged_at);
    }
  }
  const auto stored = ReadLedger(lab.files, lab.paths().Ledger(name));
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(stored->closed);
  EXPECT_THAT(stored->note, HasSubstr("resumed"));
  EXPECT_EQ(LevelsOf(*stored), LevelsOf(*resumed));
}

}  // namespace
}  // namespace muster
