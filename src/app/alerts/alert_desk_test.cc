// Alerts in a lab, from the webhook's body to the node's return: repaired alone or after a word,
// parked with its ticket, ignored when nothing is to be done; killed at every boundary.
#include "app/alerts/alert_desk.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab_cases.h"
#include "app/rma_ticket.h"
#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Stage = AlertEpisode::Stage;

const OpenOptions kLabOpen{"", true};

struct DeskLab : LabSite {
  explicit DeskLab(bool alone) {
    if (alone) files.Put(kTestSite, Text() + "\nalerts:\n  alone: [R6]\n");
    lab_start = clock.Now();
  }
  std::string Body(const std::string& status = "firing", Duration ago = std::chrono::seconds(30),
                   const std::string& fingerprint = "1a30ba71cca2921f",
                   const std::string& more = "") {
    return fmt::format(
        R"({{"version":"4","alerts":[{{"status":"{}","fingerprint":"{}","startsAt":"{}",)"
        R"("labels":{{"alertname":"GpuXidFatal","gpu":"1","instance":"node000:9400"{}}}}}]}})",
        status, fingerprint, FormatTime(lab_start - ago), more);
  }
  Result<std::unique_ptr<AlertDesk>> Desk() { return Desk(files); }
  Result<std::unique_ptr<AlertDesk>> Desk(Files& through) {
    return AlertDesk::Open(kTestSite, world(through), kLabOpen);
  }
  bool AtWork() {
    const auto site = OpenSite(kTestSite, world(), kLabOpen);
    return site->actuator->ReadHold("node000").value().schedulable;
  }
  // Over all runs of the site.
  size_t Intents(const std::string& step) {
    size_t count = 0;
    const auto views = ViewRuns(files, paths());
    for (size_t i = 0; views.ok() && i < views->size(); ++i) {
      for (const engine::Entry& entry : (*views)[i].stored.entries)
        count += entry.type == engine::EntryType::kIntent && entry.step == step;
    }
    return count;
  }
  TimePoint lab_start;
};

// What a server does, until nothing is due. An error is tried again, as it would be.
Status WorkAll(AlertDesk& desk, int tries = 1) {
  SilentProgress silent;
  Status last;
  for (int round = 0; round < 6 + tries; ++round) {
    const auto due = desk.Due();
    if (!due.ok()) {
      last = Fail(due.error());
      continue;
    }
    for (const std::string& id : *due) {
      const Status worked = desk.Work(id, silent);
      if (!worked.has_value()) last = Fail(worked.error());
    }
  }
  return last;
}

AlertEpisode Only(const AlertDesk& desk) {
  const AlertBook book = desk.Snapshot();
  EXPECT_THAT(book.episodes(), SizeIs(1));
  return book.episodes().empty() ? AlertEpisode{} : book.episodes()[0];
}

TEST(AlertDesk, ActsAloneWhereThePolicyNamesTheRunbook) {
  DeskLab lab(true);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  ASSERT_TRUE(desk.ok()) << desk.error().ToString();
  const auto heard = (*desk)->Hear(lab.Body());
  ASSERT_TRUE(heard.ok()) << heard.error().ToString();
  EXPECT_EQ(heard->opened, 1u);
  const Status worked = WorkAll(**desk);
  ASSERT_TRUE(worked.has_value()) << worked.error().ToString();
  const AlertEpisode episode = Only(**desk);
  EXPECT_EQ(episode.stage, Stage::kClosed);
  EXPECT_EQ(episode.end, "done") << episode.why;
  EXPECT_EQ(lab.Intents("reset"), 1u);
  EXPECT_TRUE(lab.AtWork());
  // Delivered again, and resolved: nothing more.
  EXPECT_EQ((*desk)->Hear(lab.Body())->duplicate, 1u);
  EXPECT_EQ((*desk)->Hear(lab.Body("resolved"))->nothing, 1u);
  EXPECT_TRUE(WorkAll(**desk).has_value());
  EXPECT_EQ(lab.Intents("reset"), 1u);
}

