#include "app/ledger.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"
#include "journal/writer.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing::LabSite;
using testing::LevelsOf;

constexpr const char* kPath = "/run/ledger";

RunHeader LedgerHeader() {
  RunHeader header;
  header.run = "r-1";
  header.site_name = "s";
  header.by = "tester@here";
  header.nodes = {"node000"};
  return header;
}

TEST(Ledger, RecordsComeBackAsTheRunTheyTell) {
  testing::MemoryFiles files;
  {
    auto ledger = CreateLedger(files, kPath, LedgerHeader());
    ASSERT_TRUE(ledger.ok()) << ledger.error().ToString();
    RunLedger& l = **ledger;
    ASSERT_TRUE(l.GateBegins(1, TimePoint{Duration{10}}).ok());
    ASSERT_TRUE(l.ActIntent(1, {"a", {"x"}, "", "", 0}).ok());
    ASSERT_TRUE(l.ActOutcome(1, {"a", {"x"}, "done", "said", 0}).ok());
    ASSERT_TRUE(l.ActIntent(1, {"b", {"y"}, "", "", 0}).ok());
    GateResult result;
    result.gate = 1;
    result.level = Level::kWarn;
    ASSERT_TRUE(l.Judged(result).ok());
    ASSERT_TRUE(l.Close(Level::kWarn, TimePoint{Duration{20}}).ok());
  }
  const auto run = ReadLedger(files, kPath);
  ASSERT_TRUE(run.ok()) << run.error().ToString();
  EXPECT_EQ(run->header.run, "r-1");
  ASSERT_EQ(run->gates.size(), 1u);
  ASSERT_EQ(run->gates[0].acts.size(), 2u);
  EXPECT_EQ(run->gates[0].acts[0].outcome, "done");
  EXPECT_EQ(run->gates[0].acts[1].outcome, "") << "an intent alone is in doubt";
  EXPECT_EQ(run->gates[0].result->level, Level::kWarn);
  EXPECT_TRUE(run->closed);
  EXPECT_EQ(run->level, Level::kWarn);
  EXPECT_EQ(run->ended, TimePoint{Duration{20}});
  EXPECT_EQ(run->note, "");
}

TEST(Ledger, GateThatBeginsAgainForgetsWhatWasHalfSeenButNotItsActs) {
  testing::MemoryFiles files;
  {
    auto ledger = CreateLedger(files, kPath, LedgerHeader());
    ASSERT_TRUE(ledger.ok());
    RunLedger& l = **ledger;
    ASSERT_TRUE(l.GateBegins(1, {}).ok());
    ASSERT_TRUE(l.ActIntent(1, {"a", {"x"}, "", "", 0}).ok());
    Evidence evidence;
    Reading reading;
    reading.probe = "node.identity";
    evidence.readings = {reading};
    ASSERT_TRUE(l.Seen(1, evidence).ok());
    ASSERT_TRUE(l.GateBegins(1, TimePoint{Duration{9}}).ok());
  }
  const auto run = ReadLedger(files, kPath);
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->gates[0].evidence.readings.empty());
  EXPECT_EQ(run->gates[0].acts.size(), 1u);
  EXPECT_FALSE(run->gates[0].result);
}

TEST(Ledger, SecondWriterIsRefused) {
  testing::MemoryFiles files;
  const auto first = CreateLedger(files, kPath, LedgerHeader());
  ASSERT_TRUE(first.ok());
  muster::Run run;
  EXPECT_EQ(ContinueLedger(files, kPath, run).error().code, Code::kConflict);
}

TEST(Ledger, MissingOrEmptyOneHoldsNoRun) {
  testing::MemoryFiles files;
  EXPECT_EQ(ReadLedger(files, kPath).error().code, Code::kNotFound);
  files.Put(kPath, "");
  EXPECT_EQ(ReadLedger(files, kPath).error().code, Code::kNotFound);
}

TEST(Ledger, RecordOfANewerKindIsRefusedNamingItsByte) {
  testing::MemoryFiles files;
  {
    ASSERT_TRUE(CreateLedger(files, kPath, LedgerHeader()).ok());
  }
  {
    auto opened = journal::Writer::Open(files, kPath);
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE(opened->writer->Commit(4711, "{}").ok());
  }
  const auto run = ReadLedger(files, kPath);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().ToString(), HasSubstr("type 4711"));
  EXPECT_THAT(run.error().ToString(), HasSubstr("at byte"));
}

class StoredRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(lab_.problem, "");
    const auto run = lab_.RunGates(1, 2);
    ASSERT_TRUE(run.ok()) << run.error().ToString();
    levels_ = LevelsOf(*run);
    path_ = lab_.paths().Ledger(run->header.run);
    bytes_ = lab_.files.Read(path_).value();
  }
  Result<muster::Run> ReadAs(std::string_view bytes) {
    testing::MemoryFiles files;
    files.Put(kPath, bytes);
    return ReadLedger(files, kPath);
  }

  LabSite lab_;
  std::vector<std::string> levels_;
  std::string path_, bytes_;
};

TEST_F(StoredRun, TruncatedPrefixIsAPrefixOfTheRunAndSaysSo) {
  std::set<uint64_t> ends;  // of whole records: a cut there leaves nothing unfinished
  const auto scanned =
      journal::Scan(bytes_, [&](const journal::RecordView& r) { ends.insert(r.offset); });
  ASSERT_TRUE(scanned.ok());
  size_t read = 0;
  for (size_t n = 0; n < bytes_.size(); n += 1 + bytes_.size() / 400) {
    const auto run = ReadAs(std::string_view(bytes_).substr(0, n));
    if (!run.ok()) {
      EXPECT_EQ(run.error().code, Code::kNotFound) << n << ": " << run.error().ToString();
      continue;
    }
    ++read;
    EXPECT_FALSE(run->closed) << n;
    if (!ends.contains(n)) {
      EXPECT_NE(run->note, "") << "cut at " << n
                               << " in the middle of a record, and nothing says so";
    }
    const auto levels = LevelsOf(*run);
    for (size_t i = 0; i < levels.size() && levels[i].find("not judged") == std::string::npos;
         ++i) {
      EXPECT_EQ(levels[i], levels_[i]) << n;
    }
  }
  EXPECT_GT(read, 100u);
}

TEST_F(StoredRun, DamageInTheMiddleIsCorruptWithItsByte) {
  for (size_t at = 40; at < bytes_.size() / 2; at += 1 + bytes_.size() / 200) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto run = ReadAs(damaged);
    ASSERT_FALSE(run.ok()) << at;
    EXPECT_EQ(run.error().code, Code::kCorrupt) << at;
    EXPECT_THAT(run.error().ToString(), HasSubstr("byte")) << at;
  }
}

TEST_F(StoredRun, ReadingTouchesNothing) {
  const auto before = lab_.files.Paths();
  ASSERT_TRUE(ReadLedger(lab_.files, path_).ok());
  EXPECT_EQ(lab_.files.Paths(), before);
  EXPECT_EQ(lab_.files.Read(path_).value(), bytes_);
}

}  // namespace
}  // namespace muster
