// Runbooks in a lab, through the production probes: faults repaired, parked, taken back; words
// asked for and given; runs killed and resumed; people who interfere; nodes held by hand.
#include "app/runbooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab_cases.h"
#include "app/node_holds.h"
#include "app/rma_ticket.h"
#include "app/testing/lab_site.h"
#include "backend/lab/lab_actuator.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class RunbooksTest : public ::testing::Test {
 protected:
  SiteContext OpenOrDie() {
    auto context = lab_.Open();
    EXPECT_TRUE(context.ok()) << context.error().ToString();
    return std::move(*context);
  }
  KnownRunbook Book(const std::string& id) { return FindRunbook(lab_.files, "", id).value(); }
  Result<Plan> Make(const KnownRunbook& known, const std::string& on,
                    const std::map<std::string, std::string>& inputs = {}) {
    SiteContext site = OpenOrDie();
    PlanOptions options;
    options.on = {on};
    options.inputs = inputs;
    options.by = "tester@here";
    return PlanRunbook(site, known, options, kOpen);
  }
  Result<RunOutcome> Run(const Plan& plan, bool approve = true) {
    SiteContext site = OpenOrDie();
    SilentProgress silent;
    return RunPlan(site, plan, {.by = "tester@here", .approve = approve, .open = kOpen}, silent);
  }
  Result<RunOutcome> Resume(const std::string& run, bool approve = false) {
    SiteContext site = OpenOrDie();
    SilentProgress silent;
    return ResumeRun(site, run, {.by = "tester@here", .approve = approve, .open = kOpen}, silent);
  }
  std::string Target(const KnownRunbook& known) const {
    return known.book.on == SubjectKind::kGpu ? "node000/gpu1" : "node000";
  }
  static std::string Said(const RunOutcome& outcome) {
    std::string text;
    for (const auto& target : outcome.state.targets)
      text += fmt::format("{}: {}\n", ToString(target.end), target.why);
    return text + outcome.blocked;
  }
  bool AtWork(const std::string& node) {
    SiteContext site = OpenOrDie();
    return site.actuator->ReadHold(node).value().schedulable;
  }

  static inline const OpenOptions kOpen{"", true};
  LabSite lab_;
};

// What the catalogue says of itself: with this fault in the lab, it ends so.
TEST_F(RunbooksTest, EachEndsInTheLabAsItsRehearsalSays) {
  const auto all = KnownRunbooks(lab_.files, "");
  ASSERT_TRUE(all.ok()) << all.error().ToString();
  size_t rehearsed = 0;
  for (const KnownRunbook& known : *all) {
    // The others have a lab of their own each: runbook_rehearsals_test.cc.
    if (known.book.id != "R1" && known.book.id != "R6" && known.book.id != "R13") continue;
    for (const Rehearsal& rehearsal : known.book.rehearsals) {
      SCOPED_TRACE(known.book.id + " with " + rehearsal.fault);
      World world = lab_.world();
      (void)LabHeal(world, kTestSite, "", "");
      // Each for itself: the attempts of the one before do not count.
      const RunbookPaths paths(lab_.paths());
      const auto runs = ListRunbookRuns(lab_.files, paths);
      for (const std::string& run : runs.value()) (void)lab_.files.Remove(paths.Folder(run));
      if (!rehearsal.fault.empty()) {
        std::string on;
        for (const LabFaultInfo& fault : LabFaults()) {
          if (fault.name == rehearsal.fault) on = fault.on == "gpu" ? "node000/gpu1" : "node000";
        }
        lab_.Inject(rehearsal.fault, on);
        ASSERT_EQ(lab_.problem, "");
      }
      const auto plan = Make(known, Target(known), rehearsal.inputs);
      ASSERT_TRUE(plan.ok()) << plan.error().ToString();
      const auto outcome = Run(*plan);
      ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
      EXPECT_EQ(ToString(outcome->state.targets[0].end), rehearsal.ends) << Said(*outcome);
      const bool parked = outcome->state.targets[0].held;
      EXPECT_EQ(AtWork("node000"), !parked);
      if (parked) {
        // Hands mend it; then, and only then, it may come back.
        SiteContext site = OpenOrDie();
        SilentProgress silent;
        HandOptions by_hand;
        by_hand.by = "tester@here";
        by_hand.open = kOpen;
        EXPECT_EQ(ReturnNode(site, "node000", by_hand, silent).error().code, Code::kRefused);
        (void)LabHeal(world, kTestSite, "", "");
        const Status back = ReturnNode(site, "node000", by_hand, silent);
        EXPECT_TRUE(back.has_value()) << back.error().ToString();
        EXPECT_TRUE(AtWork("node000"));
      }
      ++rehearsed;
    }
  }
  EXPECT_GE(rehearsed, 8u);
}

