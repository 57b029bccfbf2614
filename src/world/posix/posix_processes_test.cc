// Real programs: what they get and give, how they end, and that nothing of them stays.
#include <atomic>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/strings.h"
#include "world/testing/posix_fixture.h"

namespace muster {
namespace {

using testing::PosixTest;

TEST_F(PosixTest, StreamsAndExitCodeAreKeptApart) {
  const CommandResult result = Run({{"sh", "-c", "echo out; echo err >&2; exit 7"}});
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_FALSE(result.timed_out);
}

TEST_F(PosixTest, ArgumentsArriveAsTheyAre) {
  const CommandResult result = Run({{"printf", "%s|", "a b", "$(id)", "it's", "new\nline", ""}});
  EXPECT_EQ(result.out, "a b|$(id)|it's|new\nline||");
}

TEST_F(PosixTest, InputEnvironmentAndFolderReachTheProgram) {
  Command command{{"sh", "-c", "cat; echo $WORD; pwd"}};
  command.stdin_text = "in\n";
  command.env["WORD"] = "value";
  command.folder = folder_;
  EXPECT_EQ(Run(command).out, "in\nvalue\n" + folder_ + "\n");
}

TEST_F(PosixTest, LargeInputThatNobodyReadsIsNoTrouble) {
  Command command{{"true"}};
  command.stdin_text.assign(4u << 20, 'x');
  EXPECT_EQ(Run(command).exit_code, 0);
}

TEST_F(PosixTest, LargeInputAndOutputGoThroughTogether) {
  Command command{{"cat"}};
  command.stdin_text.assign(4u << 20, 'x');
  EXPECT_EQ(Run(command).out.size(), 4u << 20);
}

TEST_F(PosixTest, WithoutInputTheProgramReadsAnEmptyOne) { EXPECT_EQ(Run({{"cat"}}).out, ""); }

TEST_F(PosixTest, MissingProgramForbiddenProgramAndMissingFolderAreErrors) {
  EXPECT_EQ(w_.processes.Run({{"no-such-program-here"}}).error().code, Code::kNotFound);
  EXPECT_EQ(w_.processes.Run({{"/no/such/program"}}).error().code, Code::kNotFound);
  ASSERT_TRUE(w_.files.WriteAtomic(Path("plain"), "text").ok());
  EXPECT_EQ(w_.processes.Run({{Path("plain")}}).error().code, Code::kPermission);
  Command command{{"true"}};
  command.folder = Path("absent");
  EXPECT_EQ(w_.processes.Run(command).error().code, Code::kNotFound);
  EXPECT_EQ(w_.processes.Run({}).error().code, Code::kInvalid);
}

TEST_F(PosixTest, ProgramIsLookedForInThePathItWillGet) {
  ASSERT_TRUE(w_.files.WriteAtomic(Path("tool"), "#!/bin/sh\necho own\n").ok());
  ::chmod(Path("tool").c_str(), 0755);
  Command command{{"tool"}};
  command.env["PATH"] = folder_;
  EXPECT_EQ(Run(command).out, "own\n");
}

TEST_F(PosixTest, SignalIsExitCode128PlusItsNumber) {
  EXPECT_EQ(Run({{"sh", "-c", "kill -SEGV $$"}}).exit_code, 128 + SIGSEGV);
}

bool Gone(int pid) {
  // A zombie that nobody reaped yet has ended too.
  const Result<std::string> stat = PosixFiles().Read("/proc/" + std::to_string(pid) + "/stat");
  return !stat.ok() || Contains(*stat, ") Z ");
}

// KILL takes effect in the kernel's own time; a process that never goes ends the test by its
// suite's time limit.
void AwaitGone(Clock& clock, int pid) {
  while (!Gone(pid)) clock.SleepFor(std::chrono::milliseconds(1));
}

TEST_F(PosixTest, TimeoutEndsTheWholeGroup) {
  Command command{{"sh", "-c", "sleep 1000 & echo $!; wait"}};
  command.timeout = std::chrono::milliseconds(200);
  const CommandResult result = Run(command);
  EXPECT_TRUE(result.timed_out);
  AwaitGone(w_.clock, static_cast<int>(*ParseInt(Trim(result.out))));
}

TEST_F(PosixTest, TimeoutEndsAProgramThatIgnoresTerm) {
  Command command{{"sh", "-c", "trap '' TERM; while :; do sleep 1000; done"}};
  command.timeout = std::chrono::milliseconds(200);
  const CommandResult result = Run(command);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
}

TEST_F(PosixTest, OutputBeforeTheTimeoutIsKept) {
  Command command{{"sh", "-c", "echo half; sleep 1000"}};
  command.timeout = std::chrono::milliseconds(300);
  EXPECT_EQ(Run(command).out, "half\n");
}

TEST_F(PosixTest, TooMuchOutputIsCutAndSaidAndDoesNotBlockTheProgram) {
  Command command{{"sh", "-c", "head -c 3000000 /dev/zero; echo done >&2"}};
  command.max_output = 1000;
  const CommandResult result = Run(command);
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.err, "done\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(PosixTest, BackgroundProcessThatKeepsTheOutputOpenDoesNotHoldUp) {
  Command command{{"sh", "-c", "sleep 1000 & echo $!"}};
  const CommandResult result = Run(command);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0);
  ::kill(static_cast<int>(*ParseInt(Trim(result.out))), SIGKILL);
}

TEST_F(PosixTest, ManyThreadsRunCommandsAtOnce) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string word = std::to_string(t * 100 + i);
        const auto result = w_.processes.Run({{"echo", word}});
        if (result.ok() && result->out == word + "\n") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

TEST_F(PosixTest, StartedChildIsWaitedForAndItsOutputIsWhole) {
  auto child = w_.processes.Start({{"sh", "-c", "echo out; echo err >&2; exit 3"}}, "");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(*(*child)->Wait(std::chrono::seconds(30)), 3);
  EXPECT_EQ((*child)->Output(), "out\nerr\n");
  EXPECT_EQ((*child)->Poll(), 3);
}

TEST_F(PosixTest, StartedChildOutlivesTheThreadThatAskedForIt) {
  std::unique_ptr<Child> child;
  std::thread([&] { child = std::move(*w_.processes.Start({{"sleep", "1000"}}, "")); }).join();
  EXPECT_FALSE(child->Poll().has_value());
  EXPECT_EQ(child->Wait(std::chrono::milliseconds(1)).error().code, Code::kTimeout);
  child->Kill();
  EXPECT_EQ(*child->Wait(std::chrono::seconds(30)), 128 + SIGKILL);
}

TEST_F(PosixTest, DroppedChildTakesItsGroupWithIt) {
  auto child = w_.processes.Start({{"sh", "-c", "sleep 1000 & echo $!; wait"}}, Path("log"));
  ASSERT_TRUE(child.ok());
  const int pid = (*child)->pid();
  // The shell writes its line when it gets there; nothing else tells us when.
  std::string log;
  while (!EndsWith(log, "\n")) log = w_.files.Read(Path("log")).value_or("");
  child->reset();
  AwaitGone(w_.clock, pid);
  AwaitGone(w_.clock, static_cast<int>(*ParseInt(Trim(log))));
}

TEST_F(PosixTest, ChildThatCannotStartIsAnError) {
  EXPECT_EQ(w_.processes.Start({{"no-such-program-here"}}, "").error().code, Code::kNotFound);
  EXPECT_EQ(w_.processes.Start({{"true"}}, "/no/such/folder/log").error().code, Code::kNotFound);
}

TEST_F(PosixTest, ChildrenDieWithUs) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    PosixProcesses processes;
    auto child = processes.Start({{"sleep", "1000"}}, "/dev/null");
    const int pid = (*child)->pid();
    [[maybe_unused]] const ssize_t put = ::write(pipe[1], &pid, sizeof pid);
    ::pause();
  }
  int pid = 0;
  ASSERT_EQ(::read(pipe[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  EXPECT_FALSE(Gone(pid));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  AwaitGone(w_.clock, pid);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace muster
