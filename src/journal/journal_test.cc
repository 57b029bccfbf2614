// The journal's promises: what was synced is there, what was not is a clean cut, and damage is
// never mistaken for either.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/digest.h"
#include "base/strings.h"
#include "journal/reader.h"
#include "journal/writer.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"

namespace muster::journal {
namespace {

using ::muster::testing::FaultKind;
using ::muster::testing::FaultPlan;
using ::muster::testing::FaultyFiles;
using ::muster::testing::MemoryFiles;

constexpr char kPath[] = "/site/journal";
const std::vector<std::string> kPayloads = {"", "one", std::string(100, 'x'), "{\"step\":4}"};

WriterOptions NoReserve() {
  WriterOptions options;
  options.reserve_bytes = 0;
  return options;
}

// The bytes of a journal with these payloads; record i has type i.
std::string Journal(const std::vector<std::string>& payloads) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath, NoReserve());
  for (size_t i = 0; i < payloads.size(); ++i) {
    EXPECT_TRUE(opened.writer->Append(static_cast<uint32_t>(i), payloads[i]).ok());
  }
  EXPECT_TRUE(opened.writer->Sync().ok());
  return *files.Read(kPath);
}

Result<Contents> Read(const std::string& bytes) {
  MemoryFiles files;
  files.Put(kPath, bytes);
  return Load(files, kPath);
}

std::vector<std::string> Payloads(const Contents& contents) {
  std::vector<std::string> payloads;
  for (const Record& record : contents.records) payloads.push_back(record.payload);
  return payloads;
}

bool IsPrefix(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// Where each frame begins, and where the last one ends.
std::vector<size_t> Boundaries(const std::vector<std::string>& payloads) {
  std::vector<size_t> at = {kFileHeaderBytes};
  for (const std::string& payload : payloads) {
    at.push_back(at.back() + kFrameOverheadBytes + payload.size());
  }
  return at;
}

TEST(JournalTest, RecordsComeBackInOrderWithTypeNumberAndPlace) {
  const auto contents = Read(Journal(kPayloads));
  ASSERT_TRUE(contents.ok()) << contents.error().ToString();
  EXPECT_EQ(Payloads(*contents), kPayloads);
  const std::vector<size_t> boundaries = Boundaries(kPayloads);
  for (size_t i = 0; i < kPayloads.size(); ++i) {
    EXPECT_EQ(contents->records[i].sequence, i + 1);
    EXPECT_EQ(contents->records[i].type, i);
    EXPECT_EQ(contents->records[i].offset, boundaries[i]);
  }
  EXPECT_FALSE(contents->summary.torn.has_value());
  EXPECT_EQ(contents->summary.whole_bytes, boundaries.back());
}

TEST(JournalTest, BytesOnDiskAreThoseOfTheWorkedExample) {
  // docs/design/journal.md explains these byte by byte; a change here is a new format version.
  EXPECT_EQ(HexEncode(Journal({"hello"})),
            "4d555354524a4e4c"
            "01000000"
            "7cb63668"
            "05000000"
            "00000000"
            "0100000000000000"
            "4cbb719a"
            "013137dc"
            "68656c6c6f"
            "3d73f7e435852c36d4f397c41e4cbc3eb854ec776a64a2b61a887bef8913974b");
}

TEST(JournalTest, WriterGoesOnWhereTheLastOneStopped) {
  MemoryFiles files;
  {
    Opened opened = *Writer::Open(files, kPath);
    EXPECT_EQ(*opened.writer->Commit(7, "first"), 1u);
  }
  {
    Opened opened = *Writer::Open(files, kPath);
    ASSERT_EQ(Payloads(opened.recovered), std::vector<std::string>{"first"});
    EXPECT_EQ(*opened.writer->Commit(7, "second"), 2u);
    EXPECT_EQ(opened.writer->digest(), Verify(files, kPath)->digest);
  }
  EXPECT_EQ(Payloads(*Load(files, kPath)), (std::vector<std::string>{"first", "second"}));
}

TEST(JournalTest, NothingIsWrittenBeforeSync) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  ASSERT_TRUE(opened.writer->Append(1, "pending").ok());
  EXPECT_EQ(Verify(files, kPath)->records, 0u);
  EXPECT_EQ(opened.writer->last_sequence(), 0u);
  ASSERT_TRUE(opened.writer->Sync().ok());
  EXPECT_EQ(Verify(files, kPath)->records, 1u);
  EXPECT_EQ(opened.writer->last_sequence(), 1u);
}

