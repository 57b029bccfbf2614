// Files and HTTP of a host on which commands can be run and nothing else: POSIX sh and find there
// for the one, curl there for the other. Files are only read: Muster installs nothing on a host;
// what must change there is an act, previewed and journalled.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "world/world.h"

namespace muster {

using RunThere = std::function<Result<CommandResult>(const Command&)>;
// `host` is its name, for messages.
std::unique_ptr<Files> MakeRemoteFiles(std::string host, RunThere run);
// `clock` is borrowed.
std::unique_ptr<Http> MakeRemoteHttp(std::string host, RunThere run, Clock& clock);

}  // namespace muster
