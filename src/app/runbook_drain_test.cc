// Drains in a lab with work on the node: the next durable checkpoint is waited for up to the step's
// limit, then a person is asked, and says yes or no, or the work ends by itself meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab_cases.h"
#include "app/runbooks.h"
#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using engine::End;
using engine::EntryType;
using ::testing::HasSubstr;
using Kind = engine::Requests::Request::Kind;

constexpr const char* kNode = "node000";

class RunbookDrain : public ::testing::Test {
 protected:
  // R13, whose drain waits for an hour. The job runs on both nodes and is kept with the other one.
  void Start(Duration checkpoint_every) {
    World world = lab_.world();
    LabJobOptions job;
    job.id = "train-7";
    job.nodes = {"node001", kNode};
    job.checkpoint_every = checkpoint_every;
    job.since = std::chrono::minutes(5);
    began_ = lab_.clock.Now() - job.since;
    ASSERT_TRUE(LabStartJob(world, kTestSite, job).has_value());
    lab_.Inject("fabric_manager_down", kNode);
    ASSERT_EQ(lab_.problem, "");
  }
  LabJobNow Job() {
    World world = lab_.world();
    return LabJobsNow(world, kTestSite).value().at(0);
  }
  SiteContext Site() { return std::move(*lab_.Open()); }
  Result<RunOutcome> Run() {
    SiteContext site = Site();
    TRY(const KnownRunbook known, FindRunbook(lab_.files, "", "R13"));
    PlanOptions options;
    options.on = {kNode};
    options.by = "tester@here";
    TRY(plan_, PlanRunbook(site, known, options, kOpen));
    SilentProgress silent;
    return RunPlan(site, plan_, {.by = "tester@here", .approve = true, .open = kOpen}, silent);
  }
  Result<RunOutcome> Resume(const std::string& run) {
    SiteContext site = Site();
    SilentProgress silent;
    return ResumeRun(site, run, {.by = "tester@here", .open = kOpen}, silent);
  }
  Status Say(const std::string& run, Kind kind, const std::string& step) {
    World world = lab_.world();
    return AskRun(world, lab_.paths(), run, {kind, step, "ada", "", "she said so"});
  }
  bool AtWork() {
    SiteContext site = Site();
    return site.actuator->ReadHold(kNode).value().schedulable;
  }
  static size_t Count(const RunOutcome& outcome, EntryType type, bool destructive = false) {
    size_t n = 0;
    for (const engine::Entry& entry : outcome.entries)
      n += entry.type == type && entry.step == "drain" && entry.destructive == destructive;
    return n;
  }

  static inline const OpenOptions kOpen{"", true};
  LabSite lab_;
  TimePoint began_;
  Plan plan_;
};

TEST_F(RunbookDrain, GoesOnWithoutAWordWhenTheCheckpointBecomesDurable) {
  Start(std::chrono::minutes(20));
  const auto done = Run();
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->state.targets[0].end, End::kDone) << done->blocked;
  EXPECT_EQ(Count(*done, EntryType::kAsked), 0u);
  EXPECT_EQ(Count(*done, EntryType::kIntent, /*destructive=*/true), 0u);
  const LabJobNow job = Job();
  EXPECT_TRUE(job.ended);
  // Nothing of its work is lost: it ended with its checkpoint.
  EXPECT_EQ(job.durable_at, began_ + std::chrono::minutes(20));
  EXPECT_GE(lab_.clock.Now(), began_ + std::chrono::minutes(20));
  EXPECT_TRUE(AtWork());
  // The plan had named whose work it is.
  EXPECT_THAT(PrintPlan(plan_), HasSubstr("train-7"));
}

TEST_F(RunbookDrain, AsksWhenNoCheckpointComesAndForcesItOnlyAfterAWordForThat) {
  Start({});
  const TimePoint asked_from = lab_.clock.Now();
  const auto asked = Run();
  ASSERT_TRUE(asked.ok()) << asked.error().ToString();
  EXPECT_EQ(asked->exit_code, 6);
  EXPECT_EQ(Count(*asked, EntryType::kAsked), 1u);
  EXPECT_THAT(asked->blocked, HasSubstr("the wait is over and train-7 runs there"));
  EXPECT_GE(lab_.clock.Now() - asked_from, std::chrono::minutes(60));
  EXPECT_FALSE(Job().ended) << "the word for the plan is none for this";
  EXPECT_FALSE(AtWork());
  // Asked again, it is as it was.
  const auto still = Resume(asked->run);
  ASSERT_TRUE(still.ok());
  EXPECT_EQ(still->exit_code, 6);
  EXPECT_FALSE(Job().ended);

  ASSERT_TRUE(Say(asked->run, Kind::kApprove, "drain").has_value());
  const auto done = Resume(asked->run);
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->state.targets[0].end, End::kDone) << done->blocked;
  EXPECT_EQ(Count(*done, EntryType::kIntent, /*destructive=*/true), 1u);
  EXPECT_TRUE(Job().ended);
  EXPECT_TRUE(AtWork());
}

TEST_F(RunbookDrain, ANoReleasesTheNodeAndLeavesTheWorkAlone) {
  Start({});
  const auto asked = Run();
  ASSERT_TRUE(asked.ok()) << asked.error().ToString();
  ASSERT_EQ(asked->exit_code, 6);
  ASSERT_TRUE(Say(asked->run, Kind::kRollback, "").has_value());
  const auto denied = Resume(asked->run);
  ASSERT_TRUE(denied.ok()) << denied.error().ToString();
  EXPECT_EQ(denied->state.targets[0].end, End::kReleased) << denied->state.targets[0].why;
  EXPECT_EQ(Count(*denied, EntryType::kIntent, /*destructive=*/true), 0u);
  EXPECT_FALSE(Job().ended);
  EXPECT_TRUE(AtWork());
}

TEST_F(RunbookDrain, WorkThatEndsWhileNobodyAnswersNeedsNoWord) {
  Start(std::chrono::minutes(90));
  const auto asked = Run();
  ASSERT_TRUE(asked.ok()) << asked.error().ToString();
  ASSERT_EQ(asked->exit_code, 6) << "the checkpoint comes after the limit";
  lab_.clock.Advance(std::chrono::minutes(40));
  const auto done = Resume(asked->run);
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->state.targets[0].end, End::kDone) << done->blocked;
  EXPECT_EQ(Count(*done, EntryType::kIntent, /*destructive=*/true), 0u);
  EXPECT_EQ(Job().durable_at, began_ + std::chrono::minutes(90));
}

}  // namespace
}  // namespace muster::testing
