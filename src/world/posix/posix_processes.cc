#include "world/posix/posix_processes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include "world/posix/errno_error.h"
#include "world/posix/posix_clock.h"
#include "world/posix/spawn.h"

namespace muster {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTermGrace = milliseconds(500);
constexpr Duration kKillGrace = seconds(2);
constexpr Duration kPollWithoutPidfd = milliseconds(10);

Duration MonotonicNow() { return PosixClock().Monotonic(); }

struct Pipe {
  UniqueFd read, write;
};

// Both ends above 2, so that the child's dup2 never closes what it is about to copy.
Result<Pipe> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Fail(ErrnoError(errno, "cannot make a pipe"));
  Pipe made{UniqueFd(fds[0]), UniqueFd(fds[1])};
  for (UniqueFd* end : {&made.read, &made.write}) {
    if (end->get() <= 2) *end = UniqueFd(::fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
  }
  return made;
}

UniqueFd OpenAbove2(const char* path, int flags) {
  UniqueFd fd(::open(path, flags | O_CLOEXEC, 0644));
  if (fd.open() && fd.get() <= 2) fd = UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  return fd;
}

void Unblock(const UniqueFd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

// Takes what is there. Closes `fd` at its end. What is past `limit` is read and dropped: the
// program must not block.
void Drain(UniqueFd& fd, std::string& sink, size_t limit, bool& truncated) {
  std::array<char, 65536> buffer;
  while (fd.open()) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      fd.Close();
      return;
    }
    const size_t room = limit - std::min(limit, sink.size());
    const size_t taken = std::min(room, static_cast<size_t>(got));
    sink.append(buffer.data(), taken);
    truncated = truncated || taken < static_cast<size_t>(got);
  }
}

