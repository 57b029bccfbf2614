// Leader election over a Lease object: one of several Musters acts, the others wait. Who leads is
// fenced by the Lease's resourceVersion: every renewal names the one it wrote last, so a leader
// that was away cannot renew what somebody took over.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kube/client.h"
#include "kube/core.h"

namespace muster::kube {

struct LeaseOptions {
  std::string ns = "default", name, identity;    // identity: of this very process, never used again
  Duration duration = std::chrono::seconds(15);  // others wait this long for a sign of life
  Duration renew_deadline = std::chrono::seconds(10);  // we stop leading this long after a renewal
  Duration retry = std::chrono::seconds(2);
  // Whether that holder is known to have ended (a process of this very machine): then nobody waits
  // for its lease to run out. Empty = nothing is known of others.
  std::function<bool(const std::string& holder)> has_ended = {};
};

class LeaderElector {
 public:
  using OnChange = std::function<void(bool leading)>;
  using OnTrouble = std::function<void(const Error&)>;
  LeaderElector(Client& client, LeaseOptions options, OnChange on_change,
                OnTrouble on_trouble = {});
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  void Start();
  // Gives the lease back, so that another leads within its retry time and not after `duration`.
  // `done` comes when the server answered (or did not).
  void Release(std::function<void()> done);

  // Ask before each write. False as soon as the time since the last renewal was sent is over, also
  // when no Poll ran meanwhile (the process was stopped).
  bool Leading() const;
  // Grows with each change of leader; writes of an older term are stale.
  int64_t term() const { return lease_.transitions; }
  const std::string& holder() const { return lease_.holder; }
  // When (monotonic) the server last answered about the Lease, whoever holds it.
  std::optional<Duration> heard_at() const { return heard_at_; }

 private:
  void Look();
  void OnLook(const Answer& answer);
  void Take(bool create);
  void OnTaken(const Answer& answer, Duration sent_at);
  void Again(Duration delay);
  void Expire();
  void SetLeading(bool leading);
  std::string Body(std::string_view holder, bool create, Duration duration) const;

  Client& client_;
  const LeaseOptions options_;
  OnChange on_change_;
  OnTrouble on_trouble_;
  Lease lease_;                      // as last seen or written
  std::optional<Duration> seen_at_;  // monotonic: when this resourceVersion first came
  std::optional<Duration> heard_at_;
  Duration valid_until_{};
  std::optional<TimePoint> acquired_;
  bool leading_ = false, stopped_ = true;
  uint64_t call_ = 0, timer_ = 0, expiry_ = 0;
};

}  // namespace muster::kube
