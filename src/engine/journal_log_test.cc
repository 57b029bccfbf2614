#include "engine/journal_log.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/file_locks.h"
#include "engine/program.h"
#include "engine/reconcile.h"
#include "engine/testing/sim_lead.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"

namespace muster::engine {
namespace {

using muster::testing::FakeClock;
using muster::testing::MemoryFiles;
using ::testing::HasSubstr;

constexpr const char* kPath = "/runs/r/journal";

// The journal of a whole run, as the engine writes it.
std::vector<Entry> SampleEntries(size_t book) {
  return testing::Lead(testing::SimBooks()[book], {}).entries;
}

void WriteAll(MemoryFiles& files, const std::vector<Entry>& entries) {
  auto log = JournalLog::Open(files, kPath, "test");
  ASSERT_TRUE(log.ok()) << log.error().ToString();
  for (const Entry& entry : entries)
    ASSERT_TRUE((*log)->Write(entry, Log::Need::kDurable).has_value());
}

TEST(JournalLog, ARunComesBackAsItWas) {
  for (size_t book = 0; book < testing::SimBooks().size(); ++book) {
    MemoryFiles files;
    const auto entries = SampleEntries(book);
    WriteAll(files, entries);
    const auto stored = ReadRun(files, kPath);
    ASSERT_TRUE(stored.ok()) << stored.error().ToString();
    ASSERT_EQ(stored->entries.size(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(EncodeEntry(stored->entries[i]), EncodeEntry(entries[i]));
      EXPECT_EQ(stored->entries[i].type, entries[i].type);
    }
    EXPECT_TRUE(stored->state.closed);
  }
}

// Every length of the file: a clean beginning of the run, with a note where something was cut.
TEST(JournalLog, EveryTruncationIsABeginningOfTheRun) {
  MemoryFiles files;
  const auto entries = SampleEntries(0);
  WriteAll(files, entries);
  const std::string whole = files.Read(kPath).value();
  // The plan is one long record; inside it a few lengths stand for all.
  const size_t step = std::getenv("MUSTER_NIGHTLY") != nullptr ? 1 : 7;
  for (size_t cut = 0; cut < whole.size(); cut += step) {
    files.Put(kPath, whole.substr(0, cut));
    const auto stored = ReadRun(files, kPath);
    ASSERT_TRUE(stored.ok()) << cut << ": " << stored.error().ToString();
    ASSERT_LE(stored->entries.size(), entries.size());
    for (size_t i = 1; i < stored->entries.size(); ++i)
      ASSERT_EQ(EncodeEntry(stored->entries[i]), EncodeEntry(entries[i])) << cut;
  }
}

// Every bit: refused with the byte, or read as a beginning; never another history.
TEST(JournalLog, EveryFlippedBitIsRefusedOrACleanBeginning) {
  MemoryFiles files;
  const auto entries = SampleEntries(0);
  WriteAll(files, entries);
  const std::string whole = files.Read(kPath).value();
  const size_t step = std::getenv("MUSTER_NIGHTLY") != nullptr ? 1 : 61;
  size_t refused = 0, cut = 0;
  for (size_t bit = 0; bit < whole.size() * 8; bit += step) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    files.Put(kPath, flipped);
    const auto stored = ReadRun(files, kPath);
    if (!stored.ok()) {
      ++refused;
      ASSERT_THAT(stored.error().ToString(), HasSubstr("byte")) << bit;
      continue;
    }
    ++cut;
    ASSERT_LT(stored->entries.size(), entries.size()) << bit;
    ASSERT_FALSE(stored->note.empty()) << bit;
    for (size_t i = 1; i < stored->entries.size(); ++i)
      ASSERT_EQ(EncodeEntry(stored->entries[i]), EncodeEntry(entries[i])) << bit;
  }
  EXPECT_GT(refused, 0u);
  std::printf("%zu bits refused, %zu read as a beginning\n", refused, cut);
}

TEST(JournalLog, OneEngineAtATime) {
  MemoryFiles files;
  const auto first = JournalLog::Open(files, kPath, "first");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(JournalLog::Open(files, kPath, "second").error().code, Code::kConflict);
}

TEST(JournalLog, WithoutRoomForOutcomesNothingIsBegun) {
  MemoryFiles files;
  files.SetCapacity(1000);
  EXPECT_FALSE(JournalLog::Open(files, kPath, "test").ok());
}

TEST(RunState, ARecordThatCannotFollowIsCorruption) {
  RunState state;
  Entry entry;
  entry.type = EntryType::kIntent;
  entry.target = 0;
  EXPECT_EQ(state.Apply(entry).error().code, Code::kCorrupt);  // not open
  Entry open;
  open.type = EntryType::kOpen;
  open.attempt = 1;
  ASSERT_TRUE(state.Apply(open).has_value());
  EXPECT_FALSE(state.Apply(open).has_value());
  ASSERT_TRUE(state.Apply(entry).has_value());
  EXPECT_FALSE(state.Apply(entry).has_value());  // another intent is open
  entry.target = 7;
  EXPECT_FALSE(state.Apply(entry).has_value());
  EXPECT_FALSE(DecodeEntry(99, "{}").ok());
  EXPECT_FALSE(DecodeEntry(1, "{").ok());
}

TEST(RunState, AWordIsGoodForItsStepAndItsTime) {
  RunState state;
  const TimePoint now = ParseTime("2026-11-21T20:00:00Z").value();
  state.approvals = {{"*", "ada", now, now + std::chrono::hours(4)}};
  EXPECT_TRUE(state.Approved("reboot", now));
  EXPECT_FALSE(state.Approved("reboot", now + std::chrono::hours(4)));
  // Being asked later, whether to force it, is another question.
  EXPECT_FALSE(state.Approved("drain", now, now + std::chrono::minutes(1)));
  state.approvals.push_back(
      {"drain", "ada", now + std::chrono::minutes(2), now + std::chrono::hours(4)});
  EXPECT_TRUE(state.Approved("drain", now, now + std::chrono::minutes(1)));
}

class LocksTest : public ::testing::Test {
 protected:
  FileLocks Locks() {
    return {files_, clock_, "/runs/locks.json",
            [this](const std::string& run) {
              const auto it = standing_.find(run);
              return it == standing_.end() ? Standing::kUnknown : it->second;
            },
            [this](const std::string& node, const std::string&) { return marked_ == node; }};
  }
  MemoryFiles files_;
  FakeClock clock_;
  std::map<std::string, Standing> standing_ = {{"a", Standing::kLive}, {"b", Standing::kLive}};
  std::string marked_;
};

TEST_F(LocksTest, ANodeIsOneRunsAndTheFenceOnlyGrows) {
  FileLocks locks = Locks();
  const auto first = locks.Take("a", "n1", {{"node/n1", 1}, {"rack/r1", 1}});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(locks.Take("b", "n1", {{"node/n1", 1}}).error().code, Code::kConflict);
  EXPECT_EQ(locks.Take("b", "n2", {{"rack/r1", 1}}).error().code, Code::kConflict);
  const auto again = locks.Take("a", "n1", {{"node/n1", 1}});
  EXPECT_GT(*again, *first);
  ASSERT_TRUE(locks.Release("a", "n1").has_value());
  const auto other = locks.Take("b", "n1", {{"node/n1", 1}});
  EXPECT_GT(*other, *again);
}

TEST_F(LocksTest, WhatIsNobodysIsReclaimedUnlessTheNodeBearsItsMark) {
  FileLocks locks = Locks();
  ASSERT_TRUE(locks.Take("a", "n1", {{"node/n1", 1}}).ok());
  standing_["a"] = Standing::kClosed;
  marked_ = "n1";
  EXPECT_FALSE(locks.Take("b", "n1", {{"node/n1", 1}}).ok());
  marked_.clear();
  EXPECT_TRUE(locks.Take("b", "n1", {{"node/n1", 1}}).ok());
}

TEST_F(LocksTest, AFileThatCannotBeReadIsNotNoLocks) {
  FileLocks locks = Locks();
  files_.Put("/runs/locks.json", "{");
  EXPECT_EQ(locks.Take("a", "n1", {{"node/n1", 1}}).error().code, Code::kCorrupt);
}

TEST(Reconcile, FindsWhatIsForgottenLostOverdueAndTakenOver) {
  const TimePoint now = ParseTime("2026-11-21T20:00:00Z").value();
  Actuator::Fleet fleet;
  const auto hold = [&](const std::string& node, const std::string& run, TimePoint until) {
    Hold held;
    held.schedulable = false;
    held.lease = Lease{"muster", run, "why", true, "", now - std::chrono::hours(1), until, 1};
    fleet.nodes.push_back({node, held});
  };
  const TimePoint later = now + std::chrono::hours(1);
  hold("fine", "live", later);
  hold("parked", "closed", later);
  hold("forgotten", "closed", later);
  hold("lost", "gone", later);
  hold("late", "live", now - std::chrono::minutes(1));
  hold("mine", std::string(kByHandRun) + "1", later);
  fleet.nodes.push_back({"taken", Hold{}});
  const FindRun find = [&](const std::string& run,
                           const std::string& node) -> std::optional<RunOfNode> {
    if (run == "gone") return std::nullopt;
    RunOfNode of;
    of.target.held = node != "forgotten";
    if (run == "closed") {
      of.closed = true;
      of.target.stage = TargetState::Stage::kEnded;
      of.target.end = node == "parked" ? End::kParked : End::kDone;
    }
    return of;
  };
  std::map<std::string, MarkKind> kinds;
  for (const MarkFinding& finding :
       Reconcile(fleet, find, {{"live", "taken"}, {"live", "fine"}}, now))
    kinds[finding.node] = finding.kind;
  EXPECT_EQ(kinds["fine"], MarkKind::kFine);
  EXPECT_EQ(kinds["parked"], MarkKind::kParked);
  EXPECT_EQ(kinds["forgotten"], MarkKind::kOrphan);
  EXPECT_EQ(kinds["lost"], MarkKind::kLost);
  EXPECT_EQ(kinds["late"], MarkKind::kOverdue);
  EXPECT_EQ(kinds["mine"], MarkKind::kByHand);
  EXPECT_EQ(kinds["taken"], MarkKind::kTakenOver);
}

}  // namespace
}  // namespace muster::engine
