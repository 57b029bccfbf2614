#include "app/sched_health.h"

#include <fmt/format.h>

namespace muster {

namespace {

// A turn over 10,000 pods took a quarter of a second; the API server is waited for in none.
constexpr Duration kStuckAfter = std::chrono::minutes(1);
// The Lease is asked for every few seconds, by whoever leads and whoever does not.
constexpr Duration kUnheardAfter = std::chrono::seconds(30);

std::string Figure(const char* name, const char* type, const char* help, double value) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3:g}\n", name, help, type, value);
}

}  // namespace

bool SchedHealth::WantsToHear(Duration now) const {
  const std::lock_guard lock(mutex_);
  return !state_ || now - turned_at_ >= std::chrono::seconds(1);
}

void SchedHealth::Turned(Duration now, SchedState state) {
  const std::lock_guard lock(mutex_);
  turned_at_ = now;
  state_ = std::move(state);
}

std::string SchedHealth::WhyNotAlive(Duration now) const {
  const std::lock_guard lock(mutex_);
  if (now - turned_at_ < kStuckAfter) return "";
  return fmt::format("the scheduler's loop has not come round for {}",
                     FormatDuration(now - turned_at_));
}

std::string SchedHealth::WhyNotReady(Duration now) const {
  const std::lock_guard lock(mutex_);
  if (!state_ || !state_->heard) return "the API server has not answered about the Lease yet";
  if (now - *state_->heard >= kUnheardAfter)
    return fmt::format("the API server has not answered about the Lease for {}",
                       FormatDuration(now - *state_->heard));
  if (state_->leading && !state_->known) return "the cluster's objects are being read";
  return "";
}

std::string SchedHealth::Metrics() const {
  const std::lock_guard lock(mutex_);
  const SchedState state = state_.value_or(SchedState{});
  const SchedServed& s = state.served;
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  return Figure("muster_sched_leading", "gauge", "1 for the replica that acts.",
                state.leading ? 1 : 0) +
         Figure("muster_sched_pods_bound_total", "counter", "Pods bound.", count(s.bound)) +
         Figure("muster_sched_binding_conflicts_total", "counter",
                "Bindings that the API server refused because the pod had changed.",
                count(s.conflicts)) +
         Figure("muster_sched_writes_failed_total", "counter",
                "Bindings that failed otherwise and are asked for again.", count(s.failed)) +
         Figure("muster_sched_gangs_placed_total", "counter", "Gangs placed whole.",
                count(s.gangs_placed)) +
         Figure("muster_sched_gangs_evicted_total", "counter", "Gangs evicted.", count(s.evicted)) +
         Figure("muster_sched_gangs_running", "gauge", "Gangs that run.", s.running) +
         Figure("muster_sched_gangs_waiting", "gauge", "Gangs that wait.", s.waiting) +
         Figure("muster_sched_longest_turn_seconds", "gauge",
                "The longest time since the start in which nothing was heard.",
                static_cast<double>(s.longest_turn_ms) / 1000);
}

}  // namespace muster
