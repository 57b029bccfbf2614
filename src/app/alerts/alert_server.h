// What listens for Alertmanager's webhooks and works on what they ask for, as the command line sees
// it; api/alert_server.h makes the real one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster {

struct AlertServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;        // 0: any free one
  std::string token;   // not empty: POST and GET /alerts need "Authorization: Bearer TOKEN"
  size_t at_once = 8;  // runs that are led side by side
  Duration pause = std::chrono::seconds(5);              // before an episode is tried again
  std::function<void(const std::string&)> say;           // one line for a person; from any thread
  std::function<bool()> stopped = [] { return false; };  // asked from several threads
};

// "127.0.0.1:9094", "[::1]:9094", "localhost:0". kInvalid otherwise, and for an address beside
// loopback without a token: whoever reaches it could start repairs.
Result<AlertServerOptions> ParseListen(const std::string& listen, const std::string& token);

class AlertServer {
 public:
  virtual ~AlertServer() = default;
  virtual int port() const = 0;
  // Until stopped() says so. Runs that are under way stop at their next good moment and are resumed
  // by the next server.
  virtual void Serve() = 0;
};

}  // namespace muster