TEST(JournalTest, SecondWriterIsRefusedNamingTheFirst) {
  MemoryFiles files;
  WriterOptions options;
  options.holder = "muster bringup run, pid 4711";
  const Opened opened = *Writer::Open(files, kPath, options);
  const auto second = Writer::Open(files, kPath);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_TRUE(Contains(second.error().message, "pid 4711"));
}

TEST(JournalTest, EveryTruncationGivesThePrefixAndSaysWhatIsMissing) {
  const std::string whole = Journal(kPayloads);
  const std::vector<size_t> boundaries = Boundaries(kPayloads);
  for (size_t size = 0; size <= whole.size(); ++size) {
    MemoryFiles files;
    files.Put(kPath, whole.substr(0, size));
    const auto opened = Writer::Open(files, kPath);
    ASSERT_TRUE(opened.ok()) << size << ": " << opened.error().ToString();
    const auto kept = static_cast<size_t>(
        std::upper_bound(boundaries.begin(), boundaries.end(), size) - boundaries.begin());
    EXPECT_EQ(opened->recovered.records.size(), kept == 0 ? 0 : kept - 1) << size;
    EXPECT_TRUE(IsPrefix(Payloads(opened->recovered), kPayloads));
    const bool at_boundary =
        size == 0 || std::find(boundaries.begin(), boundaries.end(), size) != boundaries.end();
    EXPECT_EQ(opened->recovered.summary.torn.has_value(), !at_boundary) << size;
    if (!at_boundary) {
      EXPECT_EQ(opened->recovered.summary.torn->offset, kept == 0 ? 0 : boundaries[kept - 1]);
      EXPECT_EQ(opened->recovered.summary.torn->offset + opened->recovered.summary.torn->bytes,
                size);
    }
    EXPECT_TRUE(opened->writer->Commit(9, "after").ok());
    EXPECT_FALSE(Verify(files, kPath)->torn.has_value());
  }
}

TEST(JournalTest, EveryBitFlipIsRefusedNamingItsByteOrEarlierInItsFrameAndNothingIsWritten) {
  const std::string whole = Journal(kPayloads);
  const std::vector<size_t> boundaries = Boundaries(kPayloads);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    MemoryFiles files;
    files.Put(kPath, damaged);
    const auto opened = Writer::Open(files, kPath);
    ASSERT_FALSE(opened.ok()) << bit;
    EXPECT_EQ(opened.error().code, Code::kCorrupt) << bit;
    const std::string_view said = opened.error().message;
    const size_t number = said.find("byte ") + 5;
    const auto named =
        static_cast<size_t>(*ParseInt(said.substr(number, said.find(':', number) - number)));
    const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), bit / 8);
    const size_t frame = next == boundaries.begin() ? 0 : *(next - 1);
    EXPECT_GE(named, frame);
    EXPECT_LE(named, bit / 8);
    EXPECT_EQ(*files.Read(kPath), damaged);
  }
}

TEST(JournalTest, RecordTakenOutOfTheMiddleIsRefused) {
  std::string bytes = Journal({"one", "two", "three"});
  const std::vector<size_t> at = Boundaries({"one", "two", "three"});
  bytes.erase(at[1], at[2] - at[1]);
  const auto read = Read(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_TRUE(Contains(read.error().message, "record 3 stands where record 2 belongs"));
}

TEST(JournalTest, RecordFromAnotherHistoryIsRefusedThoughItsCheckSumsAreRight) {
  const std::string ours = Journal({"one", "two"});
  const std::string theirs = Journal({"eno", "two"});
  const size_t second = Boundaries({"one"}).back();
  const auto read = Read(ours.substr(0, second) + theirs.substr(second));
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(Contains(read.error().message, "altered")) << read.error().message;
}

TEST(JournalTest, ZerosThatACrashLeftAtTheEndAreCut) {
  const std::string whole = Journal({"one", "two"});
  for (size_t from = Boundaries({"one"}).back(); from < whole.size(); ++from) {
    std::string torn = whole;
    std::fill(torn.begin() + static_cast<std::ptrdiff_t>(from), torn.end(), '\0');
    // Fewer than eight zeros may be what a digest ends in, and are refused.
    if (whole.size() - from < 8) continue;
    const auto read = Read(torn);
    ASSERT_TRUE(read.ok()) << from << read.error().ToString();
    EXPECT_EQ(read->records.size(), 1u);
    EXPECT_TRUE(read->summary.torn.has_value());
  }
}

TEST(JournalTest, HoleBeforeAWholeRecordIsDamageAndNotATail) {
  std::string bytes = Journal({"one", "two", "three"});
  const std::vector<size_t> at = Boundaries({"one", "two", "three"});
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at[1]),
            bytes.begin() + static_cast<std::ptrdiff_t>(at[2]), '\0');
  bytes += std::string(64, '\0');
  const auto read = Read(bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kCorrupt);
  EXPECT_TRUE(Contains(read.error().message, fmt::format("byte {}", at[1])));
}