// Writes what fits. A reader that went away is its own business, and must not end us by SIGPIPE.
void Feed(UniqueFd& fd, std::string_view& rest) {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  while (fd.open()) {
    const ssize_t put = rest.empty() ? 0 : ::write(fd.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put <= 0) {
      if (put < 0 && errno == EPIPE && !sigismember(&before, SIGPIPE)) {
        const timespec at_once{};
        ::sigtimedwait(&pipe_signal, nullptr, &at_once);
      }
      fd.Close();
      break;
    }
    rest.remove_prefix(static_cast<size_t>(put));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int PollMillis(Duration left, bool has_pidfd) {
  if (!has_pidfd) left = std::min(left, kPollWithoutPidfd);
  const auto whole = std::chrono::ceil<milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(whole, 0, 60'000));
}

// One command from start to end.
class Running {
 public:
  explicit Running(const Command& command) : command_(command), input_(command.stdin_text) {}

  Result<CommandResult> Run() {
    const Duration started = MonotonicNow();
    TRY_VOID(Start());
    WatchUntil(started + command_.timeout);
    if (!exit_) EndGroup();
    Drain(out_, result_.out, command_.max_output, result_.truncated);
    Drain(err_, result_.err, command_.max_output, result_.truncated);
    if (exit_) {
      Reap(process_.pid);
    } else {
      ReapLater(process_.pid);
    }
    result_.exit_code = exit_.value_or(128 + SIGKILL);
    result_.took = MonotonicNow() - started;
    return std::move(result_);
  }

 private:
  Status Start() {
    TRY(Pipe out, MakePipe());
    TRY(Pipe err, MakePipe());
    UniqueFd child_in;
    if (input_.empty()) {
      child_in = OpenAbove2("/dev/null", O_RDONLY);
      if (!child_in.open()) return Fail(ErrnoError(errno, "cannot open /dev/null"));
    } else {
      TRY(Pipe in, MakePipe());
      child_in = std::move(in.read);
      in_ = std::move(in.write);
      Unblock(in_);
    }
    TRY(process_, Spawn(command_, {child_in.get(), out.write.get(), err.write.get()}));
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    Unblock(out_);
    Unblock(err_);
    return {};
  }

  void WatchUntil(Duration deadline) {
    for (;;) {
      exit_ = PeekExit(process_.pid);
      const Duration left = deadline - MonotonicNow();
      if (exit_ || left <= Duration::zero()) return;
      std::array<pollfd, 4> watched = {{{out_.get(), POLLIN, 0},
                                        {err_.get(), POLLIN, 0},
                                        {in_.get(), POLLOUT, 0},
                                        {process_.pidfd.get(), POLLIN, 0}}};
      // poll(2) skips negative descriptors.
      ::poll(watched.data(), watched.size(), PollMillis(left, process_.pidfd.open()));
      if (watched[2].revents != 0) Feed(in_, input_);
      if (watched[0].revents != 0) {
        Drain(out_, result_.out, command_.max_output, result_.truncated);
      }
      if (watched[1].revents != 0) {
        Drain(err_, result_.err, command_.max_output, result_.truncated);
      }
    }
  }

  void EndGroup() {
    result_.timed_out = true;
    ::kill(-process_.pid, SIGTERM);
    WatchUntil(MonotonicNow() + kTermGrace);
    // Also when the leader obeyed: the others of its group may not have.
    ::kill(-process_.pid, SIGKILL);
    if (!exit_) WatchUntil(MonotonicNow() + kKillGrace);
  }

  const Command& command_;
  std::string_view input_;
  UniqueFd in_, out_, err_;
  Spawned process_;
  std::optional<int> exit_;
  CommandResult result_;
};

// A started process with the thread that started it and reads its output.
class PosixChild final : public Child {
 public:
  PosixChild(Command command, std::string log_path)
      : command_(std::move(command)),
        log_path_(std::move(log_path)),
        wake_(::eventfd(0, EFD_CLOEXEC)) {}

  ~PosixChild() override {
    if (thread_.joinable()) End();
  }

  Status Start() {
    std::promise<Status> started;
    std::future<Status> outcome = started.get_future();
    thread_ = std::thread([this, &started] { Work(started); });
    Status status = outcome.get();
    if (!status.ok()) thread_.join();
    return status;
  }

  int pid() const override { return process_.pid; }

  std::optional<int> Poll() override {
    const std::lock_guard lock(mutex_);
    return exit_;
  }

  Result<int> Wait(Duration timeout) override {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, timeout, [this] { return exit_.has_value(); })) {
      return Fail(Code::kTimeout, "process " + std::to_string(process_.pid) + " still runs");
    }
    return *exit_;
  }

  void Kill() override { ::kill(-process_.pid, SIGKILL); }

  std::string Output() override {
    const std::lock_guard lock(mutex_);
    return output_;
  }

 private:
  // The zombie is taken away only here, so until now kill(-pid) could reach nobody else's group.
  void End() {
    if (!Poll()) ::kill(-process_.pid, SIGTERM);
    const bool obeyed = Wait(kTermGrace).ok();
    ::kill(-process_.pid, SIGKILL);
    const bool ended = obeyed || Wait(kKillGrace).ok();
    const uint64_t one = 1;
    stop_ = true;
    [[maybe_unused]] const ssize_t put = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
    if (ended) {
      Reap(process_.pid);
    } else {
      ReapLater(process_.pid);
    }
  }

  Status Launch() {
    UniqueFd in = OpenAbove2("/dev/null", O_RDONLY);
    if (!in.open()) return Fail(ErrnoError(errno, "cannot open /dev/null"));
    UniqueFd out;
    if (log_path_.empty()) {
      TRY(Pipe pipe, MakePipe());
      out = std::move(pipe.write);
      out_ = std::move(pipe.read);
      Unblock(out_);
    } else {
      out = OpenAbove2(log_path_.c_str(), O_WRONLY | O_APPEND | O_CREAT);
      if (!out.open()) return Fail(ErrnoError(errno, "cannot write " + log_path_));
    }
    TRY(process_, Spawn(command_, {in.get(), out.get(), out.get()}));
    return {};
  }

  void Work(std::promise<Status>& started) {
    Status launched = Launch();
    const bool runs = launched.ok();
    started.set_value(std::move(launched));
    if (runs) Watch();
  }

  void Watch() {
    while (!stop_) {
      const bool running = !Poll().has_value();
      std::array<pollfd, 3> watched = {{{out_.get(), POLLIN, 0},
                                        {running ? process_.pidfd.get() : -1, POLLIN, 0},
                                        {wake_.get(), POLLIN, 0}}};
      const bool must_look = running && !process_.pidfd.open();
      ::poll(watched.data(), watched.size(), must_look ? 10 : 60'000);
      const std::optional<int> exit = running ? PeekExit(process_.pid) : std::nullopt;
      const std::lock_guard lock(mutex_);
      // Looked first, drained then: once Poll() says that it ended, all it printed is in Output().
      Drain(out_, output_, command_.max_output, truncated_);
      if (exit) {
        exit_ = exit;
        ended_.notify_all();
      }
    }
  }

  const Command command_;
  const std::string log_path_;
  UniqueFd wake_, out_;
  Spawned process_;
  std::thread thread_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // guards exit_ and output_
  std::condition_variable ended_;
  std::optional<int> exit_;
  std::string output_;
  bool truncated_ = false;
};

}  // namespace

Result<CommandResult> PosixProcesses::Run(const Command& command) { return Running(command).Run(); }

Result<std::unique_ptr<Child>> PosixProcesses::Start(const Command& command,
                                                     const std::string& log_path) {
  auto child = std::make_unique<PosixChild>(command, log_path);
  TRY_VOID(child->Start());
  return std::unique_ptr<Child>(std::move(child));
}

}  // namespace muster