TEST_F(RunbooksTest, NothingIsDoneWhereNothingIsWrong) {
  const auto plan = Make(Book("R6"), "node000/gpu1");
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const auto outcome = Run(*plan);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kStale) << Said(*outcome);
  EXPECT_EQ(outcome->exit_code, 0);
}

TEST_F(RunbooksTest, AStepThatNeedsAWordWaitsForItAndGoesOn) {
  const auto plan =
      Make(Book("R1"), "node000", {{"driver", "580.95.05"}, {"previous", "570.211.01"}});
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const auto stopped = Run(*plan, /*approve=*/false);
  ASSERT_TRUE(stopped.ok()) << stopped.error().ToString();
  EXPECT_EQ(stopped->exit_code, 6);
  EXPECT_THAT(stopped->blocked, HasSubstr("install of node000 needs approval"));
  EXPECT_FALSE(AtWork("node000"));
  World world = lab_.world();
  EXPECT_EQ(AskRun(world, lab_.paths(), stopped->run,
                   {engine::Requests::Request::Kind::kApprove, "instal", "ada", "", ""})
                .error()
                .code,
            Code::kNotFound);
  EXPECT_EQ(AskRun(world, lab_.paths(), stopped->run,
                   {engine::Requests::Request::Kind::kApprove, "install", "ada", "beef", ""})
                .error()
                .code,
            Code::kRefused);
  ASSERT_TRUE(AskRun(world, lab_.paths(), stopped->run,
                     {engine::Requests::Request::Kind::kApprove, "install", "ada", "", ""})
                  .has_value());
  const auto done = Resume(stopped->run);
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->state.targets[0].end, engine::End::kDone) << Said(*done);
  EXPECT_TRUE(AtWork("node000"));
}

TEST_F(RunbooksTest, APersonsWayBackReleasesWhatWasNotTouched) {
  const auto plan =
      Make(Book("R1"), "node000", {{"driver", "580.95.05"}, {"previous", "570.211.01"}});
  const auto stopped = Run(*plan, false);
  ASSERT_TRUE(stopped.ok());
  World world = lab_.world();
  ASSERT_TRUE(AskRun(world, lab_.paths(), stopped->run,
                     {engine::Requests::Request::Kind::kRollback, "", "ada", "", "not today"})
                  .has_value());
  const auto outcome = Resume(stopped->run);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kReleased) << Said(*outcome);
  EXPECT_TRUE(AtWork("node000"));
}

TEST_F(RunbooksTest, APersonWhoTakesTheNodeKeepsIt) {
  const auto plan =
      Make(Book("R1"), "node000", {{"driver", "580.95.05"}, {"previous", "570.211.01"}});
  const auto stopped = Run(*plan, false);
  ASSERT_TRUE(stopped.ok());
  {
    SiteContext site = OpenOrDie();
    Hold mine;
    mine.schedulable = false;
    mine.note = "mine";
    ASSERT_TRUE(
        static_cast<lab::LabActuator&>(*site.actuator).SetHold("node000", mine).has_value());
  }
  const auto outcome = Resume(stopped->run, true);
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  EXPECT_EQ(outcome->state.targets[0].end, engine::End::kTakenOver) << Said(*outcome);
  EXPECT_EQ(outcome->exit_code, 6);
  EXPECT_FALSE(AtWork("node000"));
}

