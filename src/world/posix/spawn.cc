#include "world/posix/spawn.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/posix/errno_error.h"

extern char** environ;

namespace muster {

namespace {

// Everything the child needs, made ready before vfork.
struct ExecPlan {
  const char* program = nullptr;
  const char* folder = nullptr;
  char* const* argv = nullptr;
  char* const* shell_argv = nullptr;  // for a script without "#!"
  char* const* env = nullptr;
  ChildStreams streams;
  int report = -1;
  pid_t parent = -1;
};

[[noreturn]] void RunChild(const ExecPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Had the parent died before prctl, no signal would ever come.
  if (::getppid() != plan.parent) ::_exit(127);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    ::sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool ready = ::dup2(plan.streams.in, 0) >= 0 && ::dup2(plan.streams.out, 1) >= 0 &&
                     ::dup2(plan.streams.err, 2) >= 0 &&
                     (plan.folder == nullptr || ::chdir(plan.folder) == 0);
  if (ready) {
    // Sockets and files that a library opened without O_CLOEXEC must not live on in the child.
    ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    ::execve(plan.program, plan.argv, plan.env);
    if (errno == ENOEXEC) ::execve("/bin/sh", plan.shell_argv, plan.env);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t put = ::write(plan.report, &error, sizeof error);
  ::_exit(127);
}

// Nothing but the call: locals of a function that calls vfork may be overwritten by the child.
pid_t Launch(const ExecPlan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) RunChild(plan);
  return pid;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> MergedEnvironment(const Command& command) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!command.env.contains(std::string(text.substr(0, text.find('='))))) {
      merged.emplace_back(text);
    }
  }
  for (const auto& [name, value] : command.env) merged.push_back(name + "=" + value);
  return merged;
}

Result<std::string> FindProgram(const Command& command) {
  const std::string& name = command.argv[0];
  if (name.empty()) return Fail(Code::kInvalid, "an empty program name");
  if (Contains(name, "/")) return name;
  const auto own = command.env.find("PATH");
  const char* inherited = std::getenv("PATH");
  // ibstat and its kin live in /usr/sbin, which a login that is not root's does not search.
  const std::string path =
      own != command.env.end()
          ? own->second
          : fmt::format("{}:/usr/local/sbin:/usr/sbin:/sbin",
                        inherited != nullptr ? inherited : "/usr/local/bin:/usr/bin:/bin");
  bool forbidden = false;
  for (const std::string_view folder : Split(path, ':')) {
    if (folder.empty()) continue;
    std::string candidate = fmt::format("{}/{}", folder, name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    forbidden = forbidden || errno == EACCES;
  }
  if (forbidden) return Fail(Code::kPermission, fmt::format("{} may not be executed", name));
  return Fail(Code::kNotFound, fmt::format("no program \"{}\" in PATH", name));
}

std::mutex orphans_mutex;
std::vector<pid_t>& Orphans() {
  static std::vector<pid_t> pids;
  return pids;
}

void ReapOrphans() {
  const std::lock_guard lock(orphans_mutex);
  std::erase_if(Orphans(), [](pid_t pid) { return Reap(pid); });
}

}  // namespace

Result<Spawned> Spawn(const Command& command, const ChildStreams& streams) {
  if (command.argv.empty()) return Fail(Code::kInvalid, "a command without a program");
  ReapOrphans();
  TRY(const std::string program, FindProgram(command));
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> shell = {"/bin/sh", program};
  shell.insert(shell.end(), command.argv.begin() + 1, command.argv.end());
  std::vector<std::string> env = MergedEnvironment(command);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> shell_pointers = Pointers(shell);
  const std::vector<char*> env_pointers = Pointers(env);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return Fail(ErrnoError(errno, "cannot make a pipe"));
  const UniqueFd report_in(pipe[0]);
  UniqueFd report_out(pipe[1]);

  const ExecPlan plan{
      program.c_str(),      command.folder.empty() ? nullptr : command.folder.c_str(),
      argv_pointers.data(), shell_pointers.data(),
      env_pointers.data(),  streams,
      report_out.get(),     ::getpid()};
  // The child shares our memory until exec: no handler of ours may run in it.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = Launch(plan);
  const int launch_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Fail(ErrnoError(launch_error, "cannot start " + program));

  report_out.Close();
  int exec_error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report_in.get(), &exec_error, sizeof exec_error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof exec_error)) {
    ::waitpid(pid, nullptr, 0);
    return Fail(ErrnoError(exec_error, "cannot start " + program));
  }
  // By number: <sys/pidfd.h> of glibc 2.36 declares pidfd_open without C linkage.
  return Spawned{pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

std::optional<int> PeekExit(pid_t pid) {
  siginfo_t info{};
  int outcome = 0;
  do {
    outcome = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (outcome != 0 && errno == EINTR);
  // Somebody else took the zombie (SIGCHLD ignored): that it ended is all that can be known.
  if (outcome != 0) return 127;
  if (info.si_pid == 0) return std::nullopt;
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

bool Reap(pid_t pid) {
  pid_t got = 0;
  do {
    got = ::waitpid(pid, nullptr, WNOHANG);
  } while (got < 0 && errno == EINTR);
  return got != 0;
}

void ReapLater(pid_t pid) {
  const std::lock_guard lock(orphans_mutex);
  Orphans().push_back(pid);
}

}  // namespace muster