TEST(JournalTest, AnotherFileOrANewerFormatIsNotOpened) {
  EXPECT_EQ(Read("name: site\n").error().code, Code::kCorrupt);
  std::string newer = FileHeader();
  newer[8] = 2;
  const uint32_t crc = Crc32c(newer.substr(0, 12));
  for (size_t i = 0; i < 4; ++i) newer[12 + i] = static_cast<char>(crc >> (8 * i) & 0xFF);
  EXPECT_EQ(Read(newer).error().code, Code::kInvalid);
}

TEST(JournalTest, BrokenReadNeverCostsARecord) {
  MemoryFiles files;
  files.Put(kPath, Journal(kPayloads) + "torn");
  const std::string before = *files.Read(kPath);
  // Call 1 locks, call 2 reads.
  FaultPlan plan(FaultKind::kGarble, 2);
  FaultyFiles faulty(files, plan);
  const auto opened = Writer::Open(faulty, kPath);
  EXPECT_FALSE(opened.ok());
  EXPECT_EQ(*files.Read(kPath), before);
}

// Writes until an error; what was acknowledged must be there whatever broke.
TEST(JournalTest, WhicheverCallFailsWhatWasAcknowledgedIsRead) {
  for (const FaultKind kind :
       {FaultKind::kFail, FaultKind::kHang, FaultKind::kGarble, FaultKind::kLate}) {
    for (int nth = 1;; ++nth) {
      MemoryFiles files;
      FaultPlan plan(kind, nth);
      FaultyFiles faulty(files, plan);
      std::vector<std::string> acknowledged, tried;
      for (int life = 0; life < 2; ++life) {
        auto opened = Writer::Open(faulty, kPath);
        if (!opened.ok()) continue;
        for (int i = 0; i < 3; ++i) {
          const std::string payload = fmt::format("life {} record {}", life, i);
          tried.push_back(payload);
          if (opened->writer->Commit(1, payload).ok()) acknowledged.push_back(payload);
        }
      }
      files.Crash();
      if (!files.Stat(kPath).ok()) continue;
      const auto read = Load(files, kPath);
      ASSERT_TRUE(read.ok()) << nth << ": " << read.error().ToString();
      const std::vector<std::string> found = Payloads(*read);
      // All that was acknowledged, in order; between them at most what was tried and not
      // acknowledged.
      size_t at = 0;
      for (const std::string& payload : found) {
        EXPECT_NE(std::find(tried.begin(), tried.end(), payload), tried.end());
        if (at < acknowledged.size() && payload == acknowledged[at]) ++at;
      }
      EXPECT_EQ(at, acknowledged.size()) << "call " << nth;
      if (!plan.reached()) break;
    }
  }
}

TEST(JournalTest, PowerCutAtEveryByteOfABatchKeepsAllThatWasSynced) {
  const std::vector<std::string> all(5, "record");
  const std::string whole = Journal(all);
  const std::vector<size_t> boundaries = Boundaries(all);
  for (size_t synced = 0; synced <= all.size(); ++synced) {
    for (size_t kept = 0; boundaries[synced] + kept <= whole.size(); ++kept) {
      MemoryFiles files;
      Opened opened = *Writer::Open(files, kPath, NoReserve());
      for (size_t i = 0; i < synced; ++i) {
        ASSERT_TRUE(opened.writer->Commit(static_cast<uint32_t>(i), all[i]).ok());
      }
      // A batch of all the others, whose Sync never returned; the disk took part of it.
      auto batch = *files.OpenAppend(kPath);
      ASSERT_TRUE(batch->Append(std::string_view(whole).substr(boundaries[synced])).ok());
      files.Crash(kept);
      const auto again = Writer::Open(files, kPath, NoReserve());
      ASSERT_TRUE(again.ok()) << again.error().ToString();
      EXPECT_GE(again->recovered.records.size(), synced);
      EXPECT_TRUE(IsPrefix(Payloads(again->recovered), all));
      EXPECT_EQ(again->recovered.summary.torn.has_value(),
                again->recovered.summary.whole_bytes != boundaries[synced] + kept);
    }
  }
}

