// The plug is pulled at every file call of a run, and the run goes on afterwards: the end is that
// of a run that nobody disturbed.
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/bringup.h"
#include "app/testing/lab_site.h"
#include "world/posix/posix_files.h"
#include "world/testing/faulty.h"

namespace muster {
namespace {

using testing::FaultKind;
using testing::FaultPlan;
using testing::FaultyFiles;
using testing::LabSite;
using testing::LevelsOf;

constexpr int kTo = 3;  // later gates write the same records
BringupOptions Options() {
  BringupOptions options;
  options.to = kTo;
  options.by = "tester@here";
  return options;
}

// An act with a probe that remembers the deed, so that a repeat is seen.
void AddAct(LabSite& lab, int& done) {
  lab.Set("acts",
          "  - gate: 2\n    name: converge\n    argv: [converge]\n    probe: [converged]\n"
          "    destructive: true\n");
  lab.processes.On("converge", [&done](const Command&) -> Result<CommandResult> {
    ++done;
    return CommandResult{};
  });
  lab.processes.On("converged", [&done](const Command&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = done > 0 ? 0 : 1;
    return result;
  });
}

Result<muster::Run> ResumeOrRun(LabSite& lab) {
  TRY(SiteContext context, lab.Open());
  SilentProgress progress;
  BringupOptions options = Options();
  options.approve_destructive = true;
  auto resumed = ResumeBringup(context, options, progress);
  if (resumed.ok() || resumed.error().code != Code::kNotFound) return resumed;
  return RunBringup(context, options, progress);
}

std::vector<std::string> Undisturbed() {
  LabSite lab;
  int done = 0;
  AddAct(lab, done);
  const auto run = ResumeOrRun(lab);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().ToString());
  EXPECT_EQ(done, 1);
  return run.ok() ? LevelsOf(*run) : std::vector<std::string>{};
}

// Runs into the fault at call `at`, cuts the power, goes on. False when the run did not get there.
bool CutAndGoOn(FaultKind kind, int at, uint64_t kept, const std::vector<std::string>& wanted) {
  LabSite lab;
  int done = 0;
  AddAct(lab, done);
  FaultPlan plan(kind, at, true);
  FaultyFiles dying(lab.files, plan);
  {
    auto context = lab.Open(dying);
    if (context.ok()) {
      SilentProgress progress;
      BringupOptions options = Options();
      options.approve_destructive = true;
      const auto cut = RunBringup(*context, options, progress);
      if (!plan.reached()) {
        EXPECT_TRUE(cut.ok());
        return false;
      }
    }
  }
  lab.files.Crash(kept);
  lab.clock.Advance(std::chrono::minutes(1));

  const auto names = ListRuns(lab.files, lab.paths());
  EXPECT_TRUE(names.ok());
  for (const std::string& name : *names) {
    const auto stored = ReadLedger(lab.files, lab.paths().Ledger(name));
    EXPECT_TRUE(stored.ok() || stored.error().code == Code::kNotFound)
        << "a crash is never damage: " << stored.error().ToString();
  }
  const auto run = ResumeOrRun(lab);
  EXPECT_TRUE(run.ok()) << run.error().ToString();
  if (!run.ok()) return true;
  EXPECT_EQ(LevelsOf(*run), wanted);
  EXPECT_EQ(done, 1) << "a destructive act was repeated, or lost";
  const auto stored = ReadLedger(lab.files, lab.paths().Ledger(run->header.run));
  EXPECT_TRUE(stored.ok() && stored->closed);
  if (stored.ok()) {
    EXPECT_EQ(LevelsOf(*stored), wanted);
  }
  const auto verified =
      VerifyRun(lab.files, lab.paths().Ledger(run->header.run), *LoadEmbedded().value());
  EXPECT_TRUE(verified.ok());
  if (verified.ok()) {
    EXPECT_TRUE(verified->differences.empty());
  }
  return true;
}

int CutEverywhere(FaultKind kind, uint64_t kept) {
  const auto wanted = Undisturbed();
  int at = 1;
  for (; at < 1000; ++at) {
    SCOPED_TRACE(fmt::format("file call {}, {} bytes kept", at, kept));
    if (!CutAndGoOn(kind, at, kept, wanted)) break;
    if (::testing::Test::HasFailure()) break;
  }
  return at - 1;
}

TEST(BringupCrash, EveryCallMayBeTheLastAndTheEndIsTheSame) {
  EXPECT_GT(CutEverywhere(FaultKind::kFail, 0), 20);
}

TEST(BringupCrash, HalfAWriteMayBeTheLastAndTheEndIsTheSame) {
  EXPECT_GT(CutEverywhere(FaultKind::kGarble, 1u << 30), 20);
}

TEST(BringupCrash, SomeBytesOfTheLastWriteMaySurvive) {
  EXPECT_GT(CutEverywhere(FaultKind::kLate, 29), 20);
}

// The real thing, through the kernel: the process ends inside a write.
class EndingFiles final : public Files {
 public:
  EndingFiles(Files& inner, int at) : inner_(inner), at_(at) {}
  Result<std::string> Read(const std::string& path, uint64_t limit) override {
    return inner_.Read(path, limit);
  }
  Status WriteAtomic(const std::string& path, std::string_view bytes) override {
    Count();
    return inner_.WriteAtomic(path, bytes);
  }
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override {
    Count();
    TRY(auto file, inner_.OpenAppend(path));
    return std::unique_ptr<AppendFile>(std::make_unique<Ending>(*this, std::move(file)));
  }
  Status Truncate(const std::string& path, uint64_t size) override {
    Count();
    return inner_.Truncate(path, size);
  }
  Result<std::vector<FileInfo>> List(const std::string& folder) override {
    return inner_.List(folder);
  }
  Result<FileInfo> Stat(const std::string& path) override { return inner_.Stat(path); }
  Status MakeFolders(const std::string& path) override {
    Count();
    return inner_.MakeFolders(path);
  }
  Status Remove(const std::string& path) override { return inner_.Remove(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override {
    return inner_.Lock(path, note);
  }

 private:
  static constexpr int kEnded = 77;
  class Ending final : public AppendFile {
   public:
    Ending(EndingFiles& owner, std::unique_ptr<AppendFile> inner)
        : owner_(owner), inner_(std::move(inner)) {}
    Status Append(std::string_view bytes) override {
      if (++owner_.calls_ == owner_.at_) {
        (void)inner_->Append(bytes.substr(0, bytes.size() / 2));
        ::_exit(kEnded);
      }
      return inner_->Append(bytes);
    }
    Status Sync() override {
      owner_.Count();
      return inner_->Sync();
    }

   private:
    EndingFiles& owner_;
    std::unique_ptr<AppendFile> inner_;
  };
  void Count() {
    if (++calls_ == at_) ::_exit(kEnded);
  }

  Files& inner_;
  int at_, calls_ = 0;
};

class BringupKill : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/muster-kill-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<muster::Run> Go(Files& files, bool resume) {
    testing::TestMachine machine;
    TRY(SiteContext context, OpenSite(folder_ + "/site.yaml", machine.world(files), {"", true}));
    context.jobs = std::make_unique<testing::FakeJobs>(2);
    context.endpoints = std::make_unique<testing::NoEndpoints>();
    SilentProgress progress;
    if (resume) {
      auto resumed = ResumeBringup(context, Options(), progress);
      if (resumed.ok() || resumed.error().code != Code::kNotFound) return resumed;
    }
    return RunBringup(context, Options(), progress);
  }

  std::string folder_;
};

TEST_F(BringupKill, ProcessThatEndsInsideAWriteIsResumedToTheSameEnd) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a process with threads is not forked under the thread sanitizer";
#endif
  testing::TestMachine machine;
  PosixFiles disk;
  World world = machine.world(disk);
  ASSERT_TRUE(InitLab(world, folder_ + "/site.yaml", "rehearsal",
                      ParseClusterSpec(testing::kTestSpec).value(), 5, false)
                  .ok());
  const auto undisturbed = Go(disk, false);
  ASSERT_TRUE(undisturbed.ok()) << undisturbed.error().ToString();
  const auto wanted = LevelsOf(*undisturbed);

  int at = 1;
  for (bool ended = true; ended && at < 200; ++at) {
    SCOPED_TRACE(fmt::format("write {}", at));
    std::filesystem::remove_all(folder_ + "/.muster/runs");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      EndingFiles dying(disk, at);
      ::_exit(Go(dying, false).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ended = WEXITSTATUS(status) == 77;
    ASSERT_TRUE(ended || WEXITSTATUS(status) == 0);
    if (!ended) break;
    const auto run = Go(disk, true);
    ASSERT_TRUE(run.ok()) << run.error().ToString();
    ASSERT_EQ(LevelsOf(*run), wanted);
  }
  EXPECT_GT(at, 10);
}

}  // namespace
}  // namespace muster
