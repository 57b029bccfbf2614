// The journals of real runs in a lab, between them with every kind of record: shortened at every
// length and with every single bit turned over, each is a clean beginning of the run with a note,
// or refused naming the byte; never another history. A sample by default, all with MUSTER_NIGHTLY.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/runbooks.h"
#include "app/testing/ask_first.h"
#include "app/testing/lab_site.h"
#include "backend/lab/lab_actuator.h"
#include "base/strings.h"
#include "catalogue/embedded.h"
#include "engine/journal_log.h"
#include "journal/reader.h"

namespace muster::testing {
namespace {

using engine::EntryType;
using Kind = engine::Requests::Request::Kind;

class JournaledLab : public LabSite {
 public:
  lab::LabActuator Act() { return {world(), "/site/lab"}; }
  Result<Plan> Make(const std::string& id, const std::map<std::string, std::string>& inputs = {}) {
    TRY(SiteContext site, Open());
    TRY(const KnownRunbook known, FindRunbook(files, "/site", id));
    PlanOptions options;
    options.on = {known.book.on == SubjectKind::kGpu ? "node000/gpu1" : "node000"};
    options.inputs = inputs;
    options.by = "tester@here";
    return PlanRunbook(site, known, options, kOpen);
  }
  Result<RunOutcome> Run(const Plan& plan, RunOptions options = Approved()) {
    SilentProgress silent;
    return Run(plan, options, files, silent);
  }
  Result<RunOutcome> Run(const Plan& plan, RunOptions options, Files& through, Progress& progress) {
    TRY(SiteContext site, Open(through));
    return RunPlan(site, plan, options, progress);
  }
  static RunOptions Approved() {
    RunOptions options;
    options.by = "tester@here";
    options.approve = true;
    options.open = kOpen;
    return options;
  }
  Result<RunOutcome> Resume(const std::string& run, bool approve = false) {
    TRY(SiteContext site, Open());
    SilentProgress silent;
    return ResumeRun(site, run, {.by = "tester@here", .approve = approve, .open = kOpen}, silent);
  }
  void Ask(const std::string& run, engine::Requests::Request request) {
    World w = world();
    const Status asked = AskRun(w, paths(), run, request);
    if (!asked.has_value()) problem = asked.error().ToString();
    clock.Advance(std::chrono::seconds(5));
  }
  std::string JournalOf(const std::string& run) {
    return files.Read(RunbookPaths(paths()).Journal(run)).value();
  }

  static inline const OpenOptions kOpen{"", true};
};

// People answer checks, hold the run, let it go on, and let it begin outside of its window.
std::string AskedAndAnswered() {
  JournaledLab lab;
  lab.files.Put("/site/runbooks/s1.yaml", kAskFirst);
  RunOptions options = JournaledLab::Approved();
  options.approve = false;
  options.now_by = "ada";
  options.now_reason = "it cannot wait";
  const auto begun = lab.Run(lab.Make("S1").value(), options);
  if (!begun.ok()) return "";
  const auto answer = [&](const std::string& check) {
    engine::Requests::Request request{Kind::kAttest, check, "ada", "", "seen"};
    request.yes = true;
    lab.Ask(begun->run, request);
  };
  answer("rack-is-cool");
  (void)lab.Resume(begun->run);
  lab.Ask(begun->run, {Kind::kPause, "", "ada", "", "lunch"});
  (void)lab.Resume(begun->run);
  answer("panel-is-green");
  (void)lab.Resume(begun->run);
  EXPECT_EQ(lab.problem, "");
  return lab.JournalOf(begun->run);
}

// A process that is killed does no more.
class Dead final : public Progress {
 public:
  explicit Dead(const FaultPlan& fault) : fault_(fault) {}
  void GateBegins(int, std::string_view, size_t) override {}
  void ReadingDone(std::string_view) override {}
  void Note(std::string_view) override {}
  void GateEnds(int, Level, std::string_view) override {}
  bool Stopped() const override { return fault_.reached(); }

