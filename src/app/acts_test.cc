#include "app/acts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/faulty.h"
#include "world/testing/scripted_processes.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes down, in one order with the commands, what the ledger was told.
class ListLedger final : public RunLedger {
 public:
  explicit ListLedger(std::vector<std::string>& log) : log_(log) {}
  Status GateBegins(int, TimePoint) override { return {}; }
  Status ActIntent(int gate, const ActRecord& act) override {
    log_.push_back("intent " + std::to_string(gate) + " " + act.name);
    return fail_intent ? Status(Fail(Code::kUnavailable, "disk full")) : Status();
  }
  Status ActOutcome(int, const ActRecord& act) override {
    log_.push_back("outcome " + act.name + ": " + act.outcome);
    return {};
  }
  Status Seen(int, const Evidence&) override { return {}; }
  Status Judged(const GateResult&) override { return {}; }
  Status Resumed(TimePoint, std::string_view) override { return {}; }
  Status Close(Level, TimePoint) override { return {}; }

  bool fail_intent = false;

 private:
  std::vector<std::string>& log_;
};

class Acts : public ::testing::Test {
 protected:
  // `line` ends with these exit codes, one after the other.
  void On(const std::string& line, std::vector<int> exits) {
    for (const int exit : exits) {
      processes_.On(line, [this, line, exit](const Command&) -> Result<CommandResult> {
        log_.push_back("run " + line);
        CommandResult result;
        result.exit_code = exit;
        result.out = "said by " + line;
        return result;
      });
    }
  }
  ActsOutcome Do(const std::vector<Act>& acts, const std::vector<ActRecord>& earlier = {},
                 bool approve = false) {
    auto outcome = DoActs(acts, earlier, 3, approve, ledger_, processes_, progress_);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().ToString());
    return outcome.ok() ? *outcome : ActsOutcome{};
  }
  static Act Converge(bool probe = true, bool destructive = false) {
    Act act;
    act.gate = 3;
    act.name = "converge";
    act.kind = "shell";
    act.argv = {"converge"};
    if (probe) act.probe = {"converged"};
    act.destructive = destructive;
    return act;
  }
  static ActRecord InDoubt() { return {"converge", {"converge"}, "", "", 0}; }

  std::vector<std::string> log_;
  ListLedger ledger_{log_};
  testing::ScriptedProcesses processes_;
  SilentProgress progress_;
};

TEST_F(Acts, IntentIsDurableBeforeTheDeedAndTheOutcomeAfter) {
  On("converged", {1, 0});
  On("converge", {0});
  const ActsOutcome outcome = Do({Converge()});
  EXPECT_THAT(log_, ElementsAre("run converged", "intent 3 converge", "run converge",
                                "run converged", "outcome converge: done"));
  EXPECT_EQ(outcome.blocked_by, "");
  ASSERT_EQ(outcome.records.size(), 1u);
  EXPECT_EQ(outcome.records[0].outcome, "done");
  EXPECT_THAT(outcome.records[0].output, HasSubstr("said by converge"));
}

TEST_F(Acts, IntentThatCannotBeWrittenMeansNoDeed) {
  On("converge", {0});
  ledger_.fail_intent = true;
  const auto outcome = DoActs({Converge(false)}, {}, 3, false, ledger_, processes_, progress_);
  EXPECT_FALSE(outcome.ok());
  EXPECT_THAT(log_, ElementsAre("intent 3 converge"));
}

TEST_F(Acts, WhatIsAlreadySoIsNotDoneAgain) {
  On("converged", {0});
  const ActsOutcome outcome = Do({Converge()});
  EXPECT_THAT(log_, ElementsAre("run converged", "outcome converge: already so"));
  EXPECT_EQ(outcome.blocked_by, "");
}

TEST_F(Acts, ActThatWasDoneBeforeAnInterruptionIsNotEvenAskedAgain) {
  ActRecord done = InDoubt();
  done.outcome = "done";
  const ActsOutcome outcome = Do({Converge()}, {done});
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_EQ(outcome.records[0].outcome, "done");
}

TEST_F(Acts, ActInDoubtThatHappenedIsTakenAsDone) {
  On("converged", {0});
  const ActsOutcome outcome = Do({Converge(true, true)}, {InDoubt()}, true);
  EXPECT_THAT(log_, ElementsAre("run converged", "outcome converge: done"));
  EXPECT_FALSE(outcome.needs_person);
}

TEST_F(Acts, ActInDoubtThatDidNotHappenIsDone) {
  On("converged", {1, 0});
  On("converge", {0});
  const ActsOutcome outcome = Do({Converge(true, true)}, {InDoubt()}, true);
  EXPECT_EQ(outcome.records[0].outcome, "done");
  EXPECT_EQ(outcome.blocked_by, "");
}

TEST_F(Acts, DestructiveActInDoubtThatNobodyCanAnswerForStopsForAPerson) {
  On("converged", {3});
  On("converge", {0});
  const ActsOutcome outcome = Do({Converge(true, true)}, {InDoubt()}, true);
  EXPECT_TRUE(outcome.needs_person);
  EXPECT_THAT(outcome.blocked_by, HasSubstr("a person"));
  EXPECT_THAT(log_, ElementsAre("run converged", "outcome converge: in doubt"));
}

