// What people and the site's own files add to a run: answers to checks, change windows and leave to
// pass them, runbooks of the site's own with their git, the support matrix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/runbooks.h"
#include "app/testing/ask_first.h"
#include "app/testing/lab_site.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using Kind = engine::Requests::Request::Kind;

class RunbookWords : public ::testing::Test {
 protected:
  RunbookWords() { lab_.files.Put("/site/runbooks/s1.yaml", kAskFirst); }
  SiteContext Site() { return std::move(*lab_.Open()); }
  Result<Plan> Make(const std::string& id, const std::map<std::string, std::string>& inputs = {}) {
    SiteContext site = Site();
    TRY(const KnownRunbook known, FindRunbook(lab_.files, "/site", id));
    PlanOptions options;
    options.on = {"node000"};
    options.inputs = inputs;
    options.by = "tester@here";
    return PlanRunbook(site, known, options, kOpen);
  }
  Result<RunOutcome> Run(const Plan& plan, RunOptions options = {}) {
    SiteContext site = Site();
    SilentProgress silent;
    options.by = "tester@here";
    options.open = kOpen;
    return RunPlan(site, plan, options, silent);
  }
  Result<RunOutcome> Resume(const std::string& run) {
    SiteContext site = Site();
    SilentProgress silent;
    return ResumeRun(site, run, {.by = "tester@here", .open = kOpen}, silent);
  }
  Status Attest(const std::string& run, const std::string& check, bool yes,
                const std::string& on = "") {
    World world = lab_.world();
    engine::Requests::Request request{Kind::kAttest, check, "ada", "", "the door is open"};
    request.on = on;
    request.yes = yes;
    return AskRun(world, lab_.paths(), run, request);
  }

  static inline const OpenOptions kOpen{"", true};
  LabSite lab_;
};

TEST_F(RunbookWords, ACheckThatAsksAPersonWaitsAndKeepsTheAnswer) {
  const auto plan = Make("S1");
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  auto outcome = Run(*plan);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_EQ(outcome->exit_code, 6);
  EXPECT_THAT(outcome->blocked, HasSubstr("check rack-is-cool of node000 asks a person"));
  const std::string run = outcome->run;
  EXPECT_EQ(Attest(run, "rack-is-cold", true).error().code, Code::kNotFound);
  EXPECT_EQ(Attest(run, "rack-is-cool", true, "node001").error().code, Code::kNotFound);
  ASSERT_TRUE(Attest(run, "rack-is-cool", true).has_value());
  // Said too early: it is about what has not been done yet.
  ASSERT_TRUE(Attest(run, "panel-is-green", true).has_value());
  lab_.clock.Advance(std::chrono::seconds(5));
  outcome = Resume(run);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_THAT(outcome->blocked, HasSubstr("panel-is-green"));
  ASSERT_TRUE(Attest(run, "panel-is-green", true).has_value());
  lab_.clock.Advance(std::chrono::seconds(5));
  outcome = Resume(run);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kDone) << outcome->blocked;
  size_t kept = 0;
  for (const engine::Entry& entry : outcome->entries) {
    if (entry.type != engine::EntryType::kAttested) continue;
    ++kept;
    EXPECT_EQ(entry.by, "ada");
    EXPECT_EQ(entry.evidence, Sha256Hex("the door is open"));
  }
  EXPECT_EQ(kept, 3u);
  EXPECT_EQ(lab_.files
                .Read(RunbookPaths(lab_.paths()).Evidence(run) + "/" +
                      Sha256Hex("the door is open") + ".txt")
                .value(),
            "the door is open");
}

TEST_F(RunbookWords, ANoIsAFailedCheck) {
  const auto outcome = Run(*Make("S1"));
  ASSERT_TRUE(Attest(outcome->run, "rack-is-cool", false).has_value());
  const auto ended = Resume(outcome->run);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->state.targets[0].end, engine::End::kSkipped);
  EXPECT_THAT(ended->state.targets[0].why, HasSubstr("ada says no"));
}

TEST_F(RunbookWords, AnAnswerDoesNotLastForever) {
  const auto outcome = Run(*Make("S1"));
  ASSERT_TRUE(Attest(outcome->run, "rack-is-cool", true).has_value());
  // Taken up by an engine that is stopped at once, and looked at five hours later.
  SiteContext site = Site();
  const auto again = Resume(outcome->run);
  EXPECT_THAT(again->blocked, HasSubstr("panel-is-green"));
  ASSERT_TRUE(Attest(outcome->run, "panel-is-green", true).has_value());
  lab_.clock.Advance(std::chrono::hours(5));
  EXPECT_TRUE(Resume(outcome->run).ok());
}

