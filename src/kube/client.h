// The API server's client: many calls at once from one thread, driven by Poll(). It sends the
// current token, renews it once after a 401, waits as long as the server says after a 429 and
// halves what it has under way, repeats what only reads, and never repeats a write whose outcome is
// not known: whoever asked looks again first. Nothing is sent, or under way, after the time that it
// was given.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "kube/api_error.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/request.h"
#include "kube/transport.h"
#include "world/clock.h"
#include "world/random.h"

namespace muster::kube {

// The end of a call. `status` is 0 when nobody answered.
struct Answer {
  int status = 0;
  std::string body;
  std::string reason;  // the server's word for a failure: "NotFound", "AlreadyExists", "Expired"
  std::optional<Error> error;
  bool ok() const { return !error.has_value(); }
};

// The body of a call that stays open, piece by piece, then its end.
struct StreamEvents {
  std::function<void()> opened;  // a good status came
  std::function<void(std::string_view)> bytes;
  std::function<void(const Answer&)> end;
};

struct ClientStats {
  uint64_t calls = 0;      // ended
  uint64_t throttled = 0;  // answers 429
  uint64_t repeated = 0;   // tries after the first
  uint64_t token_renewals = 0;
};

class Client {
 public:
  using Done = std::function<void(const Answer&)>;
  // Borrowed, all of them.
  Client(const ClusterConfig& config, Transport& transport, Credentials& credentials, Clock& clock,
         Random& random);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `done` is called once, from a Poll() (never from here), unless the call is cancelled.
  uint64_t Start(Request request, Done done);
  // A watch. 401, 429 and discovery of a missing API are handled as for calls; no repetition.
  uint64_t Stream(Request request, StreamEvents events);
  void Cancel(uint64_t call);
  // Calls `then` after `delay`, from a Poll().
  uint64_t After(Duration delay, std::function<void()> then);
  void CancelTimer(uint64_t timer);

  // Drives everything; returns after `timeout`, or earlier when something happened.
  void Poll(Duration timeout);
  // Start, and Poll until it ended: other calls and timers go on meanwhile. Not from a callback.
  Answer Await(Request request);
  // The body, or the error.
  Result<std::string> Ask(Request request);

  Clock& clock() { return clock_; }
  Random& random() { return random_; }
  const ClusterConfig& config() const { return config_; }
  const ClientStats& stats() const { return stats_; }
  size_t open_calls() const { return calls_.size(); }
  // How many short calls may be under way at once: halved at a 429, one more each round of success.
  double window() const { return window_; }
  static constexpr double kMaxWindow = 512;

 private:
  struct Call;
  void Send(const std::shared_ptr<Call>& call);
  // Calls that wait for an exec plugin; everything else goes on meanwhile.
  void SendUnproven();
  void SendQueued();
  void Overdue(const std::shared_ptr<Call>& call);
  void Ended(const std::shared_ptr<Call>& call, const Status& how);
  void Failed(const std::shared_ptr<Call>& call);
  void Discover(const std::shared_ptr<Call>& call);
  void Again(const std::shared_ptr<Call>& call, Duration delay);
  void Finish(const std::shared_ptr<Call>& call, Answer answer);
  Duration Jittered(Duration delay);
  Duration Left(const Call& call) const;
  bool MayRepeat(const Call& call, Duration delay) const;
  Asked AskedOf(const Request& request) const;
  void RunTimers();

  const ClusterConfig config_;
  Transport& transport_;
  Credentials& credentials_;
  Clock& clock_;
  Random& random_;
  ClientStats stats_;
  TlsIdentity tls_;
  std::unordered_map<uint64_t, std::shared_ptr<Call>> calls_;
  std::deque<std::shared_ptr<Call>> queue_;  // waits for the window
  std::vector<std::shared_ptr<Call>> unproven_;
  std::map<std::pair<Duration, uint64_t>, std::function<void()>> timers_;
  uint64_t last_id_ = 0;
  int in_flight_ = 0;
  double window_ = 256;
  Duration narrowed_at_{};
};

}  // namespace muster::kube