TEST(AlertDesk, OtherwiseThePlanIsFrozenAndWaitsForAPerson) {
  DeskLab lab(false);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  ASSERT_TRUE(desk.ok());
  ASSERT_TRUE((*desk)->Hear(lab.Body()).ok());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  const AlertEpisode waits = Only(**desk);
  EXPECT_EQ(waits.stage, Stage::kPlanned);
  EXPECT_EQ(lab.Intents("reset"), 0u);
  const std::string path = AlertPaths(lab.paths()).Plan("a-1");
  const auto plan = ReadPlan(lab.files.Read(path).value(), path);
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  EXPECT_EQ(plan->hash, waits.plan_hash);
  World world = lab.world();
  EXPECT_EQ(ApproveAlert(world, lab.paths(), "a-2", "ada", "").error().code, Code::kNotFound);
  EXPECT_EQ(ApproveAlert(world, lab.paths(), "a-1", "ada", "beef").error().code, Code::kRefused);
  EXPECT_EQ(ApproveAlert(world, lab.paths(), "a-1", " ", "").error().code, Code::kInvalid);
  ASSERT_TRUE(ApproveAlert(world, lab.paths(), "a-1", "ada", "").has_value());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  EXPECT_EQ(Only(**desk).end, "done") << Only(**desk).why;
  EXPECT_EQ(Only(**desk).approved_by, "ada");
  EXPECT_TRUE(lab.AtWork());
  EXPECT_EQ(ApproveAlert(world, lab.paths(), "a-1", "ada", "").error().code, Code::kRefused);
}

TEST(AlertDesk, WhatCannotBeRepairedIsParkedWithItsTicket) {
  DeskLab lab(false);
  lab.Inject("remap_failed", "node000/gpu1");
  lab.Inject("xid_64", "node000/gpu1");
  auto desk = lab.Desk();
  ASSERT_TRUE((*desk)->Hear(lab.Body()).ok());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  World world = lab.world();
  ASSERT_TRUE(ApproveAlert(world, lab.paths(), "a-1", "ada", "").has_value());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  EXPECT_EQ(Only(**desk).end, "parked") << Only(**desk).why;
  EXPECT_FALSE(lab.AtWork());
  auto site = OpenSite(kTestSite, lab.world(), kLabOpen);
  const auto tickets =
      MakeTickets(*site, ViewRun(lab.files, lab.paths(), Only(**desk).run).value());
  ASSERT_THAT(tickets, SizeIs(1));
  EXPECT_TRUE(tickets[0].replace);
  // It fires on: the node is out already, and stays so.
  ASSERT_TRUE((*desk)->Hear(lab.Body("firing", std::chrono::seconds(30), "beef")).ok());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  EXPECT_EQ((*desk)->Snapshot().episodes()[1].end, "handled");
  EXPECT_EQ(lab.Intents("reset"), 1u);
}

TEST(AlertDesk, WhatIsOverOldOrUnknownDoesNothing) {
  DeskLab lab(true);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  EXPECT_EQ((*desk)->Hear(lab.Body("resolved"))->nothing, 1u);
  const auto stale = (*desk)->Hear(lab.Body("firing", std::chrono::minutes(16)));
  EXPECT_EQ(stale->nothing, 1u);
  EXPECT_THAT(stale->notes, SizeIs(1));
  EXPECT_THAT(stale->notes[0], HasSubstr("stale"));
  EXPECT_EQ((*desk)->Hear(lab.Body("firing", -std::chrono::hours(1)))->nothing, 1u);
  EXPECT_EQ((*desk)->Hear("{}").error().code, Code::kInvalid);
  EXPECT_TRUE((*desk)->Snapshot().episodes().empty());
  EXPECT_EQ(lab.Desk().error().code, Code::kConflict);
}

