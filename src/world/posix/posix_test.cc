// Longer than 500 lines because every port of the real machine is held to its word here, one after
// the other. The real ports against the real machine: files, processes and HTTP on loopback.
#include <arpa/inet.h>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <netinet/in.h>
#include <set>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "world/posix/posix_world.h"
#include "world/posix/shell_quote.h"

namespace muster {
namespace {

class PosixTest : public ::testing::Test {
 protected:
  PosixTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-world-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PosixTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  CommandResult Run(Command command) {
    Result<CommandResult> result = world_.ports().processes.Run(command);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *result : CommandResult{};
  }

  PosixWorld world_;
  World w_ = world_.ports();
  std::string folder_;
};

// --- quoting ---

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

// --- files ---

TEST_F(PosixTest, WrittenFileReadsBackAndLeavesNothingBeside) {
  const std::string bytes("a\0b\xff\n", 5);
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), bytes).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), bytes).ok());
  EXPECT_EQ(*w_.files.Read(Path("f")), bytes);
  EXPECT_EQ(w_.files.List(folder_)->size(), 1u);
}

TEST_F(PosixTest, MissingForbiddenAndTooLargeAreToldApart) {
  EXPECT_EQ(w_.files.Read(Path("absent")).error().code, Code::kNotFound);
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), "12345").ok());
  EXPECT_EQ(w_.files.Read(Path("f"), 4).error().code, Code::kInvalid);
  EXPECT_EQ(*w_.files.Read(Path("f"), 5), "12345");
  EXPECT_EQ(w_.files.Read(folder_).error().code, Code::kInvalid);
  EXPECT_EQ(w_.files.Read(Path("f/g")).error().code, Code::kNotFound);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ::chmod(Path("f").c_str(), 0);
  EXPECT_EQ(w_.files.Read(Path("f")).error().code, Code::kPermission);
}

TEST_F(PosixTest, KernelFilesWhoseSizeIsALieAreReadWhole) {
  EXPECT_TRUE(Contains(*w_.files.Read("/proc/self/status"), "Pid:"));
}

