// Makes the real world, looks the command up, returns its exit code.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

#include "api/alert_server.h"
#include "api/health_server.h"
#include "cli/commands.h"
#include "main/hidden.h"
#include "world/posix/posix_inputs.h"
#include "world/posix/posix_world.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultSite() {
  if (std::string named = Variable("MUSTER_SITE"); !named.empty()) return named;
  for (const char* path : {"site.yaml", "muster-lab/site.yaml"}) {
    if (::access(path, R_OK) == 0) return path;
  }
  return "";
}

// The journal makes this safe at any moment: what was begun is resumed or told about.
[[noreturn]] void EndNow(int) {
  constexpr char kSaid[] =
      "muster: the time of --timeout is up; `muster bringup resume` continues an interrupted run\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
  ::_exit(static_cast<int>(muster::ExitCode::kTimeout));
}

void EndAfter(muster::Duration span) {
  std::signal(SIGALRM, EndNow);
  const auto whole = std::chrono::floor<std::chrono::seconds>(span);
  itimerval timer{};
  timer.it_value.tv_sec = whole.count();
  timer.it_value.tv_usec =
      std::chrono::duration_cast<std::chrono::microseconds>(span - whole).count();
  if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

volatile std::sig_atomic_t interrupts = 0;

// The first is only noted: the command stops at its next good moment. The second is meant; the
// journal makes that safe too.
void NoteInterrupt(int) {
  constexpr char kFirst[] =
      "\nmuster: stopping as soon as what runs now has ended; once more ends it at once\n";
  constexpr char kSecond[] =
      "\nmuster: ended; `muster bringup resume` continues an interrupted run; a submitted job goes "
      "on\n";
  interrupts = interrupts + 1;
  if (interrupts == 1) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kFirst, sizeof kFirst - 1);
    return;
  }
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSecond, sizeof kSecond - 1);
  ::_exit(static_cast<int>(muster::ExitCode::kInterrupted));
}

void CatchInterrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before{};
    struct sigaction noted{};
    noted.sa_handler = NoteInterrupt;
    noted.sa_flags = SA_RESTART;
    // Who started us to ignore it (nohup, a shell's background job) meant it.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(signal, &noted, nullptr);
  }
}

int Columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  muster::PosixWorld posix;
  muster::World world = posix.ports();
  if (const auto code = muster::RunHidden(words, world)) return *code;

  muster::cli::Context context{.world = world, .out = std::cout, .err = std::cerr};
  muster::PosixInputs inputs;
  context.make_alert_server = muster::MakeAlertServer;
  context.make_health_server = muster::MakeHealthServer;
  context.inputs = &inputs;
  context.out_is_terminal = ::isatty(STDOUT_FILENO) != 0;
  context.err_is_terminal = ::isatty(STDERR_FILENO) != 0;
  context.color =
      context.out_is_terminal && Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  context.utf8 = (Variable("LC_ALL") + Variable("LC_CTYPE") + Variable("LANG")).find("UTF-8") !=
                 std::string::npos;
  context.width = Columns();
  std::vector<char> path(4096);
  const auto length = ::readlink("/proc/self/exe", path.data(), path.size());
  context.self_binary =
      length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : argv[0];
  ::gethostname(path.data(), path.size());
  context.user_at_host =
      (Variable("USER").empty() ? std::to_string(::getuid()) : Variable("USER")) + "@" +
      path.data();
  context.default_site = DefaultSite();
  context.end_after = EndAfter;
  context.catch_interrupts = CatchInterrupts;
  context.interrupted = [] { return interrupts != 0; };
  return static_cast<int>(muster::cli::Dispatch(context, words));
}
