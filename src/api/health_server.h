// Answers a kubelet's probes and Prometheus for a serving scheduler. cpp-httplib stays in the .cc
// file; it must be built with its pkg-config flags.
#pragma once

#include <memory>

#include "app/listen.h"
#include "app/sched_health.h"
#include "world/clock.h"

namespace muster {

// Listening when it returns; kConflict when the address is taken. `health` and `clock` are
// borrowed.
//
//   GET /healthz   200 · 503 with why it should be started anew
//   GET /readyz    200 · 503 with why it can do nothing now
//   GET /metrics   200, Prometheus's text format
Result<std::unique_ptr<HealthServer>> MakeHealthServer(const SchedHealth& health, Clock& clock,
                                                       const ListenAt& at);

}  // namespace muster