TEST_F(PosixTest, KeyIsReadableByItsOwnerOnly) {
  ASSERT_TRUE(w_.files.WriteAtomic(Path("site.key"), "secret").ok());
  struct stat s{};
  ASSERT_EQ(::stat(Path("site.key").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0077, 0u);
}

TEST_F(PosixTest, AppendsAddUpAndCutShortens) {
  {
    auto file = w_.files.OpenAppend(Path("log"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append("one").ok());
    ASSERT_TRUE((*file)->Sync().ok());
  }
  auto again = w_.files.OpenAppend(Path("log"));
  ASSERT_TRUE((*again)->Append("two").ok());
  EXPECT_EQ(*w_.files.Read(Path("log")), "onetwo");
  ASSERT_TRUE(w_.files.Truncate(Path("log"), 3).ok());
  ASSERT_TRUE((*again)->Append("!").ok());
  EXPECT_EQ(*w_.files.Read(Path("log")), "one!");
}

TEST_F(PosixTest, ListIsSortedAndFollowsLinks) {
  ASSERT_TRUE(w_.files.MakeFolders(Path("b/inner")).ok());
  ASSERT_TRUE(w_.files.MakeFolders(Path("b/inner")).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("c"), "xyz").ok());
  ASSERT_EQ(::symlink("b", Path("a").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", Path("d").c_str()), 0);
  const auto list = w_.files.List(folder_);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 4u);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_TRUE((*list)[0].is_directory);
  EXPECT_EQ((*list)[2].size, 3u);
  EXPECT_FALSE((*list)[3].is_directory);
  EXPECT_EQ(w_.files.List(Path("absent")).error().code, Code::kNotFound);
}

TEST_F(PosixTest, RemoveTakesAFolderWithAllInItAndForgivesAbsence) {
  ASSERT_TRUE(w_.files.MakeFolders(Path("x/y")).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("x/y/f"), "1").ok());
  EXPECT_TRUE(w_.files.Remove(Path("x")).ok());
  EXPECT_TRUE(w_.files.Remove(Path("x")).ok());
  EXPECT_EQ(w_.files.Stat(Path("x")).error().code, Code::kNotFound);
}

TEST_F(PosixTest, SecondLockIsRefusedNamingTheFirst) {
  auto first = w_.files.Lock(Path("lock"), "run 17, pid 42");
  ASSERT_TRUE(first.ok());
  const auto second = w_.files.Lock(Path("lock"), "run 18");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_TRUE(Contains(second.error().message, "run 17, pid 42"));
  first->reset();
  EXPECT_TRUE(w_.files.Lock(Path("lock"), "run 18").ok());
}

TEST_F(PosixTest, LockOfADeadProcessIsFree) {
  const pid_t child = ::fork();
  if (child == 0) {
    PosixFiles files;
    const auto lock = files.Lock(Path("lock"), "child");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(w_.files.Lock(Path("lock"), "parent").ok());
}

TEST_F(PosixTest, FullDiskIsSaid) {
  auto full = w_.files.OpenAppend("/dev/full");
  if (!full.ok()) GTEST_SKIP() << "no /dev/full here";
  const Status put = (*full)->Append("x");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, Code::kUnavailable);
  EXPECT_TRUE(Contains(put.error().message, "No space left"));
}

// --- processes ---

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
void AwaitGone(int pid) {
  while (!Gone(pid)) ::usleep(1000);
}

TEST_F(PosixTest, TimeoutEndsTheWholeGroup) {
  Command command{{"sh", "-c", "sleep 1000 & echo $!; wait"}};
  command.timeout = std::chrono::milliseconds(200);
  const CommandResult result = Run(command);
  EXPECT_TRUE(result.timed_out);
  AwaitGone(static_cast<int>(*ParseInt(Trim(result.out))));
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
  AwaitGone(pid);
  AwaitGone(static_cast<int>(*ParseInt(Trim(log))));
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
  AwaitGone(pid);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// --- chance and time ---

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

// --- HTTP ---

// One connection after another, each answered with the pieces given, one write for each.
class TinyServer {
 public:
  explicit TinyServer(std::vector<std::string> pieces, bool keep_alive = false)
      : pieces_(std::move(pieces)), keep_alive_(keep_alive) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TinyServer() {
    ::shutdown(listener_, SHUT_RDWR);
    ::shutdown(peer_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string Url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  int connections() const { return connections_; }
  std::string last_request() const { return last_request_; }  // after the answer came

 private:
  void Serve() {
    for (;;) {
      const int peer = ::accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      ++connections_;
      peer_ = peer;
      while (ReadRequest(peer)) {
        for (const std::string& piece : pieces_) {
          if (::send(peer, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) break;
        }
        if (!keep_alive_) break;
      }
      peer_ = -1;
      ::close(peer);
    }
  }
  bool ReadRequest(int peer) {
    std::string text;
    char buffer[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      text.append(buffer, static_cast<size_t>(got));
    }
    last_request_ = text;
    return true;
  }

  std::vector<std::string> pieces_;
  bool keep_alive_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> peer_ = -1;
  std::string last_request_;
  std::thread thread_;
};

HttpRequest Get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  request.timeout = std::chrono::seconds(30);
  return request;
}

TEST_F(PosixTest, HttpAnswerHasStatusHeadersAndBody) {
  TinyServer server(
      {"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nX-Two: a\r\nX-Two: "
       "b\r\nContent-Length: 4\r\n\r\ngone"});
  HttpRequest request = Get(server.Url("/x?y=1"));
  request.headers["X-Mine"] = "value";
  const auto response = w_.http.Do(request);
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->headers.at("content-type"), "text/plain");
  EXPECT_EQ(response->headers.at("x-two"), "a, b");
  EXPECT_EQ(response->body, "gone");
  EXPECT_TRUE(Contains(server.last_request(), "GET /x?y=1 HTTP/1.1"));
  EXPECT_TRUE(Contains(server.last_request(), "X-Mine: value"));
}

TEST_F(PosixTest, HttpConnectionIsUsedAgain) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, true);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(w_.http.Do(Get(server.Url()))->body, "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(PosixTest, HttpLoopbackGoesPastAnyProxy) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(w_.http.Do(Get(server.Url())).ok());
  ::unsetenv("http_proxy");
}

TEST_F(PosixTest, HttpFailuresAreToldApart) {
  EXPECT_EQ(w_.http.Do(Get("http://127.0.0.1:1/")).error().code, Code::kUnavailable);
  EXPECT_TRUE(w_.http.Do(Get("http://127.0.0.1:1/")).error().retryable);
  EXPECT_EQ(w_.http.Do(Get("not a url")).error().code, Code::kInvalid);
  EXPECT_EQ(w_.http.Do(Get("file:///etc/passwd")).error().code, Code::kInvalid);
  TinyServer cut({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"});
  EXPECT_FALSE(w_.http.Do(Get(cut.Url())).ok());
  TinyServer other({"SSH-2.0-OpenSSH_9.2p1\r\n"});
  EXPECT_EQ(w_.http.Do(Get(other.Url())).error().code, Code::kParse);
  TinyServer large({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"});
  HttpRequest request = Get(large.Url());
  request.max_body = 9;
  EXPECT_EQ(w_.http.Do(request).error().code, Code::kParse);
}

TEST_F(PosixTest, HttpServerThatSaysNothingIsATimeout) {
  TinyServer silent({}, true);
  HttpRequest request = Get(silent.Url());
  request.timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(w_.http.Do(request).error().code, Code::kTimeout);
}

TEST_F(PosixTest, HttpStreamHandsPiecesOverWithRisingStampsAfterTheRequestWentOut) {
  TinyServer server({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\none\r\n",
                     "3\r\ntwo\r\n", "0\r\n\r\n"});
  std::string body;
  Duration last{}, sent{};
  const Duration before = w_.clock.Monotonic();
  const auto response = w_.http.Stream(
      Get(server.Url()),
      [&](std::string_view bytes, Duration at) {
        EXPECT_GE(at, last);
        last = at;
        body += bytes;
        return true;
      },
      sent);
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(body, "onetwo");
  EXPECT_EQ(response->body, "");
  EXPECT_GT(sent, before);
  EXPECT_GT(last, sent);
}

TEST_F(PosixTest, HttpStreamEndsWhenTheCallerHasEnough) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst"});
  Duration sent{};
  const auto response =
      w_.http.Stream(Get(server.Url()), [](std::string_view, Duration) { return false; }, sent);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
}

}  // namespace
}  // namespace muster