TEST(JournalTest, FailedWriteLeavesTheWriterUsableAndItsNumbersFree) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  ASSERT_TRUE(opened.writer->Commit(1, "one").ok());
  const uint64_t used = files.Read(kPath)->size() + files.Stat("/site/journal.reserve")->size +
                        files.Stat("/site/journal.lock")->size;
  files.SetCapacity(used + 30);
  EXPECT_FALSE(opened.writer->Commit(1, "no room for this one").ok());
  EXPECT_EQ(Verify(files, kPath)->records, 1u);
  EXPECT_FALSE(Verify(files, kPath)->torn.has_value());
  files.SetCapacity(used + 4096);
  EXPECT_EQ(*opened.writer->Commit(1, "two"), 2u);
  EXPECT_EQ(Payloads(*Load(files, kPath)), (std::vector<std::string>{"one", "two"}));
}

TEST(JournalTest, OnAFullDiskClosingRecordsUseTheReserveAndIntentsWaitUntilItIsBack) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  ASSERT_TRUE(opened.writer->Commit(1, "intent").ok());
  const uint64_t used = files.Read(kPath)->size() + files.Stat("/site/journal.reserve")->size +
                        files.Stat("/site/journal.lock")->size;
  files.SetCapacity(used);
  EXPECT_FALSE(opened.writer->Commit(1, "another intent").ok());
  EXPECT_TRUE(opened.writer->Commit(2, "outcome", Need::kClosing).ok());
  EXPECT_FALSE(opened.writer->reserve_ready());
  // There is room for this one now, but not for the outcome that would follow.
  EXPECT_FALSE(opened.writer->Commit(1, "third intent").ok());
  EXPECT_TRUE(opened.writer->Commit(2, "release", Need::kClosing).ok());
  files.SetCapacity(used * 3);
  EXPECT_TRUE(opened.writer->Commit(1, "intent again").ok());
  EXPECT_TRUE(opened.writer->reserve_ready());
  EXPECT_EQ(Payloads(*Load(files, kPath)),
            (std::vector<std::string>{"intent", "outcome", "release", "intent again"}));
}

TEST(JournalTest, AfterAFailedSyncTheWriterRefusesUntilOpenedAnew) {
  MemoryFiles files;
  // lock, read, write, open, stat and write of the reserve, append, sync
  FaultPlan plan(FaultKind::kFail, 8);
  FaultyFiles faulty(files, plan);
  {
    Opened opened = *Writer::Open(faulty, kPath);
    EXPECT_FALSE(opened.writer->Commit(1, "in doubt").ok());
    ASSERT_TRUE(plan.reached());
    const auto refused = opened.writer->Commit(1, "next");
    ASSERT_FALSE(refused.ok());
    EXPECT_TRUE(Contains(refused.error().message, "open it anew"));
  }
  EXPECT_TRUE(Writer::Open(files, kPath).ok());
}

TEST(JournalTest, RecordThatIsTooLargeIsRefused) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  const auto large = opened.writer->Append(1, std::string(kMaxPayloadBytes + 1, 'x'));
  EXPECT_EQ(large.error().code, Code::kInvalid);
  EXPECT_TRUE(opened.writer->Commit(1, "fits").ok());
}

std::vector<Record> Kept(const std::vector<std::string>& payloads) {
  std::vector<Record> kept;
  for (const std::string& payload : payloads) kept.push_back({0, 5, payload, 0});
  return kept;
}

TEST(JournalTest, ReplacedItHoldsWhatWasGivenAndGoesOn) {
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath);
  for (const char* payload : {"one", "two", "three"})
    ASSERT_TRUE(opened.writer->Commit(5, payload).ok());
  const std::string before = *files.Read(kPath);
  ASSERT_TRUE(opened.writer->Replace(Kept({"mark", "three"})).ok());
  EXPECT_EQ(*opened.writer->Commit(5, "four"), 3u);
  EXPECT_EQ(opened.writer->digest(), Verify(files, kPath)->digest);
  EXPECT_EQ(Payloads(*Load(files, kPath)), (std::vector<std::string>{"mark", "three", "four"}));
  EXPECT_EQ(*files.Read(std::string(kPath) + ".before"), before);
  ASSERT_TRUE(opened.writer->Append(5, "pending").ok());
  EXPECT_EQ(opened.writer->Replace(Kept({})).error().code, Code::kInvalid);
}

