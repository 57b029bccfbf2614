// The runbooks of the catalogue in a lab, through the production probes and the use cases that the
// verbs call: each rehearsal as the catalogue says it ends; then with each precheck broken, each
// act refused, failing or lying, and the way back failing. The default takes a sample of the cases
// that are spoiled, MUSTER_NIGHTLY all of them.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/node_holds.h"
#include "app/runbooks.h"
#include "app/testing/lab_site.h"
#include "backend/lab/lab_actuator.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using engine::End;
using engine::EntryType;

const OpenOptions kRehearsalOpen{"", true};
constexpr const char* kNode = "node000";

// A lab with the fault of one rehearsal in it.
struct Stage : LabSite {
  Stage(const KnownRunbook& of, const Rehearsal& with) : known(of), rehearsal(with) {
    on = known.book.on == SubjectKind::kGpu ? "node000/gpu1" : kNode;
    if (!rehearsal.fault.empty()) InjectHere(rehearsal.fault);
    // A job for the runbooks that stop or place one anew.
    if (const auto job = rehearsal.inputs.find("job"); job != rehearsal.inputs.end()) {
      RunningJob running{job->second, "team-a", {kNode}, 1, clock.Now() - std::chrono::hours(1),
                         std::nullopt};
      const Status started = Act().StartJob(running, std::chrono::minutes(10));
      if (!started.has_value()) problem = started.error().ToString();
    }
  }
  void InjectHere(const std::string& fault) {
    std::string where = kNode;
    for (const LabFaultInfo& info : LabFaults()) {
      if (info.name == fault && info.on == "gpu") where = "node000/gpu1";
      if (info.name == fault && info.on == "hca") where = "node000/mlx5_0";
    }
    Inject(fault, where);
  }
  lab::LabActuator Act() { return {world(), "/site/lab"}; }
  Result<RunOutcome> Lead(std::map<std::string, std::string> inputs) {
    TRY(SiteContext site, Open());
    PlanOptions options;
    options.on = {on};
    options.inputs = std::move(inputs);
    options.by = "tester@here";
    TRY(const Plan plan, PlanRunbook(site, known, options, kRehearsalOpen));
    SilentProgress silent;
    return RunPlan(site, plan, {.by = "tester@here", .approve = true, .open = kRehearsalOpen},
                   silent);
  }
  Result<RunOutcome> Lead() { return Lead(rehearsal.inputs); }
  bool AtWork() {
    const auto hold = Act().ReadHold(kNode);
    return hold.ok() && hold->schedulable;
  }

  const KnownRunbook& known;
  const Rehearsal& rehearsal;
  std::string on;
};

std::string Told(const RunOutcome& outcome) {
  std::string text = outcome.blocked;
  for (const auto& target : outcome.state.targets)
    text += fmt::format(" {}: {}", ToString(target.end), target.why);
  return text;
}

bool StaysOut(End end) {
  return end == End::kParked || end == End::kInDoubt || end == End::kNeedsPerson;
}

// Whatever was spoiled: it ends, nothing is done twice, and a node is at work or kept out by
// somebody who is named.
void HoldsTogether(Stage& stage, const RunOutcome& outcome) {
  const std::string told = Told(outcome);
  if (!outcome.state.closed) {
    // A drain whose jobs do not go asks whether to force it.
    EXPECT_TRUE(Contains(outcome.blocked, "a person must say")) << told;
    return;
  }
  std::map<std::string, int> tokens;
  for (const engine::Entry& entry : outcome.entries) {
    if (entry.type == EntryType::kIntent) ++tokens[entry.token];
  }
  for (const auto& [token, times] : tokens) EXPECT_EQ(times, 1) << token;
  const End end = outcome.state.targets[0].end;
  if (!stage.known.book.Isolates()) return;
  // What cannot be cordoned or returned is a person's.
  EXPECT_EQ(stage.AtWork(), !outcome.state.targets[0].held) << told;
  if (StaysOut(end) && outcome.state.targets[0].held) {
    EXPECT_FALSE(stage.AtWork()) << told;
  }
}

std::vector<KnownRunbook> Books() {
  static const std::vector<KnownRunbook> books = [] {
    LabSite lab;
    return KnownRunbooks(lab.files, "").value();
  }();
  return books;
}

bool Nightly() { return std::getenv("MUSTER_NIGHTLY") != nullptr; }

class Rehearsed : public ::testing::TestWithParam<size_t> {
 protected:
  Rehearsed() : known_(Books()[GetParam()]) {}
  // Of the spoiled cases the default takes some: another for each runbook.
  bool Taken() { return Nightly() || (case_++ + GetParam()) % 4 == 0; }
  const Rehearsal* Good() const {
    for (const Rehearsal& rehearsal : known_.book.rehearsals) {
      if (rehearsal.ends == "done") return &rehearsal;
    }
    return nullptr;
  }

  const KnownRunbook known_;
  size_t case_ = 0;
};

TEST_P(Rehearsed, EndsAsTheCatalogueSays) {
  if (known_.book.rehearsals.empty()) GTEST_SKIP() << known_.book.id << " is not rehearsed";
  for (const Rehearsal& rehearsal : known_.book.rehearsals) {
    SCOPED_TRACE(known_.book.id + " with " + rehearsal.fault);
    Stage stage(known_, rehearsal);
    ASSERT_EQ(stage.problem, "");
    const auto outcome = stage.Lead();
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    EXPECT_EQ(ToString(outcome->state.targets[0].end), rehearsal.ends) << Told(*outcome);
    HoldsTogether(stage, *outcome);
  }
}

