// The runbooks of the catalogue in a lab, through the production probes and the use cases that the
// verbs call: each rehearsal as the catalogue says it ends; then with each precheck broken, each
// act refused, failing or lying, and the way back failing. The default takes a sample of the cases
// that are spoiled, MUSTER_NIGHTLY all of them.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/node_holds.h"
#include "app/runbooks.h"
#include "app/site_looker.h"
#include "app/testing/lab_site.h"
#include "app/testing/modelled_work.h"
#include "backend/lab/lab_actuator.h"
#include "base/strings.h"
#include "plan/templates.h"

namespace muster::testing {
namespace {

using engine::End;
using engine::EntryType;

const OpenOptions kRehearsalOpen{"", true};
constexpr const char* kNode = "node000";
constexpr const char* kSpec = "nodes=3,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400";
// A load generator with time on its hands: utime and stime are fields 14 and 15 of proc(5).
constexpr const char* kStat = "1 (muster) S 0 0 0 0 0 0 0 0 0 0 5 5 0 0 0 0 1 0 1 0 0\n";

// A lab with the fault of one rehearsal in it.
struct Stage : LabSite {
  Stage(const KnownRunbook& of, const Rehearsal& with) : known(of), rehearsal(with) {
    // Three nodes: one pair alone has nothing to be slower than.
    World w = world();
    const Status made =
        InitLab(w, kTestSite, "rehearsal", ParseClusterSpec(kSpec).value(), 5, true);
    if (!made.has_value()) problem = made.error().ToString();
    processes.Otherwise(
        [this](const Command& command) { return ModelledProgram(files, clock.Now(), command); });
    files.Put("/proc/self/stat", kStat);
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
  World Machine() { return {clock, files, processes, endpoint, random}; }
  Result<SiteContext> Open() { return OpenSite(kTestSite, Machine(), kRehearsalOpen); }
  void InjectHere(const std::string& fault) {
    std::string where = kNode;
    for (const LabFaultInfo& info : LabFaults()) {
      if (info.name == fault && info.on == "endpoint") where = "";
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

  // A check of the runbook as its run would look at it.
  engine::Looked Look(const Check& check) {
    SiteLooker looker(kTestSite, Machine(), kRehearsalOpen, "look", "");
    const SubjectKind kind = known.book.on;
    const Subject subject{kind, on};
    if (check.builtin == "jobs_none") {
      const auto jobs = Act().JobsOn(kNode);
      return {jobs.ok() && jobs->empty() ? Level::kPass : Level::kFail, "jobs", ""};
    }
    return looker.Look(check, subject, ValuesFor(subject, "", Inputs()));
  }
  // As the plan fills them in.
  std::map<std::string, std::string> Inputs() const {
    auto inputs = rehearsal.inputs;
    for (const Input& input : known.book.inputs) inputs.emplace(input.name, input.otherwise);
    return inputs;
  }

  const KnownRunbook& known;
  const Rehearsal& rehearsal;
  std::string on;
  ModelledEndpoint endpoint{files, clock, "/site/lab"};
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

Check OfCriterion(const std::string& code) {
  Check check;
  check.criteria = {code};
  return check;
}

bool Names(const Check& check, std::string_view code) {
  return std::find(check.criteria.begin(), check.criteria.end(), code) != check.criteria.end();
}

bool Holds(ActKind act) {
  return act == ActKind::kCordon || act == ActKind::kDrain || act == ActKind::kReturn;
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
    for (const std::string how : {"refuse", "fail", "lie", "harm"}) {
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
      const bool not_done = how == "refuse" || how == "fail";
      if (not_done) {
        EXPECT_FALSE(reached && applied) << Told(*outcome);
      }
      // Without a ladder that goes on, what could not be done is no success.
      if (not_done && reached && step.rung == Rung::kNone) {
        EXPECT_NE(outcome->state.targets[0].end, End::kDone) << Told(*outcome);
      }
    }
  }
}

// What the fault breaks is seen by the runbook's own checks before it, and by none of them after.
TEST_P(Rehearsed, WhatItMendsIsSeenBeforeAndGoneAfter) {
  bool mends = false;
  for (const Rehearsal& rehearsal : known_.book.rehearsals) {
    if (rehearsal.ends != "done" || rehearsal.fault.empty()) continue;
    mends = true;
    SCOPED_TRACE(known_.book.id + " with " + rehearsal.fault);
    Stage stage(known_, rehearsal);
    ASSERT_EQ(stage.problem, "");
    bool stands = known_.book.trigger.stands_while.empty();
    for (Check check : known_.book.trigger.stands_while) {
      check.wants_pass = true;
      stands = stands || stage.Look(check).level == Level::kFail;
    }
    EXPECT_TRUE(stands) << "nothing that the trigger asks fails";
    std::vector<Check> proofs;
    for (const StepSpec& step : known_.book.steps)
      proofs.insert(proofs.end(), step.verify.begin(), step.verify.end());
    // Setting time-slicing up and taking it away have one proof; gate 4 tells how many GPUs are
    // offered.
    if (rehearsal.fault == "time_slicing_left_on") proofs.push_back(OfCriterion("STK-011"));
    std::string failing;
    for (const Check& check : proofs) {
      if (stage.Look(check).level > Level::kWarn) failing += check.ToString() + "\n";
    }
    EXPECT_NE(failing, "") << "every proof passes with the fault in";
    const auto outcome = stage.Lead(rehearsal.inputs);
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    ASSERT_EQ(outcome->state.targets[0].end, End::kDone) << Told(*outcome);
    for (const Check& check : proofs) {
      const engine::Looked looked = stage.Look(check);
      EXPECT_LE(looked.level, Level::kWarn) << check.ToString() << ": " << looked.text;
    }
  }
  if (!mends) GTEST_SKIP() << known_.book.id << " mends no fault of the lab";
}

// Each act is done and leaves a GPU with an error, or the endpoint goes meanwhile: the proof fails,
// and what was done is taken back, or the node is kept out.
TEST_P(Rehearsed, AProofThatFailsIsTakenBackOrKeptOut) {
  const Rehearsal* good = Good();
  if (good == nullptr) GTEST_SKIP() << known_.book.id << " is not rehearsed to success";
  // Of an act that no proof would look at for errors it is seen that it mended nothing.
  bool asks_endpoint = false, sees_errors = false;
  for (const StepSpec& step : known_.book.steps) {
    for (const Check& check : step.verify) {
      asks_endpoint = asks_endpoint || check.gate == 8;
      sees_errors = sees_errors || check.gate == 3 || Names(check, "NOD-020");
    }
  }
  const RollbackSpec& rollback = known_.book.rollback;
  const bool by_act = rollback.how == RollbackSpec::How::kAct;
  for (const bool spare_way_back : {false, true}) {
    if (spare_way_back && !by_act) continue;
    SCOPED_TRACE(spare_way_back ? "the way back is well" : "every act harms");
    Stage stage(known_, *good);
    for (const StepSpec& step : known_.book.steps) {
      if (!TraitsOf(step.act).effect || Holds(step.act)) continue;
      if (spare_way_back && step.act == rollback.step.act) continue;
      const char* how = sees_errors ? "harm" : "lie";
      ASSERT_TRUE(stage.Act().Spoil(kNode, step.act, how).has_value());
    }
    if (asks_endpoint) stage.InjectHere("endpoint_down");
    const auto outcome = stage.Lead();
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    HoldsTogether(stage, *outcome);
    const End end = outcome->state.targets[0].end;
    EXPECT_TRUE(end == End::kParked || end == End::kRolledBack ||
                (by_act && !spare_way_back && end == End::kNeedsPerson))
        << ToString(end) << Told(*outcome);
    EXPECT_EQ(outcome->exit_code, end == End::kNeedsPerson ? 8 : 7) << Told(*outcome);
    if (spare_way_back) {
      EXPECT_EQ(end, End::kRolledBack) << Told(*outcome);
    }
    EXPECT_THAT(outcome->entries,
                ::testing::Contains(::testing::Truly([](const engine::Entry& entry) {
                  return entry.type == EntryType::kVerified && entry.level != Level::kPass;
                })))
        << Told(*outcome);
  }
}

TEST_P(Rehearsed, AWayBackThatFailsStopsForAPerson) {
  const Rehearsal* good = Good();
  const RollbackSpec& rollback = known_.book.rollback;
  if (good == nullptr || rollback.how == RollbackSpec::How::kStay)
    GTEST_SKIP() << known_.book.id << " has no way back that could fail, or is not rehearsed";
  // A GPU goes for good while it is acted on: neither the proof nor that of the way back passes.
  // Or: the act that is the way back fails itself.
  for (const bool act_fails : {false, true}) {
    SCOPED_TRACE(act_fails ? "its act fails" : "a GPU is gone");
    if (act_fails && rollback.how != RollbackSpec::How::kAct) continue;
    Stage stage(known_, *good);
    for (const StepSpec& step : known_.book.steps) {
      if (TraitsOf(step.act).effect && !Holds(step.act)) {
        ASSERT_TRUE(stage.Act().Spoil(kNode, step.act, act_fails ? "harm" : "break").has_value());
      }
    }
    if (act_fails) {
      ASSERT_TRUE(stage.Act().Spoil(kNode, rollback.step.act, "fail").has_value());
    }
    const auto outcome = stage.Lead();
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    HoldsTogether(stage, *outcome);
    EXPECT_EQ(outcome->state.targets[0].end, End::kNeedsPerson) << Told(*outcome);
    EXPECT_EQ(outcome->exit_code, 8);
    // What was reached and why stands in the run, for the person who comes.
    EXPECT_THAT(outcome->state.targets[0].why, ::testing::HasSubstr("the way back failed"));
    EXPECT_NE(stage.AtWork(), outcome->state.targets[0].held);
  }
}

TEST_P(Rehearsed, APrecheckThatDoesNotPassLeavesTheNodeAlone) {
  const Rehearsal* good = Good();
  if (good == nullptr) GTEST_SKIP() << known_.book.id << " is not rehearsed";
  // A fault of the lab that breaks a criterion which prechecks ask for.
  static const std::map<std::string, std::string> kBreaks = {
      {"NOD-001", "unreachable"},         {"NOD-010", "gpu_missing"},
      {"NOD-015", "mig_left_on"},         {"NOD-020", "xid_48"},
      {"NOD-021", "remap_failed"},        {"NOD-025", "power_brake"},
      {"NOD-006", "fabric_manager_down"}, {"NOD-024", "thermal"},
      {"NOD-011", "gpu_missing"},         {"NOD-050", "hca_missing"},
      {"NOD-029", "fabric_manager_down"}};
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
    } else if (check.builtin == "lights_out" && good->fault != "bmc_silent") {
      stage.InjectHere("bmc_silent");
      how = "bmc_silent";
    } else if (check.form == Check::Form::kCommand && check.argv[0] == "test") {
      stage.InjectHere("checkpoint_cut_off");
      how = "checkpoint_cut_off";
    } else if (check.form == Check::Form::kCommand && check.argv[0] == "modinfo") {
      stage.InjectHere("kernel_module_missing");
      how = "kernel_module_missing";
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
    if (how.empty())
      std::printf("%s: no fault of the lab breaks precheck %s\n", known_.book.id.c_str(),
                  check.id.c_str());
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
