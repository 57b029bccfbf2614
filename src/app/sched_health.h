// What a serving scheduler says of itself to a kubelet (alive, ready) and to Prometheus. The
// serving loop writes it, the threads of a server read it; api/health_server.h is that server.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "app/sched_serve.h"
#include "base/time.h"

namespace muster {

struct SchedState {
  bool leading = false;
  bool known = false;             // of one that leads: the cluster's objects
  std::optional<Duration> heard;  // monotonic: the API server's last answer about the Lease
  SchedServed served;
};

class SchedHealth {
 public:
  // `now`: monotonic, of this process; serving begins.
  explicit SchedHealth(Duration now) : turned_at_(now) {}

  // A second has passed since the last call of Turned, or there was none.
  bool WantsToHear(Duration now) const;
  void Turned(Duration now, SchedState state);

  // Empty, or why the process should be started anew: its loop has not come round for a minute.
  std::string WhyNotAlive(Duration now) const;
  // Empty, or why it can do nothing now. One that does not lead is ready to.
  std::string WhyNotReady(Duration now) const;
  // Prometheus's text format.
  std::string Metrics() const;

 private:
  mutable std::mutex mutex_;
  Duration turned_at_;
  std::optional<SchedState> state_;
};

// Answers until it is destroyed.
class HealthServer {
 public:
  virtual ~HealthServer() = default;
  virtual int port() const = 0;
};

}  // namespace muster