TEST(AlertDesk, WhatIsResolvedOrGrowsOldBeforeItBeginsIsClosed) {
  for (const bool resolved : {true, false}) {
    DeskLab lab(true);
    lab.Inject("xid_119", "node000/gpu1");
    auto desk = lab.Desk();
    ASSERT_TRUE((*desk)->Hear(lab.Body()).ok());
    if (resolved) {
      EXPECT_EQ((*desk)->Hear(lab.Body("resolved"))->resolved, 1u);
    } else {
      // The desk was down for that long: an old event is closed, not replayed.
      lab.clock.Advance(std::chrono::minutes(20));
    }
    ASSERT_TRUE(WorkAll(**desk).has_value());
    EXPECT_EQ(Only(**desk).end, resolved ? "resolved" : "stale");
    EXPECT_TRUE(ViewRuns(lab.files, lab.paths())->empty());
  }
}

TEST(AlertDesk, APlanThatNobodyApprovesLapses) {
  DeskLab lab(false);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  ASSERT_TRUE((*desk)->Hear(lab.Body()).ok());
  SilentProgress silent;
  ASSERT_TRUE((*desk)->Work("a-1", silent).has_value());
  lab.clock.Advance(std::chrono::hours(25));
  ASSERT_TRUE(WorkAll(**desk).has_value());
  EXPECT_THAT((std::vector<std::string>{"stale", "lapsed"}), ::testing::Contains(Only(**desk).end));
}

TEST(AlertDesk, AnotherGpuInThatPlaceIsLeftAlone) {
  DeskLab lab(true);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  const std::string other = R"(,"UUID":"GPU-00000000-dead")";
  ASSERT_TRUE((*desk)->Hear(lab.Body("firing", std::chrono::seconds(30), "beef", other)).ok());
  ASSERT_TRUE(WorkAll(**desk).has_value());
  EXPECT_EQ(Only(**desk).end, "refused");
  EXPECT_THAT(Only(**desk).why, HasSubstr("GPU-00000000-dead"));
}

TEST(AlertDesk, WhileOthersAreOutOfServiceItWaitsAndIsNotDropped) {
  DeskLab lab(true);
  lab.Inject("xid_119", "node000/gpu1");
  lab.Inject("unreachable", "node001");
  auto desk = lab.Desk();
  ASSERT_TRUE((*desk)->Hear(lab.Body()).ok());
  const Status full = WorkAll(**desk);
  ASSERT_FALSE(full.has_value());
  EXPECT_THAT(full.error().ToString(),
              HasSubstr("1 of 2 nodes are out of service already (node001)"));
  EXPECT_EQ(Only(**desk).stage, Stage::kHeard);
  EXPECT_EQ(lab.Intents("reset"), 0u);

  World world = lab.world();
  ASSERT_TRUE(LabHeal(world, kTestSite, "unreachable", "node001").ok());
  const Status worked = WorkAll(**desk);
  ASSERT_TRUE(worked.has_value()) << worked.error().ToString();
  EXPECT_EQ(Only(**desk).end, "done") << Only(**desk).why;
  EXPECT_EQ(lab.Intents("reset"), 1u);
}

TEST(AlertDesk, AStormOfOneMatterIsOneEpisode) {
  DeskLab lab(true);
  lab.Inject("xid_119", "node000/gpu1");
  auto desk = lab.Desk();
  for (int n = 0; n < 50; ++n) {
    ASSERT_TRUE(
        (*desk)->Hear(lab.Body("firing", std::chrono::seconds(n), fmt::format("{:04x}", n))).ok());
  }
  EXPECT_THAT((*desk)->Snapshot().episodes(), SizeIs(1));
}

// Every file call of the whole way is one at which the process dies, or one that fails; the default
// takes a sample of them.
class AtEachBoundary : public ::testing::TestWithParam<bool> {
 protected:
  static int Stride() { return std::getenv("MUSTER_NIGHTLY") != nullptr ? 3 : 29; }
};

