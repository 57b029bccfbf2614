// Every runbook of the catalogue, led to its end through each case: it works; each precheck fails;
// each step fails; each proof fails; the way back fails; and the plug is pulled at every boundary
// of it.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "engine/testing/sim_lead.h"

namespace muster::engine::testing {
namespace {

class EveryRunbook : public ::testing::TestWithParam<size_t> {
 protected:
  const SimBook& Book() const { return SimBooks()[GetParam()]; }
};

bool Out(End end) {
  return end == End::kParked || end == End::kInDoubt || end == End::kNeedsPerson;
}

// Whatever happened, nothing is done twice, and a node is either at work or with somebody who
// knows.
void HoldsTogether(const Led& led, const Runbook& book) {
  EXPECT_TRUE(led.broken.empty()) << Join(led.broken, "\n");
  ASSERT_TRUE(led.closed) << led.why;
  for (const auto& [token, times] : led.landed) EXPECT_EQ(times, 1) << token;
  for (size_t i = 0; i < led.ends.size(); ++i) {
    if (book.Isolates()) {
      EXPECT_EQ(led.schedulable[i], !Out(led.ends[i])) << ToString(led.ends[i]) << ": " << led.why;
    } else {
      EXPECT_TRUE(led.schedulable[i]);
    }
  }
}

TEST_P(EveryRunbook, Works) {
  const Led led = Lead(Book(), {});
  HoldsTogether(led, Book().book);
  EXPECT_THAT(led.ends, ::testing::Each(End::kDone)) << led.why;
  std::printf("%s: %zu intents, %zu records, %zu fsyncs\n", Book().book.id.c_str(), led.intents,
              led.entries.size(), led.syncs);
}

TEST_P(EveryRunbook, DoesNothingWhenAPrecheckFailsOrIsUnknown) {
  for (const Check& precheck : Book().book.prechecks) {
    for (const Level level : {Level::kFail, Level::kUnknown}) {
      LeadOptions options;
      options.script = [&](SimSite& site, const SimBook&) {
        site.cluster.look_hook = [&, level](const Check& check, const Subject&) {
          return check.id == precheck.id ? std::optional(Looked{level, "scripted", ""})
                                         : std::nullopt;
        };
        // What the engine looks at itself.
        if (precheck.builtin == "not_foreign") {
          if (level == Level::kFail) site.cluster.HumanTakes(LeadNode(site, 0));
        }
      };
      if (precheck.builtin == "not_foreign" && level == Level::kUnknown) continue;
      const Led led = Lead(Book(), options);
      EXPECT_TRUE(led.broken.empty());
      ASSERT_EQ(led.ends.size(), 1u);
      EXPECT_EQ(led.ends[0], End::kSkipped) << precheck.id << ": " << led.why;
      EXPECT_EQ(led.intents, 0u) << precheck.id;
    }
  }
}

TEST_P(EveryRunbook, DoesNothingWhenTheTriggerNoLongerStands) {
  if (Book().book.trigger.stands_while.empty()) GTEST_SKIP() << "it has no trigger to look at";
  LeadOptions options;
  options.script = [](SimSite& site, const SimBook&) {
    site.cluster.look_hook = [](const Check& check, const Subject&) -> std::optional<Looked> {
      if (!check.id.empty()) return std::nullopt;
      return Looked{Level::kPass, "it went away", "e"};
    };
  };
  const Led led = Lead(Book(), options);
  ASSERT_EQ(led.ends.size(), 1u);
  EXPECT_EQ(led.ends[0], End::kStale) << led.why;
  EXPECT_EQ(led.intents, 0u);
}

TEST_P(EveryRunbook, EachStepThatIsNotAppliedLeadsToASafeEnd) {
  for (const StepSpec& step : Book().book.steps) {
    if (!TraitsOf(step.act).effect) continue;
    for (const Did did : {Did::kRefused, Did::kFailed, Did::kUnknown}) {
      LeadOptions options;
      options.script = [&](SimSite& site, const SimBook&) {
        site.cluster.do_hook = [&, did](const Order& order) {
          return order.step == step.id ? std::optional(DidResult{did, "scripted"}) : std::nullopt;
        };
      };
      const Led led = Lead(Book(), options);
      SCOPED_TRACE(step.id + " " + std::string(ToString(did)));
      EXPECT_TRUE(led.broken.empty()) << Join(led.broken, "\n");
      ASSERT_TRUE(led.closed) << led.why;
      for (const auto& [token, times] : led.landed) EXPECT_EQ(times, 1) << token;
      const End end = led.ends.at(0);
      // A higher rung may mend it all the same; what is not mended is never called so.
      if (end != End::kDone) {
        EXPECT_EQ(led.schedulable[0], !Out(end) || !Book().book.Isolates()) << ToString(end);
      } else {
        EXPECT_TRUE(step.rung != Rung::kNone || step.act == ActKind::kDrain);
      }
    }
  }
}

TEST_P(EveryRunbook, EachStepInDoubtStopsForAPersonWhenItIsDestructive) {
  for (const StepSpec& step : Book().book.steps) {
    const ActTraits& traits = TraitsOf(step.act);
    if (!traits.destructive) continue;
    LeadOptions options;
    options.script = [&](SimSite& site, const SimBook&) {
      // What the rungs below it leave is not proven, so it is reached.
      std::set<std::string> fail;
      for (const StepSpec& other : Book().book.steps) {
        if (other.rung != Rung::kNone && other.rung < step.rung) fail.merge(TextsOf(other.verify));
      }
      StandingTrigger(site, Book(), fail);
      site.cluster.probe_hook = [&](const Order& order) {
        return order.step == step.id ? std::optional(ProbeResult{Happened::kUnknown, "scripted"})
                                     : std::nullopt;
      };
    };
    const Led led = Lead(Book(), options);
    SCOPED_TRACE(step.id);
    HoldsTogether(led, Book().book);
    EXPECT_EQ(led.ends.at(0), End::kInDoubt) << led.why;
    // Nothing was done after it.
    EXPECT_EQ(led.entries.back().type, EntryType::kClosed);
    size_t after = 0;
    bool seen = false;
    for (const Entry& entry : led.entries) {
      if (seen && entry.type == EntryType::kIntent) ++after;
      seen = seen || (entry.type == EntryType::kIntent && entry.step == step.id);
    }
    EXPECT_EQ(after, 0u);
  }
}

// The last proof before the return, or of a runbook without one the last of all.
const StepSpec* ProofOf(const Runbook& book) {
  const StepSpec* proof = nullptr;
  for (const StepSpec& step : book.steps) {
    if (!step.verify.empty()) proof = &step;
  }
  return proof;
}

// It fails until the way back is gone.
auto ProofFails(bool for_ever) {
  return [for_ever](SimSite& site, const SimBook& book) {
    const StepSpec* proof = ProofOf(book.book);
    std::set<std::string> fail = TextsOf(proof->verify);
    if (for_ever) {
      fail.merge(TextsOf(book.book.rollback.step.verify));
      fail.merge(TextsOf(book.book.rollback.verify));
    }
    auto back = std::make_shared<bool>(false);
    StandingTrigger(site, book, fail, [for_ever, back] { return for_ever || !*back; });
    const std::string rollback = book.book.rollback.step.id;
    site.cluster.do_hook = [back, rollback](const Order& order) -> std::optional<DidResult> {
      if (order.step == rollback || StartsWith(order.step, "undo-")) *back = true;
      return std::nullopt;
    };
  };
}

TEST_P(EveryRunbook, AProofThatFailsIsTakenBackOrParked) {
  LeadOptions options;
  options.script = ProofFails(false);
  const Led led = Lead(Book(), options);
  HoldsTogether(led, Book().book);
  const RollbackSpec& rollback = Book().book.rollback;
  const bool back =
      rollback.how != RollbackSpec::How::kStay && (rollback.then_return || !Book().book.Isolates());
  if (Book().book.rounds == 1) {
    EXPECT_EQ(led.ends.at(0), back ? End::kRolledBack : End::kParked) << led.why;
  } else {
    // The second round finds it well, or ends as the way back says.
    EXPECT_TRUE(led.ends.at(0) == End::kDone ||
                led.ends.at(0) == (back ? End::kRolledBack : End::kParked))
        << led.why;
  }
}

TEST_P(EveryRunbook, AWayBackThatFailsStopsForAPerson) {
  if (Book().book.rollback.how == RollbackSpec::How::kStay) GTEST_SKIP() << "it stays isolated";
  LeadOptions options;
  options.script = ProofFails(true);
  const Led led = Lead(Book(), options);
  HoldsTogether(led, Book().book);
  EXPECT_EQ(led.ends.at(0), End::kNeedsPerson) << led.why;
}

// The matrix: at every record, before and after it reached the disk, and after every single call.
TEST_P(EveryRunbook, StoppedAtEveryBoundaryItEndsTheSameOrStopsForAPerson) {
  // It works; its first rung does not; its proof fails and the way back is gone.
  std::vector<std::function<void(SimSite&, const SimBook&)>> scripts = {nullptr, ProofFails(false)};
  for (const StepSpec& step : Book().book.steps) {
    if (step.rung == Rung::kNone) continue;
    scripts.push_back([&step](SimSite& site, const SimBook& book) {
      StandingTrigger(site, book, TextsOf(step.verify));
    });
    break;
  }
  size_t all = 0, for_a_person = 0;
  // How many of the records that were not synced are there after the crash.
  const bool nightly = std::getenv("MUSTER_NIGHTLY") != nullptr;
  const std::vector<size_t> survivors =
      nightly ? std::vector<size_t>{0, 1, 2, 3, 4, 6, 9} : std::vector<size_t>{0, 9};
  for (const auto& script : scripts) {
    LeadOptions options;
    options.script = script;
    const Led whole = Lead(Book(), options);
    ASSERT_TRUE(whole.closed) << whole.why;
    size_t cases = 0, persons = 0;
    const auto same = [&](const LeadOptions& with) {
      const Led led = Lead(Book(), with);
      HoldsTogether(led, Book().book);
      ++cases;
      const bool person = !led.ends.empty() && Out(led.ends[0]);
      persons += person;
      EXPECT_TRUE(led == whole || person)
          << "write " << with.crash_at_write << " boundary " << with.crash_at_boundary << ": "
          << (led.ends.empty() ? "" : ToString(led.ends[0])) << " instead of "
          << ToString(whole.ends[0]) << " " << led.why;
    };
    for (size_t n = 1; n <= whole.writes; ++n) {
      for (const LogCrash how : {LogCrash::kBefore, LogCrash::kAfter}) {
        for (const size_t survives : survivors) {
          LeadOptions with = options;
          with.crash_at_write = n;
          with.crash_how = how;
          with.survives = survives;
          same(with);
        }
      }
    }
    for (size_t n = 1; n <= whole.boundaries; ++n) {
      LeadOptions with = options;
      with.crash_at_boundary = n;
      same(with);
    }
    if (!Out(whole.ends[0])) {
      EXPECT_EQ(persons, 0u) << "of " << cases;
    }
    all += cases;
    for_a_person += persons;
  }
  std::printf("%s: stopped at %zu boundaries and resumed, %zu end with a person\n",
              Book().book.id.c_str(), all, for_a_person);
}

std::string BookName(const ::testing::TestParamInfo<size_t>& info) {
  return SimBooks()[info.param].book.id;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryRunbook, ::testing::Range(size_t{0}, SimBooks().size()),
                         BookName);

TEST(Runbooks, AllOfTheCatalogueAreLed) {
  const auto books = LoadEmbeddedRunbooks();
  ASSERT_TRUE(books.ok());
  EXPECT_EQ(books->size() + 2, SimBooks().size());  // and a site's own
}

}  // namespace
}  // namespace muster::engine::testing
