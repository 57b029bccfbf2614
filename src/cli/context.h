// What a command may use: the world, the two streams, and what the terminal can do. Data goes to
// out, all else to err.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "base/result.h"
#include "world/inputs.h"
#include "world/world.h"

namespace muster {
class AlertDesk;
class AlertServer;
class HealthServer;
class SchedHealth;
struct AlertServerOptions;
struct ListenAt;
}  // namespace muster

namespace muster::cli {

struct Context {
  World world;
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;            // out may be coloured: a terminal, no NO_COLOR, TERM not dumb
  bool utf8 = true;              // the locale can show more than ASCII
  int width = 100;               // columns of the terminal
  std::string self_binary = {};  // path of this program
  std::string user_at_host = {};
  Inputs* inputs = nullptr;       // files, folders, archives and standard input that a person names
  std::string default_site = {};  // $MUSTER_SITE, or site.yaml where it exists
  // Ends the process with exit code 124 after this span, saying so; what it wrote can be resumed.
  std::function<void(Duration)> end_after = {};
  // From now on the first SIGINT or SIGTERM is only noted, for a command that can stop at a good
  // moment; the second ends the process at once.
  std::function<void()> catch_interrupts = {};
  std::function<bool()> interrupted = {};  // whether one was noted
  // api/alert_server.h; nothing in tests, which open no ports.
  std::function<Result<std::unique_ptr<AlertServer>>(AlertDesk&, World&, const AlertServerOptions&)>
      make_alert_server = {};
  // api/health_server.h; nothing in tests.
  std::function<Result<std::unique_ptr<HealthServer>>(const SchedHealth&, Clock&, const ListenAt&)>
      make_health_server = {};
};

}  // namespace muster::cli