TEST_P(AtEachBoundary, NothingIsLostAndNothingIsDoneTwice) {
  const bool dies = GetParam();
  int boundaries = 0;
  for (int call = 1; call < 100'000; call += Stride()) {
    SCOPED_TRACE(fmt::format("call {}", call));
    DeskLab lab(true);
    lab.Inject("xid_119", "node000/gpu1");
    FaultPlan plan(FaultKind::kFail, call, dies);
    FaultyFiles faulty(lab.files, plan);
    bool answered = false;
    {
      auto desk = lab.Desk(faulty);
      if (desk.ok()) {
        answered = (*desk)->Hear(lab.Body()).ok();
        (void)WorkAll(**desk);
      }
    }
    const bool reached = plan.reached();
    if (dies) lab.files.Crash();
    auto again = lab.Desk();
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    if (answered) {
      EXPECT_FALSE((*again)->Snapshot().episodes().empty()) << "heard, and lost";
    }
    // Alertmanager repeats what was not taken.
    ASSERT_TRUE((*again)->Hear(lab.Body()).ok());
    const Status worked = WorkAll(**again, 3);
    ASSERT_TRUE(worked.has_value()) << worked.error().ToString();
    const AlertEpisode episode = Only(**again);
    EXPECT_EQ(episode.stage, Stage::kClosed);
    const bool done = episode.end == "done";
    EXPECT_LE(lab.Intents("reset"), 1u);
    if (done) {
      EXPECT_EQ(lab.Intents("reset"), 1u) << episode.why;
    }
    EXPECT_EQ(lab.AtWork(), episode.end != "parked");
    // A look that fails is UNKNOWN: before the act nothing is done, after it the node stays out. A
    // kill leaves no such choice.
    const bool safe =
        episode.end == "skipped" || episode.end == "released" || episode.end == "parked";
    EXPECT_TRUE(done || (!dies && safe)) << episode.end << " " << episode.why;
    if (HasFailure()) return;
    if (!reached) break;
    ++boundaries;
  }
  EXPECT_GT(boundaries, 5);
}

INSTANTIATE_TEST_SUITE_P(Alerts, AtEachBoundary, ::testing::Values(true, false),
                         [](const auto& of) { return of.param ? "Killed" : "Failing"; });

// Alerts that came and went, one after another, each closed before the next.
void ComeAndGo(DeskLab& lab, AlertDesk& desk, size_t many) {
  SilentProgress silent;
  for (size_t n = 0; n < many; ++n) {
    lab.lab_start = lab.clock.Now();
    const std::string fingerprint = fmt::format("{:016x}", n);
    const auto heard = desk.Hear(lab.Body("firing", std::chrono::seconds(30), fingerprint));
    ASSERT_TRUE(heard.ok() && heard->opened == 1) << n;
    ASSERT_TRUE(desk.Hear(lab.Body("resolved", std::chrono::seconds(30), fingerprint)).ok());
    ASSERT_TRUE(desk.Work(desk.Due()->front(), silent).has_value());
  }
}

