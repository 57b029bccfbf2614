// One host behind OpenSSH, as ports: commands, files (read only) and HTTP, all over one shared
// connection.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backend/host/ssh_target.h"
#include "base/result.h"
#include "world/world.h"

namespace muster::host {

// A folder on this machine that only we can read, made when first needed: the sockets of the shared
// connections, and a FIFO that never ends. Removed at the end. Safe for threads.
class RuntimeFolder {
 public:
  RuntimeFolder(World local, std::string parent) : local_(local), parent_(std::move(parent)) {}
  ~RuntimeFolder();
  std::string Path();  // empty when it could not be made: then connections are not shared
  std::string NewSocketPath();
  std::string HoldPath();  // the FIFO

 private:
  World local_;
  std::string parent_;
  std::mutex mutex_;
  std::optional<std::string> path_;
  int sockets_ = 0;
};

// Safe for threads. The first command connects, alone, so that many threads do not all knock at a
// dead host; when that fails the answer stands for half a minute.
class SshHost {
 public:
  // `local` and `folder` outlive it.
  SshHost(std::string name, SshTarget target, World local, RuntimeFolder& folder);
  ~SshHost();  // ends the shared connection

  Status Connect();
  // kUnavailable: the host did not answer, or went away meanwhile; kPermission: it refused the
  // login; kNotFound: no such program there. timed_out: the host ended the program (or we the
  // connection, three seconds later).
  Result<CommandResult> Run(const Command& command);
  // A script of ours. `held`: as HeldScript, with its standard input open as long as we live.
  Result<CommandResult> RunScript(std::string_view script, Duration timeout,
                                  size_t max_output = 64u << 20);
  Result<CommandResult> RunHeld(std::string_view script, Duration timeout,
                                size_t max_output = 64u << 20);
  Result<std::unique_ptr<Child>> Start(const Command& command, const std::string& log_path);

  const std::string& name() const { return name_; }
  World ports() { return {local_.clock, *files_, *processes_, *http_, local_.random}; }

 private:
  Result<CommandResult> Ssh(const std::vector<std::string>& argv, std::string_view marker,
                            Duration timeout, size_t max_output, const std::string& stdin_text);
  std::vector<std::string> HeldArgv(const std::string& line);
  std::string NewMarker();

  const std::string name_;
  SshTarget target_;
  World local_;
  RuntimeFolder& folder_;
  std::mutex mutex_;  // guards what follows
  bool connected_ = false;
  bool ever_connected_ = false;
  std::optional<Error> refusal_;
  Duration refused_at_{};

  std::unique_ptr<Processes> processes_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Http> http_;
};

}  // namespace muster::host
