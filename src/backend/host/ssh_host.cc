#include "backend/host/ssh_host.h"

#include <fmt/format.h>

#include "backend/host/remote_script.h"
#include "backend/remote_ports.h"
#include "base/strings.h"

namespace muster::host {

namespace {

using std::chrono::seconds;

constexpr Duration kRefusalStands = seconds(30);
// How much longer than the program the connection may take: `timeout` on the host comes first.
constexpr Duration kConnectionMargin = seconds(3);
constexpr Duration kConnectLimit = seconds(60);

class SshProcesses final : public Processes {
 public:
  explicit SshProcesses(SshHost& host) : host_(host) {}
  Result<CommandResult> Run(const Command& command) override { return host_.Run(command); }
  Result<std::unique_ptr<Child>> Start(const Command& command,
                                       const std::string& log_path) override {
    return host_.Start(command, log_path);
  }

 private:
  SshHost& host_;
};

}  // namespace

RuntimeFolder::~RuntimeFolder() {
  if (path_ && !path_->empty()) static_cast<void>(local_.files.Remove(*path_).ok());
}

std::string RuntimeFolder::Path() {
  const std::lock_guard lock(mutex_);
  if (path_) return *path_;
  path_ = "";
  // mktemp makes it for us alone (0700) and under a name that nobody could have taken before.
  Command command{{"mktemp", "-d", parent_ + "/muster-ssh.XXXXXXXX"}};
  const Result<CommandResult> made = local_.processes.Run(command);
  if (made.ok() && made->exit_code == 0) {
    path_ = std::string(Trim(made->out));
    static_cast<void>(local_.processes.Run({{"mkfifo", *path_ + "/hold"}}).ok());
  }
  return *path_;
}

std::string RuntimeFolder::NewSocketPath() {
  const std::string folder = Path();
  const std::lock_guard lock(mutex_);
  // Not ssh's own %C: that is the same for two names of one address, and one may be refused where
  // the other is not.
  return folder.empty() ? "" : fmt::format("{}/{}", folder, sockets_++);
}

std::string RuntimeFolder::HoldPath() { return Path() + "/hold"; }

SshHost::SshHost(std::string name, SshTarget target, World local, RuntimeFolder& folder)
    : name_(std::move(name)),
      target_(std::move(target)),
      local_(local),
      folder_(folder),
      processes_(std::make_unique<SshProcesses>(*this)),
      files_(MakeRemoteFiles(name_, [this](const Command& c) { return Run(c); })),
      http_(MakeRemoteHttp(name_, [this](const Command& c) { return Run(c); }, local.clock)) {}

SshHost::~SshHost() {
  if (!ever_connected_ || target_.control_path.empty()) return;
  Command command{target_.ExitArgv()};
  command.timeout = seconds(5);
  static_cast<void>(local_.processes.Run(command).ok());
}

Status SshHost::Connect() {
  const std::lock_guard lock(mutex_);
  if (connected_) return {};
  if (refusal_ && local_.clock.Monotonic() - refused_at_ < kRefusalStands) {
    return Fail(Error(*refusal_));
  }
  if (!ever_connected_) target_.control_path = folder_.NewSocketPath();
  Command command{target_.Argv("exit 0")};
  command.timeout = kConnectLimit;
  const Result<CommandResult> result = local_.processes.Run(command);
  if (result.ok() && !result->timed_out && result->exit_code == 0) {
    connected_ = ever_connected_ = true;
    refusal_.reset();
    return {};
  }
  refused_at_ = local_.clock.Monotonic();
  if (!result.ok()) {
    refusal_ = Error{Code::kUnavailable,
                     fmt::format("{} cannot be reached: {}", name_, result.error().ToString()),
                     {}};
  } else if (result->timed_out) {
    refusal_ = Error{Code::kUnavailable,
                     fmt::format("{} cannot be reached: no answer within {}", name_,
                                 FormatDuration(kConnectLimit)),
                     {}};
  } else {
    refusal_ = SshError(name_, result->err);
  }
  return Fail(Error(*refusal_));
}

std::string SshHost::NewMarker() { return fmt::format("muster-{:016x}", local_.random.Next()); }

Result<CommandResult> SshHost::Ssh(const std::vector<std::string>& argv, std::string_view marker,
                                   Duration timeout, size_t max_output,
                                   const std::string& stdin_text) {
  Command command{argv};
  command.timeout = timeout;
  command.max_output = max_output;
  command.stdin_text = stdin_text;
  TRY(CommandResult result, local_.processes.Run(command));
  if (result.exit_code != 255 || result.timed_out) return result;
  if (TakeMarked(result.err, marker, "exit")) return result;
  if (TakeMarked(result.err, marker, "missing")) {
    return Fail(Code::kNotFound, fmt::format("no such program on {}", name_));
  }
  if (TakeMarked(result.err, marker, "forbidden")) {
    return Fail(Code::kPermission, fmt::format("the program may not be executed on {}", name_));
  }
  if (TakeMarked(result.err, marker, "folder")) {
    return Fail(Code::kNotFound, fmt::format("no such folder on {}", name_));
  }
  const std::lock_guard lock(mutex_);
  connected_ = false;
  return Fail(SshError(name_, result.err));
}

Result<CommandResult> SshHost::Run(const Command& command) {
  const std::string marker = NewMarker();
  const int64_t limit = std::chrono::ceil<seconds>(command.timeout).count();
  TRY(const std::string script, CommandScript(command, marker, limit));
  TRY_VOID(Connect());
  TRY(CommandResult result,
      Ssh(target_.Argv(ShellLine(script)), marker, seconds(limit) + kConnectionMargin,
          command.max_output, command.stdin_text));
  // timeout(1) ends with 124, or with 137 when TERM was not enough.
  if ((result.exit_code == 124 || result.exit_code == 137) && result.took >= command.timeout) {
    result.timed_out = true;
  }
  return result;
}

Result<CommandResult> SshHost::RunScript(std::string_view script, Duration timeout,
                                         size_t max_output) {
  Command command{{"/bin/sh", "-c", std::string(script)}};
  command.timeout = timeout;
  command.max_output = max_output;
  return Run(command);
}

std::vector<std::string> SshHost::HeldArgv(const std::string& line) {
  // Opened for reading and writing the FIFO never ends while ssh lives, and ends for the host when
  // ssh is gone.
  std::vector<std::string> argv = {"/bin/sh", "-c", "exec 0<>\"$1\"; shift; exec \"$@\"", "sh",
                                   folder_.HoldPath()};
  const std::vector<std::string> ssh = target_.Argv(line);
  argv.insert(argv.end(), ssh.begin(), ssh.end());
  return argv;
}

Result<CommandResult> SshHost::RunHeld(std::string_view script, Duration timeout,
                                       size_t max_output) {
  TRY_VOID(Connect());
  const std::string marker = NewMarker();
  const int64_t limit = std::chrono::ceil<seconds>(timeout).count() + 10;
  const std::string held = HeldScript(script, marker, limit);
  return Ssh(HeldArgv(ShellLine(held)), marker, timeout, max_output, "");
}

Result<std::unique_ptr<Child>> SshHost::Start(const Command& command, const std::string& log_path) {
  TRY(const std::string script, ExecScript(command));
  TRY_VOID(Connect());
  Command ssh{HeldArgv(ShellLine(HeldScript(script, NewMarker(), 0)))};
  ssh.max_output = command.max_output;
  return local_.processes.Start(ssh, log_path);
}

}  // namespace muster::host