TEST(AlertDesk, WhatClosedLongAgoIsLeftOutAndTheNumbersGoOn) {
  DeskLab lab(false);
  auto desk = lab.Desk();
  ASSERT_TRUE(desk.ok());
  ComeAndGo(lab, **desk, AlertDesk::kForgetFrom);
  EXPECT_EQ(*(*desk)->Forget(), 0u) << "they closed just now";
  lab.clock.Advance(AlertDesk::kKeptFor + std::chrono::hours(1));
  // One of today stays, as do its dealings.
  lab.lab_start = lab.clock.Now();
  ASSERT_EQ((*desk)->Hear(lab.Body())->opened, 1u);
  const std::string path = AlertPaths(lab.paths()).Journal();
  const size_t before = lab.files.Read(path)->size();
  EXPECT_EQ(*(*desk)->Forget(), AlertDesk::kForgetFrom);
  EXPECT_LT(lab.files.Read(path)->size(), before / 100);
  EXPECT_EQ(lab.files.Read(path + ".before")->size(), before);
  EXPECT_EQ(*(*desk)->Forget(), 0u);
  const std::string last = fmt::format("a-{}", AlertDesk::kForgetFrom + 1);
  for (int opened = 0; opened < 2; ++opened) {
    const AlertBook book = (*desk)->Snapshot();
    EXPECT_EQ(book.forgotten(), AlertDesk::kForgetFrom);
    EXPECT_EQ(book.Find("a-1"), nullptr);
    ASSERT_NE(book.Find(last), nullptr);
    EXPECT_EQ(book.Find(last)->stage, opened == 0 ? Stage::kHeard : Stage::kPlanned);
    EXPECT_EQ((*desk)->Hear(lab.Body())->duplicate, 1u);
    ASSERT_TRUE(WorkAll(**desk).has_value());
    desk->reset();
    desk = lab.Desk();
    ASSERT_TRUE(desk.ok()) << desk.error().ToString();
  }
  // One of those that are forgotten, delivered again, is stale and nothing comes of it.
  lab.lab_start = lab.clock.Now() - AlertDesk::kKeptFor;
  EXPECT_EQ((*desk)->Hear(lab.Body("firing", {}, fmt::format("{:016x}", 1)))->nothing, 1u);
}

TEST(AlertDesk, AnAlertThatIsOpenKeepsWhatCameAfterIt) {
  DeskLab lab(false);
  auto desk = lab.Desk();
  ASSERT_TRUE(desk.ok());
  ASSERT_EQ((*desk)
                ->Hear(lab.Body("firing", std::chrono::seconds(30), "0123456789abcdef",
                                R"(,"other":"x")"))
                ->opened,
            1u);
  AlertBook book = (*desk)->Snapshot();
  const TimePoint later = lab.clock.Now() + AlertDesk::kKeptFor * 2;
  EXPECT_EQ(book.Forgettable(later, later), 0u);
}

TEST(AlertDesk, WhicheverCallFailsWhileForgettingNothingIsLost) {
  DeskLab made(false);
  {
    auto desk = made.Desk();
    ASSERT_TRUE(desk.ok());
    ComeAndGo(made, **desk, AlertDesk::kForgetFrom);
    made.lab_start = made.clock.Now() + AlertDesk::kKeptFor * 2;
  }
  const std::string path = AlertPaths(made.paths()).Journal();
  const std::string whole = made.files.Read(path).value();
  // The last calls are the removals of plans, one like another.
  for (int call = 1;; call += call < 25 ? 1 : 199) {
    SCOPED_TRACE(call);
    DeskLab lab(false);
    lab.files.Put(path, whole);
    lab.clock.Advance(AlertDesk::kKeptFor * 2);
    lab.lab_start = lab.clock.Now();
    FaultPlan plan(FaultKind::kFail, call, true);
    FaultyFiles dying(lab.files, plan);
    bool heard = false;
    {
      auto desk = lab.Desk(dying);
      if (desk.ok()) {
        (void)(*desk)->Forget();
        heard = (*desk)->Hear(lab.Body()).ok();
      }
    }
    lab.files.Crash();
    auto again = lab.Desk();
    ASSERT_TRUE(again.ok()) << again.error().ToString();
    const AlertBook book = (*again)->Snapshot();
    EXPECT_TRUE(book.forgotten() == 0 || book.forgotten() == AlertDesk::kForgetFrom);
    const size_t known = book.forgotten() + book.episodes().size();
    EXPECT_GE(known, AlertDesk::kForgetFrom + (heard ? 1 : 0));
    EXPECT_LE(known, AlertDesk::kForgetFrom + 1);
    if (!plan.reached()) break;
  }
}

}  // namespace
}  // namespace muster::testing
