// Quota through the tree, as the cluster script defines it (after Kueue's cohorts: nominal, borrow,
// lend): a queue uses its nominal, plus what its parent's tree leaves, up to `borrow`; `lend` is
// what others may take of it.
#pragma once

#include "state.h"

namespace sched_checker {

// Nominal of the queue and what its children lend upwards.
int64_t SubtreeQuota(const State& state, const std::string& queue, const FlavorResource& what);
// Use by its own jobs and what its children use beyond what they keep for themselves.
int64_t TreeUse(const State& state, const std::string& queue, const FlavorResource& what);
// The highest TreeUse that the queue itself may reach: with a parent, its quota and `borrow`
// (nothing = no limit); without, its quota.
std::optional<int64_t> UseLimit(const State& state, const std::string& queue,
                                const FlavorResource& what);
// Whether some queue of the job's chain lists the resource (for any flavor; for this flavor).
bool Listed(const State& state, const std::string& queue, const std::string& resource);
bool ListedFor(const State& state, const std::string& queue, const FlavorResource& what);

// Use of each queue of the chain, to be compared after charges were made.
using ChainUse = std::map<std::pair<std::string, FlavorResource>, int64_t>;
ChainUse UseOfChain(const State& state, const std::string& queue);
// A sentence for each queue whose use rose above what it may be; empty = quota holds.
std::vector<std::string> QuotaBroken(const State& state, const std::string& queue,
                                     const ChainUse& before);
// Whether `queue`, or an ancestor of it below the first one it shares with `other`, uses more than
// its nominal of something that `job` is charged for. No shared ancestor: false.
bool OverNominalBelowCommon(const State& state, const Job& victim, const std::string& other);

}  // namespace sched_checker