TEST_F(RunbookWords, OutsideOfItsWindowNothingBeginsUnlessAPersonAnswersForIt) {
  // The lab's clock stands at Friday, 2026-11-20, midnight.
  lab_.files.Put(kTestSite,
                 lab_.Text() +
                     "\nchange_windows:\n  - {name: night, days: [tue], from: \"22:00\", "
                     "to: \"04:00\", runbooks: [R1]}\n");
  const std::map<std::string, std::string> inputs = {{"driver", "580.95.05"},
                                                     {"previous", "570.211.01"}};
  const auto plan = Make("R1", inputs);
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const auto refused = Run(*plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("night opens at 2026-11-24T22:00:00Z"));
  EXPECT_TRUE(ViewRuns(lab_.files, lab_.paths())->empty());
  RunOptions now;
  now.approve = true;
  now.now_by = "ada";
  now.now_reason = "advisory";
  const auto outcome = Run(*plan, now);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kDone) << outcome->blocked;
  bool recorded = false;
  for (const engine::Entry& entry : outcome->entries)
    recorded = recorded || (entry.type == engine::EntryType::kUnbound && entry.by == "ada" &&
                            entry.detail == "advisory");
  EXPECT_TRUE(recorded);
}

TEST_F(RunbookWords, TheSitesOwnRunbookKeepsItsCommitAndWhatDiffersFromIt) {
  const auto known = FindRunbook(lab_.files, "/site", "S1");
  ASSERT_TRUE(known.ok());
  EXPECT_TRUE(known->own);
  const auto git = [](int code, std::string out) {
    CommandResult result;
    result.exit_code = code;
    result.out = std::move(out);
    return result;
  };
  lab_.processes.On("git -C /site/runbooks rev-parse HEAD", git(0, "9f3c\n"));
  lab_.processes.On("git -C /site/runbooks status --porcelain --untracked-files=all -- .",
                    git(0, ""));
  EXPECT_EQ(CommitOf(lab_.processes, *known), "git 9f3c");
  TestMachine dirty;
  dirty.processes.On("git -C /site/runbooks rev-parse HEAD", git(0, "9f3c\n"));
  dirty.processes.On("git -C /site/runbooks status --porcelain --untracked-files=all -- .",
                     git(0, " M runbooks/s1.yaml\n?? runbooks/s2.yaml\n"));
  EXPECT_EQ(CommitOf(dirty.processes, *known),
            "git 9f3c, changed since: runbooks/s1.yaml, runbooks/s2.yaml");
  TestMachine none;
  none.processes.On("git -C /site/runbooks rev-parse HEAD", git(128, ""));
  EXPECT_THAT(CommitOf(none.processes, *known), HasSubstr("not in git"));
  const auto plan = Make("S1");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->runbook_commit, "git 9f3c");
  EXPECT_EQ(ReadPlan(WritePlan(*plan), "plan").value().runbook_commit, "git 9f3c");
  EXPECT_THAT(PrintPlan(*plan), HasSubstr("git 9f3c"));
}

TEST_F(RunbookWords, TheSupportMatrixStopsAnUpgradeToABranchAtItsEnd) {
  const auto plan = Make("R1", {{"driver", "535.274.02"}, {"previous", "570.211.01"}});
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  RunOptions approve;
  approve.approve = true;
  const auto outcome = Run(*plan, approve);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kSkipped);
  EXPECT_THAT(outcome->state.targets[0].why, HasSubstr("end of life since 2026-07-01"));
  // The site's own matrix takes the place of ours.
  lab_.files.Put("/site/support.yaml",
                 "as_of: 2026-11-01\nsource: us\ndrivers:\n  - {branch: 535, kind: ours, "
                 "end_of_life: 2030-01-01, cuda: 12, source: us}\nkernels:\n  - {os: Ubuntu 22.04, "
                 "kernels: [\"6.8\"], source: us}\n");
  const auto own = Run(*plan, approve);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->state.targets[0].end, engine::End::kDone) << own->state.targets[0].why;
}

}  // namespace
}  // namespace muster::testing