TEST(JournalTest, WhicheverCallFailsReplacingLeavesTheOldOrTheNew) {
  const std::vector<std::string> old = {"one", "two", "three"}, anew = {"mark", "three"};
  for (const FaultKind kind : {FaultKind::kFail, FaultKind::kHang, FaultKind::kLate}) {
    for (const bool dies : {true, false}) {
      for (int nth = 1;; ++nth) {
        SCOPED_TRACE(fmt::format("call {}", nth));
        MemoryFiles files;
        files.Put(kPath, Journal(old));
        FaultPlan plan(kind, nth, dies);
        FaultyFiles faulty(files, plan);
        std::vector<std::string> more;
        {
          auto opened = Writer::Open(faulty, kPath);
          const bool replaced = opened.ok() && opened->writer->Replace(Kept(anew)).ok();
          if (opened.ok() && opened->writer->Commit(5, "after").ok()) more.push_back("after");
          if (replaced) {
            EXPECT_EQ(Payloads(*Load(files, kPath))[0], "mark");
          }
        }
        files.Crash();
        const auto read = Load(files, kPath);
        ASSERT_TRUE(read.ok()) << read.error().ToString();
        std::vector<std::string> found = Payloads(*read);
        const bool is_new = !found.empty() && found[0] == "mark";
        std::vector<std::string> wanted = is_new ? anew : old;
        wanted.insert(wanted.end(), more.begin(), more.end());
        // What was not acknowledged may be there all the same.
        if (more.empty() && !found.empty() && found.back() == "after") found.pop_back();
        EXPECT_EQ(found, wanted);
        if (!plan.reached()) break;
      }
    }
  }
}

std::vector<std::string> AnyPayloads() {
  return *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
}

RC_GTEST_PROP(JournalProperty, WhatIsWrittenIsRead, ()) {
  const std::vector<std::string> payloads = AnyPayloads();
  const auto read = Read(Journal(payloads));
  RC_ASSERT(read.ok());
  RC_ASSERT(Payloads(*read) == payloads);
}

RC_GTEST_PROP(JournalProperty, AnyCutIsAPrefix, ()) {
  const std::vector<std::string> payloads = AnyPayloads();
  const std::string whole = Journal(payloads);
  const auto read = Read(whole.substr(0, *rc::gen::inRange<size_t>(0, whole.size() + 1)));
  RC_ASSERT(read.ok());
  RC_ASSERT(IsPrefix(Payloads(*read), payloads));
}

RC_GTEST_PROP(JournalProperty, AnyChangedByteIsRefusedOrACleanPrefixWithANote, ()) {
  const std::vector<std::string> payloads = AnyPayloads();
  std::string bytes = Journal(payloads);
  const size_t at = *rc::gen::inRange<size_t>(0, bytes.size());
  const auto other = static_cast<char>(bytes[at] ^ *rc::gen::inRange(1, 256));
  bytes[at] = other;
  const auto read = Read(bytes);
  if (read.ok()) {
    RC_ASSERT(read->summary.torn.has_value());
    RC_ASSERT(IsPrefix(Payloads(*read), payloads));
    RC_ASSERT(read->records.size() < payloads.size());
  } else {
    RC_ASSERT(read.error().code == Code::kCorrupt || read.error().code == Code::kInvalid);
  }
}

RC_GTEST_PROP(JournalProperty, AnyTailOfGarbageLeavesTheRecordsBeforeItOrIsRefused, ()) {
  const std::vector<std::string> payloads = AnyPayloads();
  const auto garbage = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto read = Read(Journal(payloads) + garbage);
  if (read.ok()) {
    RC_ASSERT(Payloads(*read) == payloads);
    RC_ASSERT(read->summary.torn.has_value() == !garbage.empty());
  } else {
    RC_ASSERT(read.error().code == Code::kCorrupt);
  }
}

RC_GTEST_PROP(JournalProperty, BatchesMakeNoDifference, ()) {
  const std::vector<std::string> payloads = AnyPayloads();
  MemoryFiles files;
  Opened opened = *Writer::Open(files, kPath, NoReserve());
  for (size_t i = 0; i < payloads.size(); ++i) {
    RC_ASSERT(opened.writer->Append(static_cast<uint32_t>(i), payloads[i]).ok());
    if (*rc::gen::arbitrary<bool>()) RC_ASSERT(opened.writer->Sync().ok());
  }
  RC_ASSERT(opened.writer->Sync().ok());
  RC_ASSERT(*files.Read(kPath) == Journal(payloads));
}

}  // namespace
}  // namespace muster::journal