TEST_F(Acts, DestructiveActWithoutApprovalIsRefusedAndNotBegun) {
  On("converged", {1});
  On("converge", {0});
  const ActsOutcome outcome = Do({Converge(true, true)});
  EXPECT_TRUE(outcome.refused);
  EXPECT_THAT(outcome.blocked_by, HasSubstr("not approved"));
  EXPECT_THAT(log_, ElementsAre("run converged"));
}

TEST_F(Acts, DestructiveActWithoutApprovalIsRefusedOnResumeToo) {
  On("converged", {1});
  On("converge", {0});
  const ActsOutcome outcome = Do({Converge(true, true)}, {InDoubt()}, false);
  EXPECT_TRUE(outcome.refused);
  EXPECT_THAT(log_, ElementsAre("run converged"));
}

TEST_F(Acts, ProbeDecidesAndNotTheExitCode) {
  On("converged", {1, 1});
  On("converge", {0});
  const ActsOutcome lied = Do({Converge()});
  EXPECT_EQ(lied.records[0].outcome, "failed");
  EXPECT_NE(lied.blocked_by, "");
}

TEST_F(Acts, DeedThatFailedButHeldIsDone) {
  On("converged", {1, 0});
  On("converge", {4});
  EXPECT_EQ(Do({Converge()}).records[0].outcome, "done");
}

TEST_F(Acts, ProbeThatCannotSayAfterTheDeedBlocksTheGate) {
  On("converged", {1, 9});
  On("converge", {0});
  const ActsOutcome mild = Do({Converge()});
  EXPECT_EQ(mild.records[0].outcome, "in doubt");
  EXPECT_NE(mild.blocked_by, "");
  EXPECT_FALSE(mild.needs_person);
}

TEST_F(Acts, FirstFailureStopsTheActsAfterIt) {
  On("converge", {5});
  On("next", {0});
  Act next = Converge(false);
  next.name = "next";
  next.argv = {"next"};
  const ActsOutcome outcome = Do({Converge(false), next});
  EXPECT_THAT(outcome.blocked_by, HasSubstr("exit 5"));
  EXPECT_THAT(log_, ElementsAre("intent 3 converge", "run converge", "outcome converge: failed"));
  EXPECT_EQ(outcome.records.size(), 1u);
}

TEST_F(Acts, ActsOfOtherGatesAreLeftAlone) {
  Act other = Converge();
  other.gate = 4;
  EXPECT_THAT(Do({other}).records, IsEmpty());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(Acts, TimeoutIsAFailureThatSaysHowLongItWaited) {
  processes_.On("converge", [](const Command& command) -> Result<CommandResult> {
    EXPECT_EQ(command.timeout, std::chrono::minutes(7));
    CommandResult result;
    result.timed_out = true;
    return result;
  });
  Act act = Converge(false);
  act.timeout = std::chrono::minutes(7);
  const ActsOutcome outcome = Do({act});
  EXPECT_EQ(outcome.records[0].outcome, "failed");
  EXPECT_THAT(outcome.records[0].output, HasSubstr("no end within 7m"));
}

TEST_F(Acts, MissingProgramIsAFailure) {
  const ActsOutcome outcome = Do({Converge(false)});
  EXPECT_EQ(outcome.records[0].outcome, "failed");
  EXPECT_EQ(outcome.records[0].exit_code, 127);
  EXPECT_NE(outcome.blocked_by, "");
}

TEST_F(Acts, ProbeThatIsMissingHangsOrTalksNonsenseIsUnknown) {
  std::string detail;
  Act act = Converge();
  EXPECT_EQ(AskProbe(act, processes_, detail), Happened::kUnknown) << "no such program";
  for (const int exit : {2, 126, 127, 137, 255}) {
    testing::ScriptedProcesses processes;
    CommandResult result;
    result.exit_code = exit;
    processes.On("converged", result);
    EXPECT_EQ(AskProbe(act, processes, detail), Happened::kUnknown) << exit;
  }
  testing::ScriptedProcesses hanging;
  CommandResult hung;
  hung.timed_out = true;
  hanging.On("converged", hung);
  EXPECT_EQ(AskProbe(act, hanging, detail), Happened::kUnknown);
  EXPECT_EQ(AskProbe(Converge(false), processes_, detail), Happened::kUnknown);
}

TEST_F(Acts, WhicheverCallBreaksTheGateOpensOnlyOnAProbeThatSaidYes) {
  for (const auto kind : {testing::FaultKind::kFail, testing::FaultKind::kHang,
                          testing::FaultKind::kGarble, testing::FaultKind::kLate}) {
    for (int at = 1; at < 10; ++at) {
      bool so = false;
      testing::ScriptedProcesses script;
      script.On("converged", [&so](const Command&) -> Result<CommandResult> {
        CommandResult result;
        result.exit_code = so ? 0 : 1;
        return result;
      });
      script.On("converge", [&so](const Command&) -> Result<CommandResult> {
        so = true;
        return CommandResult{};
      });
      testing::FaultPlan plan(kind, at);
      testing::FaultyProcesses faulty(script, plan);
      log_.clear();
      const auto outcome = DoActs({Converge(true, true)}, {}, 3, true, ledger_, faulty, progress_);
      ASSERT_TRUE(outcome.ok());
      if (outcome->blocked_by.empty()) {
        EXPECT_TRUE(so) << at;
      }
      if (!plan.reached()) break;
    }
  }
}

}  // namespace
}  // namespace muster
