#include "backend/host/ssh_target.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::host {

namespace {

std::string Get(const std::map<std::string, std::string>& options, const std::string& key,
                std::string_view otherwise = "") {
  const auto found = options.find(key);
  return found == options.end() ? std::string(otherwise) : found->second;
}

// ssh expands "~" in its options, but not in the name of its configuration file.
std::string ExpandHome(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || !path.starts_with("~/")) return path;
  return home + path.substr(1);
}

std::vector<std::string> Common(const SshTarget& target) {
  std::vector<std::string> argv = {"ssh"};
  const auto add = [&](const std::string& option) {
    argv.push_back("-o");
    argv.push_back(option);
  };
  if (const std::string config = Get(target.options, "config"); !config.empty()) {
    argv.push_back("-F");
    argv.push_back(ExpandHome(config));
  }
  add("BatchMode=yes");
  add("ConnectTimeout=" + Get(target.options, "connect_timeout", "10"));
  add("ServerAliveInterval=15");
  add("ServerAliveCountMax=3");
  add("LogLevel=ERROR");  // a banner must not look like what the program said
  if (const std::string user = Get(target.options, "user"); !user.empty()) add("User=" + user);
  if (const std::string port = Get(target.options, "port"); !port.empty()) add("Port=" + port);
  if (const std::string key = Get(target.options, "identity_file"); !key.empty()) {
    add("IdentityFile=" + key);
    add("IdentitiesOnly=yes");
  }
  if (!target.control_path.empty()) {
    add("ControlMaster=auto");
    add("ControlPath=" + target.control_path);
    // A Muster that was killed leaves the connection behind for this long and no longer.
    add("ControlPersist=60");
  }
  return argv;
}

}  // namespace

std::vector<std::string> SshTarget::Argv(const std::string& line) const {
  std::vector<std::string> argv = Common(*this);
  argv.insert(argv.end(), {"-T", "--", destination, line});
  return argv;
}

std::vector<std::string> SshTarget::ExitArgv() const {
  std::vector<std::string> argv = Common(*this);
  argv.insert(argv.end(), {"-O", "exit", "--", destination});
  return argv;
}

Error SshError(const std::string& host, const std::string& stderr_text) {
  std::string said;
  for (const std::string_view line : Lines(stderr_text)) {
    if (!Trim(line).empty()) said = Shorten(Printable(Trim(line)), 200);
  }
  const bool refused = Contains(stderr_text, "Permission denied (") ||
                       Contains(stderr_text, "Host key verification failed") ||
                       Contains(stderr_text, "Too many authentication failures");
  Error error{refused ? Code::kPermission : Code::kUnavailable,
              fmt::format("{} {}: {}", host, refused ? "refuses the login" : "cannot be reached",
                          said.empty() ? "ssh ended without a word" : said),
              {}};
  error.retryable = !refused;
  return error;
}

}  // namespace muster::host
