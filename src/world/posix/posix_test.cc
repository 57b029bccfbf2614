// Words that a shell reads back, and the real clock and chance.
#include <set>

#include <rapidcheck.h>

#include "world/posix/shell_quote.h"
#include "world/testing/posix_fixture.h"

namespace muster {
namespace {

using testing::PosixTest;

TEST(ShellQuoteTest, PlainWordsStayPlain) {
  EXPECT_EQ(ShellQuote("nvidia-smi"), "nvidia-smi");
  EXPECT_EQ(ShellQuote(std::vector<std::string>{"ibstat", "mlx5_0"}), "ibstat mlx5_0");
}

TEST(ShellQuoteTest, EverythingElseIsQuoted) {
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(ShellQuote("~root"), "'~root'");
  EXPECT_EQ(ShellQuote(std::vector<std::string>{"A=b", "C=d"}), "'A=b' C=d");
}

TEST(ShellQuoteTest, CommandShowsFolderAndEnvironmentButNoSecret) {
  Command command{{"run", "it"}};
  command.folder = "/a b";
  command.env = {{"MODE", "x y"}, {"API_TOKEN", "hunter2"}};
  EXPECT_EQ(command.ToString(), "cd '/a b' && API_TOKEN='***' MODE='x y' run it");
}

TEST_F(PosixTest, ShellReadsBackWhatWasQuoted) {
  const bool held = rc::check("sh reads back any word", [this] {
    const auto words =
        *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
    std::string line = "printf '%s\\0'";
    std::string expected;
    for (const std::string& word : words) {
      line += " " + ShellQuote(word);
      expected += word.substr(0, word.find('\0')) + '\0';
    }
    if (words.empty()) expected = std::string(1, '\0');
    RC_ASSERT(Run({{"sh", "-c", line}}).out == expected);
  });
  EXPECT_TRUE(held);
}

TEST_F(PosixTest, RandomNumbersDiffer) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(w_.random.Next());
  EXPECT_EQ(seen.size(), 100u);
}

TEST_F(PosixTest, MonotonicTimeDoesNotGoBackAndSleepTakesItsTime) {
  const Duration before = w_.clock.Monotonic();
  w_.clock.SleepFor(std::chrono::milliseconds(2));
  w_.clock.SleepFor(std::chrono::milliseconds(-2));
  EXPECT_GE(w_.clock.Monotonic() - before, std::chrono::milliseconds(2));
  EXPECT_GT(w_.clock.Now(), TimePoint(std::chrono::sys_days{std::chrono::year{2024} / 1 / 1}));
}

}  // namespace
}  // namespace muster