TEST_F(RunbooksTest, AChangedWorldRefusesThePlan) {
  lab_.Inject("xid_119", "node000/gpu1");
  const auto plan = Make(Book("R6"), "node000/gpu1");
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  SiteContext site = OpenOrDie();
  HandOptions by_hand{.by = "ada", .reason = "mine", .ttl = std::chrono::hours(1), .open = kOpen};
  ASSERT_TRUE(CordonNode(site, "node000", by_hand).has_value());
  const auto outcome = Run(*plan);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kRefused);
  EXPECT_THAT(outcome.error().message, HasSubstr("was schedulable, is held by ada"));
}

TEST_F(RunbooksTest, ByHandANodeIsHeldWithAReasonAndReturnedThroughAProof) {
  SiteContext site = OpenOrDie();
  SilentProgress silent;
  HandOptions by_hand{.by = "ada", .reason = "fan", .ttl = std::chrono::hours(1), .open = kOpen};
  EXPECT_EQ(CordonNode(site, "node000", {.by = "ada", .reason = "fan", .open = kOpen}).error().code,
            Code::kInvalid);
  ASSERT_TRUE(DrainNode(site, "node000", by_hand, silent).has_value());
  EXPECT_EQ(CordonNode(site, "node000", by_hand).error().code, Code::kRefused);
  const auto nodes = ListNodes(site);
  ASSERT_TRUE(nodes.ok());
  ASSERT_TRUE((*nodes)[0].mark.has_value());
  EXPECT_EQ((*nodes)[0].mark->kind, engine::MarkKind::kByHand);
  lab_.Inject("xid_95", "node000/gpu0");
  const Status refused = ReturnNode(site, "node000", by_hand, silent);
  EXPECT_EQ(refused.error().code, Code::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("stays out"));
  World world = lab_.world();
  (void)LabHeal(world, kTestSite, "", "");
  EXPECT_TRUE(ReturnNode(site, "node000", by_hand, silent).has_value());
  EXPECT_TRUE(AtWork("node000"));
  EXPECT_EQ(ReturnNode(site, "node000", by_hand, silent).error().code, Code::kRefused);
}

TEST_F(RunbooksTest, TheTicketOfAParkedGpuSaysWhatAVendorAsks) {
  lab_.Inject("remap_failed", "node000/gpu1");
  lab_.Inject("xid_64", "node000/gpu1");
  const auto plan = Make(Book("R6"), "node000/gpu1");
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const auto outcome = Run(*plan);
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->state.targets[0].end, engine::End::kParked) << Said(*outcome);
  EXPECT_EQ(outcome->exit_code, 7);
  SiteContext site = OpenOrDie();
  const auto tickets = MakeTickets(site, ViewRun(lab_.files, lab_.paths(), "").value());
  ASSERT_THAT(tickets, SizeIs(1));
  EXPECT_TRUE(tickets[0].replace) << tickets[0].advice;
  const std::string text = TicketText(tickets[0]);
  for (const char* part : {"gpu.serial", "gpu.uuid", "gpu.pci_bus_id", "gpu.remap_failed: yes",
                           "ECC errors, aggregate: sram_correctable 0", "remapped_row_unc 8",
                           "Xid 64", "intent reset", "rehearsed"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST_F(RunbooksTest, AnAttemptThatWasUsedUpIsNotMadeAgain) {
  for (int n = 0; n < 2; ++n) {
    World world = lab_.world();
    (void)LabHeal(world, kTestSite, "", "");
    lab_.Inject("xid_119", "node000/gpu1");
    const auto plan = Make(Book("R6"), "node000/gpu1");
    ASSERT_TRUE(plan.ok()) << plan.error().ToString();
    const auto outcome = Run(*plan);
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    EXPECT_EQ(outcome->state.targets[0].end, engine::End::kDone) << Said(*outcome);
    bool reset = false, reboot = false;
    for (const engine::Entry& entry : outcome->entries) {
      reset = reset || (entry.type == engine::EntryType::kIntent && entry.step == "reset");
      reboot = reboot || (entry.type == engine::EntryType::kIntent && entry.step == "reboot");
    }
    // One reset in seven days; the second time it climbs.
    EXPECT_EQ(reset, n == 0);
    EXPECT_EQ(reboot, n == 1);
  }
}

}  // namespace
}  // namespace muster::testing
