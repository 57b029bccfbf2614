// Exponential decay in whole numbers: fair share orders queues by it, so it must come out the same
// with every compiler and at every optimisation level.
#pragma once

#include <cstdint>

namespace muster::sched {

inline constexpr int64_t kHalfLifeMs = 24ll * 3600 * 1000;

// Where an average that was `average` has gone after `span_ms` at the value `towards`:
// towards + (average - towards) x 2^(-span/half-life). Within 2^-20 of the difference, rounded
// towards zero.
int64_t DecayTowards(int64_t average, int64_t towards, int64_t span_ms);
// amount / total in parts of 2^-20. `total` > 0.
int64_t FixedRatio(int64_t amount, int64_t total);

}  // namespace muster::sched
