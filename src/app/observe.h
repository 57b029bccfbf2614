// Looking: runs the reads of a gate over all hosts, a few at a time, and understands what came
// back. Only reads; the proofs of gates 4 to 8, which start something, are in app/proofs.h.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "app/probe_table.h"
#include "app/progress.h"
#include "backend/hosts.h"

namespace muster {

// What a gate brought in: the raw readings (when they are kept), what they say, and what was
// concluded without a reading of its own. The readings can be understood again; the rest is stored
// as it is.
struct Evidence {
  std::vector<Reading> readings;
  Observations observations;  // of the readings, in their order
  Observations derived;

  void Add(Reading reading, Observations seen, bool keep);
  void Append(Evidence other);
  Observations TakeAll() &&;  // the same without a copy
  Observations All() const;   // observations, then derived: what a verdict's evidence indexes mean
};

struct ObserveOptions {
  bool keep_readings = true;
  Duration window{};  // between the two readings of counters
};

// Reads everything planned, `hosts.Parallel()` hosts at a time; a host that does not answer gives
// Unobserved, never an error. The order of the result does not depend on which host answered first.
// Once the progress says Stopped, nothing more is read and the result is not to be judged.
Evidence Observe(Hosts& hosts, std::span<const PlannedRead> reads, const ObserveOptions& options,
                 Clock& clock, Progress& progress);

// Understands a stored reading again, by the probe that made it. Nothing when no probe of that name
// is known.
std::optional<Observations> Understand(const Reading& reading);

// Calls work(i) for i in [0, count) on up to `threads` threads; returns when all are done.
void ForEachParallel(size_t count, int threads, const std::function<void(size_t)>& work);

}  // namespace muster