TEST_P(Rehearsed, AnActThatGoesWrongIsSeenAndNothingIsPretended) {
  const Rehearsal* good = Good();
  if (good == nullptr) GTEST_SKIP() << known_.book.id << " is not rehearsed";
  for (const StepSpec& step : known_.book.steps) {
    if (!TraitsOf(step.act).effect) continue;
    for (const std::string how : {"refuse", "fail", "lie"}) {
      if (!Taken()) continue;
      SCOPED_TRACE(fmt::format("{}: {} of step {}", known_.book.id, how, step.id));
      Stage stage(known_, *good);
      ASSERT_TRUE(stage.Act().Spoil(kNode, step.act, how).has_value());
      const auto outcome = stage.Lead();
      ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
      HoldsTogether(stage, *outcome);
      bool reached = false, applied = false;
      for (const engine::Entry& entry : outcome->entries) {
        if (entry.step != step.id) continue;
        reached = reached || entry.type == EntryType::kIntent;
        applied = applied ||
                  (entry.type == EntryType::kOutcome && entry.outcome == engine::Outcome::kDone);
      }
      // No job is in the way: a drain that was refused has nothing left to do, and that is seen.
      if (step.act == ActKind::kDrain) continue;
      if (how != "lie") {
        EXPECT_FALSE(reached && applied) << Told(*outcome);
      }
      // Without a ladder that goes on, what could not be done is no success.
      if (how != "lie" && reached && step.rung == Rung::kNone) {
        EXPECT_NE(outcome->state.targets[0].end, End::kDone) << Told(*outcome);
      }
    }
  }
}

TEST_P(Rehearsed, AWayBackThatFailsStopsForAPerson) {
  const Rehearsal* good = Good();
  const RollbackSpec& rollback = known_.book.rollback;
  if (good == nullptr || rollback.how == RollbackSpec::How::kStay)
    GTEST_SKIP() << known_.book.id << " has no way back that could fail, or is not rehearsed";
  // Every act with an effect lies, beside those that hold the node: nothing is mended, the proof
  // fails, and so does what should take it back.
  Stage stage(known_, *good);
  for (const StepSpec& step : known_.book.steps) {
    const bool holds =
        step.act == ActKind::kCordon || step.act == ActKind::kDrain || step.act == ActKind::kReturn;
    if (TraitsOf(step.act).effect && !holds) {
      ASSERT_TRUE(stage.Act().Spoil(kNode, step.act, "lie").has_value());
    }
    if (step.undo && TraitsOf(*step.undo).effect && *step.undo != step.act &&
        *step.undo != ActKind::kReturn) {
      ASSERT_TRUE(stage.Act().Spoil(kNode, *step.undo, "fail").has_value());
    }
  }
  if (rollback.how == RollbackSpec::How::kAct) {
    ASSERT_TRUE(stage.Act().Spoil(kNode, rollback.step.act, "fail").has_value());
  }
  const auto outcome = stage.Lead();
  ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
  HoldsTogether(stage, *outcome);
  const End end = outcome->state.targets[0].end;
  if (good->fault.empty() && end == End::kDone)
    GTEST_SKIP() << "nothing in the lab would show that " << known_.book.id << " did nothing";
  EXPECT_NE(end, End::kDone) << Told(*outcome);
  if (end == End::kNeedsPerson) {
    EXPECT_EQ(outcome->exit_code, 8);
  }
}

TEST_P(Rehearsed, APrecheckThatDoesNotPassLeavesTheNodeAlone) {
  const Rehearsal* good = Good();
  if (good == nullptr) GTEST_SKIP() << known_.book.id << " is not rehearsed";
  // A fault of the lab that breaks a criterion which prechecks ask for.
  static const std::map<std::string, std::string> kBreaks = {
      {"NOD-001", "unreachable"},        {"NOD-010", "gpu_missing"},
      {"NOD-015", "mig_left_on"},        {"NOD-020", "xid_48"},
      {"NOD-021", "remap_failed"},       {"NOD-025", "power_brake"},
      {"NOD-006", "fabric_manager_down"}};
  for (const Check& check : known_.book.prechecks) {
    Stage stage(known_, *good);
    auto inputs = good->inputs;
    std::string how;
    if (check.builtin == "not_foreign") {
      Hold mine;
      mine.schedulable = false;
      mine.note = "mine";
      ASSERT_TRUE(stage.Act().SetHold(kNode, mine).has_value());
      how = "a person holds it";
    } else if (check.form == Check::Form::kCriteria) {
      for (const std::string& code : check.criteria) {
        const auto fault = kBreaks.find(code);
        // What the runbook repairs cannot be what hinders it.
        if (fault == kBreaks.end() || fault->second == good->fault || !how.empty()) continue;
        stage.InjectHere(fault->second);
        how = fault->second;
      }
    } else if (check.form == Check::Form::kFact && inputs.contains("driver") &&
               known_.book.id != "R1") {
      inputs["driver"] = "1.2.3";
      how = "another version";
    }
    if (how.empty() || !Taken()) continue;
    SCOPED_TRACE(fmt::format("{}: precheck {}: {}", known_.book.id, check.id, how));
    ASSERT_EQ(stage.problem, "");
    const auto outcome = stage.Lead(inputs);
    if (!outcome.ok()) {
      // The plan itself says no.
      EXPECT_TRUE(outcome.error().code == Code::kRefused ||
                  outcome.error().code == Code::kUnavailable)
          << outcome.error().ToString();
      continue;
    }
    EXPECT_NE(outcome->state.targets[0].end, End::kDone) << Told(*outcome);
    for (const engine::Entry& entry : outcome->entries)
      EXPECT_NE(entry.type, EntryType::kIntent) << Told(*outcome);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Rehearsed, ::testing::Range<size_t>(0, Books().size()),
                         [](const auto& of) { return Books()[of.param].book.id; });

}  // namespace
}  // namespace muster::testing
