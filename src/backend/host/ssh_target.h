// How one host is reached with OpenSSH: the client's own configuration, keys and known hosts
// decide, we add only what keeps a program from hanging on a question. One connection per host
// carries everything (a control master).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::host {

struct SshTarget {
  std::string destination;  // a name or address, as given to ssh
  std::map<std::string, std::string>
      options;  // Site::ssh: "user", "port", "identity_file", "config", "connect_timeout"
  std::string
      control_path;  // of the shared connection's socket, at most 90 bytes; empty = no sharing

  // {"ssh", ..., "--", destination, line}: BatchMode (never ask), a connect time-out of 10 s unless
  // the site says otherwise, keep-alives that find a dead host in 45 s. Host keys are checked as
  // the user's configuration says.
  std::vector<std::string> Argv(const std::string& line) const;
  // Ends the shared connection.
  std::vector<std::string> ExitArgv() const;
};

// What failed when ssh itself ended with 255, from what it printed: kPermission for a refused key
// or an unknown host key, kUnavailable for everything else.
Error SshError(const std::string& host, const std::string& stderr_text);

}  // namespace muster::host
