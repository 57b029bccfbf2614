// One all-reduce sweep over a list of nodes, started as the site starts one: ranks of the lab,
// nccl-tests in one process of a host, or mpirun over several. Gate 6 and preflight both ask it.
#pragma once

#include <string>
#include <vector>

#include "app/observe.h"
#include "backend/hosts.h"
#include "backend/jobs.h"
#include "measure/collective/sweep.h"
#include "model/site.h"

namespace muster {

struct CollectiveSweep {
  Subject subject;  // scope, pair or rail: what its readings are about
  std::vector<std::string> nodes;
  int ranks_per_node = 1;
  SweepSpec spec;
  Duration timeout = std::chrono::minutes(5);
};

// What a sweep may use. Borrowed.
struct SweepContext {
  const Site& site;
  Hosts& hosts;
  Jobs& jobs;
  const Clock& clock;
  std::string run;  // names the gang, with the subject
};

// One rank for each GPU, as many as the node with the fewest has; at least 1.
int RanksPerNode(const Site& site, const std::vector<std::string>& nodes);

// Two readings: the table of nccl-tests (rank 0), and NCCL's log of all ranks. A sweep that could
// not be started, or whose ranks did not all start or end, carries the fault.
std::vector<Reading> RunSweep(const SweepContext& context, const CollectiveSweep& sweep);

}  // namespace muster