 private:
  const FaultPlan& fault_;
};

// Killed at the file call after which an order must be given once more, then led to its end.
std::string KilledAndResumed() {
  for (int call = 1; call < 400; ++call) {
    JournaledLab lab;
    lab.Inject("xid_48", "node000/gpu1");
    const auto plan = lab.Make("R6");
    if (!plan.ok()) return "";
    FaultPlan fault(FaultKind::kFail, call, true);
    FaultyFiles dying(lab.files, fault);
    Dead dead(fault);
    (void)lab.Run(*plan, JournaledLab::Approved(), dying, dead);
    lab.files.Crash();
    const auto runs = ListRunbookRuns(lab.files, RunbookPaths(lab.paths()));
    if (!runs.ok() || runs->empty()) continue;
    const auto ended = lab.Resume(runs->back(), true);
    if (!ended.ok()) continue;
    for (const engine::Entry& entry : ended->entries) {
      if (entry.type == EntryType::kAgain) return lab.JournalOf(runs->back());
    }
  }
  ADD_FAILURE() << "no kill leaves an order that is given again";
  return "";
}

// The upgrade is a lie: the way back, and the procedure once more.
std::string TakenBack() {
  JournaledLab lab;
  // The site's own R1 tries twice.
  std::string twice(FindEmbedded("runbooks/r01-driver-upgrade.yaml").value());
  const std::string once = "\nrounds: 1\n";
  twice.replace(twice.find(once), once.size(), "\nrounds: 2\n");
  lab.files.Put("/site/runbooks/r1.yaml", twice);
  (void)lab.Act().Spoil("node000", ActKind::kPackages, "lie");
  const auto plan = lab.Make("R1", {{"driver", "580.95.05"}, {"previous", "570.211.01"}});
  if (!plan.ok()) return "";
  const auto ended = lab.Run(*plan, JournaledLab::Approved());
  EXPECT_TRUE(ended.ok());
  return ended.ok() ? lab.JournalOf(ended->run) : "";
}

// A reset and a reboot that mend nothing: rungs are left behind.
std::string Climbing() {
  JournaledLab lab;
  lab.Inject("xid_79", "node000/gpu1");
  const auto plan = lab.Make("R6");
  if (!plan.ok()) return "";
  const auto ended = lab.Run(*plan);
  return ended.ok() ? lab.JournalOf(ended->run) : "";
}

// The job on the node does not go, and the run asks whether to force it.
std::string DrainThatAsks() {
  JournaledLab lab;
  const RunningJob job{"job-1", "team-a", {"node000"}, 1, lab.clock.Now(), std::nullopt};
  (void)lab.Act().StartJob(job, Duration::zero());
  (void)lab.Act().Spoil("node000", ActKind::kDrain, "lie");
  const auto plan = lab.Make("R1", {{"driver", "580.95.05"}, {"previous", "570.211.01"}});
  if (!plan.ok()) return "";
  const auto asked = lab.Run(*plan, JournaledLab::Approved());
  return asked.ok() ? lab.JournalOf(asked->run) : "";
}

const std::vector<std::pair<std::string, std::string>>& Journals() {
  static const std::vector<std::pair<std::string, std::string>> journals = {
      {"asked", AskedAndAnswered()}, {"killed", KilledAndResumed()}, {"takenBack", TakenBack()},
      {"climbing", Climbing()},      {"drain", DrainThatAsks()},
  };
  return journals;
}

bool Nightly() { return std::getenv("MUSTER_NIGHTLY") != nullptr; }

struct Whole {
  std::vector<std::string> entries;  // encoded
  std::vector<size_t> ends;          // bytes up to the end of the header and of each record
};

Whole ReadWhole(const std::string& bytes) {
  Whole whole;
  MemoryFiles files;
  files.Put("/j", bytes);
  const auto stored = engine::ReadRun(files, "/j");
  EXPECT_TRUE(stored.ok()) << stored.error().ToString();
  if (!stored.ok()) return whole;
  for (const engine::Entry& entry : stored->entries)
    whole.entries.push_back(std::string(ToString(entry.type)) + EncodeEntry(entry));
  (void)journal::Scan(
      bytes, [&](const journal::RecordView& record) { whole.ends.push_back(record.offset); });
  whole.ends.push_back(bytes.size());
  return whole;
}

// What was read is the run's beginning, and no more than `most` records of it.
void ExpectBeginning(const engine::StoredRun& stored, const Whole& whole, size_t most) {
  ASSERT_LE(stored.entries.size(), most);
  for (size_t i = 0; i < stored.entries.size(); ++i) {
    const engine::Entry& entry = stored.entries[i];
    ASSERT_EQ(std::string(ToString(entry.type)) + EncodeEntry(entry), whole.entries[i]);
  }
}

TEST(RunbookJournals, HoldEveryKindOfRecord) {
  std::set<std::string> kinds;
  for (const auto& [name, bytes] : Journals()) {
    SCOPED_TRACE(name);
    ASSERT_FALSE(bytes.empty());
    MemoryFiles files;
    files.Put("/j", bytes);
    const auto stored = engine::ReadRun(files, "/j");
    ASSERT_TRUE(stored.ok()) << stored.error().ToString();
    EXPECT_EQ(stored->note, "");
    for (const engine::Entry& entry : stored->entries)
      kinds.insert(std::string(ToString(entry.type)));
  }
  for (auto type = static_cast<uint32_t>(EntryType::kOpen);
       type <= static_cast<uint32_t>(EntryType::kUnbound); ++type)
    EXPECT_TRUE(kinds.contains(std::string(ToString(static_cast<EntryType>(type)))))
        << ToString(static_cast<EntryType>(type));
}

TEST(RunbookJournals, EveryTruncationIsABeginningOfTheRunWithANote) {
  for (const auto& [name, bytes] : Journals()) {
    SCOPED_TRACE(name);
    const Whole whole = ReadWhole(bytes);
    for (size_t cut = 0; cut < bytes.size(); cut += Nightly() ? 1 : 7) {
      MemoryFiles files;
      files.Put("/j", bytes.substr(0, cut));
      const auto stored = engine::ReadRun(files, "/j");
      ASSERT_TRUE(stored.ok()) << cut << ": " << stored.error().ToString();
      const auto after = std::upper_bound(whole.ends.begin(), whole.ends.end(), cut);
      const auto held = static_cast<size_t>(after - whole.ends.begin());
      ASSERT_EQ(stored->entries.size(), held == 0 ? 0 : held - 1) << cut;
      const bool between = cut == 0 || (held > 0 && whole.ends[held - 1] == cut);
      ASSERT_EQ(stored->note.empty(), between) << cut;
      ExpectBeginning(*stored, whole, held);
    }
  }
}

TEST(RunbookJournals, EveryTurnedBitIsRefusedNamingItsRecordsBytes) {
  size_t refused = 0, beginnings = 0;
  for (const auto& [name, bytes] : Journals()) {
    SCOPED_TRACE(name);
    const Whole whole = ReadWhole(bytes);
    // A step without a common factor with 8 takes every bit of a byte in turn.
    for (size_t bit = 0; bit < bytes.size() * 8; bit += Nightly() ? 1 : 61) {
      std::string turned = bytes;
      turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
      MemoryFiles files;
      files.Put("/j", turned);
      const auto stored = engine::ReadRun(files, "/j");
      const auto after = std::upper_bound(whole.ends.begin(), whole.ends.end(), bit / 8);
      if (stored.ok()) {
        ++beginnings;
        ASSERT_FALSE(stored->note.empty()) << bit;
        ExpectBeginning(*stored, whole, whole.entries.size() - 1);
        continue;
      }
      ++refused;
      ASSERT_TRUE(stored.error().code == Code::kCorrupt || stored.error().code == Code::kInvalid);
      const std::string& said = stored.error().message;
      const size_t at = said.find("byte ");
      ASSERT_NE(at, std::string::npos) << bit << ": " << said;
      const size_t named = std::strtoull(said.c_str() + at + 5, nullptr, 10);
      ASSERT_GE(named, after == whole.ends.begin() ? 0 : *(after - 1)) << bit << ": " << said;
      ASSERT_LE(named, bit / 8) << bit << ": " << said;
      // A run that cannot be read is neither shown nor gone on with.
      ASSERT_EQ(*files.Read("/j"), turned);
    }
  }
  EXPECT_GT(refused, 0u);
  std::printf("%zu turned bits refused, %zu read as a beginning with a note\n", refused,
              beginnings);
}

}  // namespace
}  // namespace muster::testing
