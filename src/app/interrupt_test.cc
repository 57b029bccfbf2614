// A person stops a run: it ends between two writes, what was judged stands, and `resume` comes to
// the verdicts of a run that nobody stopped.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing::LabSite;
using testing::LevelsOf;

// Asks to stop once so many things were told.
class StopAfter final : public Progress {
 public:
  explicit StopAfter(int told) : left_(told) {}
  void GateBegins(int, std::string_view, size_t) override { --left_; }
  void ReadingDone(std::string_view) override { --left_; }
  void Note(std::string_view) override { --left_; }
  void GateEnds(int, Level, std::string_view) override { --left_; }
  bool Stopped() const override { return left_ <= 0; }

 private:
  std::atomic<int> left_;
};

TEST(Interrupt, StoppedRunIsResumedToTheVerdictsOfAnUndisturbedOne) {
  std::vector<std::string> wanted;
  {
    LabSite lab;
    const auto run = lab.RunGates(1, 3);
    ASSERT_TRUE(run.ok());
    wanted = LevelsOf(*run);
  }
  int stopped = 0;
  for (int told = 0;; told += 3) {
    ASSERT_LT(told, 1000);
    LabSite lab;
    auto context = lab.Open();
    ASSERT_TRUE(context.ok());
    StopAfter progress(told);
    BringupOptions options;
    options.to = 3;
    const auto run = RunBringup(*context, options, progress);
    if (run.ok()) {
      EXPECT_EQ(LevelsOf(*run), wanted);
      break;
    }
    ++stopped;
    EXPECT_EQ(run.error().code, Code::kCancelled);
    EXPECT_THAT(run.error().message, HasSubstr("muster bringup resume --site /site/site.yaml"));
    const auto names = ListRuns(lab.files, lab.paths());
    ASSERT_TRUE(names.ok() && names->size() == 1u);
    const auto stored = ReadLedger(lab.files, lab.paths().Ledger(names->back()));
    ASSERT_TRUE(stored.ok()) << stored.error().ToString();
    EXPECT_FALSE(stored->closed);
    SilentProgress silent;
    const auto resumed = ResumeBringup(*context, options, silent);
    ASSERT_TRUE(resumed.ok()) << resumed.error().ToString();
    EXPECT_EQ(LevelsOf(*resumed), wanted) << "stopped after " << told;
  }
  EXPECT_GT(stopped, 5);
}

TEST(Interrupt, NoActIsBegunOnceARunWasStopped) {
  LabSite lab;
  lab.Set("acts", "  - {gate: 1, name: first, argv: [touch, /x]}\n");
  ASSERT_EQ(lab.problem, "");
  auto context = lab.Open();
  ASSERT_TRUE(context.ok());
  StopAfter progress(0);
  BringupOptions options;
  options.to = 1;
  EXPECT_FALSE(RunBringup(*context, options, progress).ok());
  EXPECT_TRUE(lab.processes.asked().empty());
}

}  // namespace
}  // namespace muster
