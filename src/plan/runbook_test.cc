#include "plan/runbook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "catalogue/embedded.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

// The smallest runbook with everything a destructive step needs.
constexpr std::string_view kSmall = R"(id: X1
slug: small
title: small
family: test
source: a test
trigger:
  kind: manual
  means: a person wants it
steps:
  - id: cordon
    act: cordon
    timeout: 1m
  - id: reboot
    act: reboot
    probe: boot_id
    timeout: 5m
    verify:
      - criteria: [NOD-001]
    irreversible: a reboot cannot be taken back
  - id: return
    act: return
    timeout: 1m
rollback:
  how: stay
  why: nothing to take back
blast:
  at_once: 1
)";

std::string With(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string Without(std::string_view line) { return With(line, ""); }

std::string Complaint(const std::string& text) {
  const auto book = ParseRunbook(text, "x.yaml", {"NOD-001", "NOD-010"});
  return book.ok() ? "" : book.error().message;
}

TEST(Runbook, EveryOneOfTheBinaryLoads) {
  const auto books = LoadEmbeddedRunbooks();
  ASSERT_TRUE(books.ok()) << books.error().ToString();
  EXPECT_GE(books->size(), 3u);
  for (const Runbook& book : *books) {
    EXPECT_FALSE(book.source.empty()) << book.id;
    for (const StepSpec& step : book.steps) {
      if (TraitsOf(step.act).destructive) {
        EXPECT_FALSE(step.verify.empty()) << book.id << step.id;
      }
    }
  }
}

TEST(Runbook, ReadsWhatIsThere) {
  const auto book = ParseRunbook(kSmall, "x.yaml");
  ASSERT_TRUE(book.ok()) << book.error().ToString();
  EXPECT_EQ(book->steps.size(), 3u);
  EXPECT_TRUE(book->Isolates());
  EXPECT_EQ(book->steps[1].act, ActKind::kReboot);
  EXPECT_EQ(book->blast.failures, 2);
  EXPECT_EQ(book->sha256.size(), 64u);
}

TEST(Runbook, AnUnknownKeyIsNamedWithLineAndColumn) {
  EXPECT_THAT(Complaint(With("    timeout: 5m", "    timeuot: 5m")),
              HasSubstr("x.yaml:16:5: unknown key timeuot, did you mean timeout"));
}

TEST(Runbook, ADestructiveStepNeedsProbeVerifyTimeoutAndAWayBack) {
  EXPECT_THAT(Complaint(Without("    probe: boot_id\n")),
              HasSubstr("x.yaml:13:5: step reboot is destructive and names no probe"));
  EXPECT_THAT(Complaint(Without("    verify:\n      - criteria: [NOD-001]\n")),
              HasSubstr("nothing verifies it"));
  EXPECT_THAT(Complaint(Without("    timeout: 5m\n")), HasSubstr("has no timeout"));
  EXPECT_THAT(Complaint(Without("    irreversible: a reboot cannot be taken back\n")),
              HasSubstr("expected undo, or irreversible with the reason"));
}

TEST(Runbook, AProbeThatCannotShowTheActIsRefused) {
  EXPECT_THAT(Complaint(With("probe: boot_id", "probe: exit_code")),
              HasSubstr("reboot is shown by boot_id, not by exit_code"));
}

TEST(Runbook, ACycleIsRefused) {
  std::string text = With("    act: reboot\n", "    act: reboot\n    after: [proof]\n");
  text.replace(text.find("  - id: return"), 0,
               "  - id: proof\n    act: observe\n    after: [reboot]\n    verify:\n"
               "      - criteria: [NOD-010]\n");
  EXPECT_THAT(Complaint(text), HasSubstr("(a cycle)"));
}

TEST(Runbook, StepsAreSortedByWhatTheyComeAfter) {
  std::string text(kSmall);
  text.replace(text.find("  - id: cordon"), 0,
               "  - id: tell\n    act: notify\n    with: {whom: owner, text: hello}\n"
               "    after: [cordon]\n");
  const auto book = ParseRunbook(text, "x.yaml");
  ASSERT_TRUE(book.ok()) << book.error().ToString();
  EXPECT_EQ(book->steps[0].id, "cordon");
  EXPECT_EQ(book->steps[1].id, "tell");
}

TEST(Runbook, ACordonHasItsReturnAndTheStepBeforeItProves) {
  EXPECT_THAT(Complaint(Without("  - id: return\n    act: return\n    timeout: 1m\n")),
              HasSubstr("a cordon has its return"));
  EXPECT_THAT(Complaint(Without("  - id: cordon\n    act: cordon\n    timeout: 1m\n")),
              HasSubstr("destructive outside cordon and return"));
}

TEST(Runbook, AnUnknownCriterionActOrParameterIsRefused) {
  EXPECT_THAT(Complaint(With("[NOD-001]", "[NOD-011]")),
              HasSubstr("is no criterion of the catalogue"));
  EXPECT_THAT(Complaint(With("act: reboot", "act: reboott")), HasSubstr("did you mean reboot"));
  EXPECT_THAT(Complaint(With("act: reboot\n", "act: reboot\n    with: {now: \"yes\"}\n")),
              HasSubstr("reboot has no parameter now"));
}

TEST(Runbook, AWholeFleetAtOnceIsRefused) {
  EXPECT_THAT(Complaint(With("  at_once: 1\n", "  at_once: 1\n  waves: [\"100%\"]\n")),
              HasSubstr("the first is a canary"));
  EXPECT_THAT(Complaint(With("  at_once: 1\n", "  at_once: 1\n  at_once_percent: 100\n")),
              HasSubstr("never a whole fleet"));
}

TEST(Runbook, AManualTriggerHasNoAlerts) {
  EXPECT_THAT(Complaint(With("  kind: manual\n", "  kind: manual\n  alerts: [A]\n")),
              HasSubstr("an alert must never start it"));
}

TEST(Runbook, AnotherRoundNeedsAWayBackToWork) {
  EXPECT_EQ(ParseRunbook(kSmall, "x.yaml")->rounds, 1);
  EXPECT_THAT(Complaint(std::string(kSmall) + "rounds: 2\n"), HasSubstr("after how: stay"));
  EXPECT_THAT(Complaint(std::string(kSmall) + "rounds: 6\n"), HasSubstr("expected 1 to 5"));
  const std::string revert =
      "  how: act\n  why: back\n  step:\n    id: back\n    act: git_revert\n"
      "    with: {repository: config, commit: abc1234}\n    probe: revert_commit\n"
      "    timeout: 1m\n    verify:\n      - criteria: [NOD-001]\n";
  const std::string parked = With("  how: stay\n  why: nothing to take back\n", revert);
  EXPECT_EQ(Complaint(parked), "");
  EXPECT_THAT(Complaint(parked + "rounds: 2\n"), HasSubstr("a node that is parked"));
  EXPECT_EQ(
      Complaint(With("  how: stay\n  why: nothing to take back\n", revert + "  then: return\n") +
                "rounds: 2\n"),
      "");
}

TEST(Runbook, LadderClimbsOnly) {
  const std::string lower =
      With("  - id: return",
           "  - id: again\n    act: service_restart\n    with: {unit: x}\n    rung: process\n"
           "    timeout: 1m\n    verify:\n      - criteria: [NOD-001]\n  - id: return");
  std::string text = lower;
  text.replace(text.find("    act: reboot\n"), 16, "    act: reboot\n    rung: reboot\n");
  EXPECT_THAT(Complaint(text), HasSubstr("each rung is higher than the one before"));
}

TEST(Runbook, EveryCutOfEveryRunbookIsReadOrRefusedWithAPlace) {
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    if (!file.name.starts_with("runbooks/")) continue;
    for (size_t cut = 0; cut < file.text.size(); cut += 61) {
      const auto book = ParseRunbook(file.text.substr(0, cut), file.name);
      if (!book.ok()) {
        EXPECT_THAT(book.error().message, HasSubstr(std::string(file.name)));
      }
    }
  }
}

}  // namespace
}  // namespace muster
