// How long the pods of what was let in may take to be ready, and how long it waits after that.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"

namespace muster::kueue {

// Kueue's waitForPodsReady, of its manager's configuration (apis/config/v1beta2); the same
// defaults.
struct WaitForPodsReady {
  Duration timeout = std::chrono::minutes(5);
  std::optional<Duration> recovery_timeout;  // of one that ran; none: it may recover for ever
  std::optional<int> backoff_limit;          // then it is deactivated; none: it is asked for ever
  Duration backoff_base = std::chrono::seconds(60), backoff_most = std::chrono::hours(1);
};
// The n-th wait: the base, doubled each time, up to the most.
Duration BackoffOf(const WaitForPodsReady& wait, int nth);

}  // namespace muster::kueue
