// Exact answers on small cases: could this job start in this state? Used to judge evictions,
// reasons, counterfactuals and waits. Where no exact answer is within reach it says kUnknown, and
// nothing is concluded from that.
#pragma once

#include "state.h"

namespace sched_checker {

enum class Answer { kNo, kYes, kUnknown };

// Whether one rank of the task may stand on the node at all: usable, labels, taints, flavors.
bool Eligible(const State& state, const Node& node, const Task& task,
              const std::map<std::string, std::string>& flavors);
// How many ranks of the shape the node holds now (`empty`: if nothing ran on it); at most `most`.
int64_t RanksThatFit(const Node& node, const Amounts& shape, int64_t most, bool empty = false);
// Whether quota alone would admit the job's smallest gang: kYes in every listed flavor, kNo in
// none, kUnknown in some.
Answer QuotaAdmits(const State& state, const Job& job);
// Whether the job's smallest gang can be bound without an eviction: quota, nodes, topology.
// Exact for one task (slices included) and for several without slices and shares.
Answer CanStart(const State& state, const Job& job);

}  // namespace sched_checker
