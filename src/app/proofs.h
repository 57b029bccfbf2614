// The proofs of gates 4 to 8: what can only be known by doing it. A gang that
// must place and one that must not, an alert that must arrive, an all-reduce
// sweep, a training run, a load on an endpoint. Each leaves nothing behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/observe.h"
#include "backend/endpoints.h"
#include "backend/hosts.h"
#include "backend/jobs.h"
#include "model/site.h"

namespace muster {

// What a proof may use. Borrowed.
struct ProofContext {
  const Site& site;
  Hosts& hosts;
  Jobs& jobs;
  Endpoints& endpoints;
  World& world;  // this machine
  Progress& progress;
  std::vector<std::string> nodes;  // of the scope
  std::string run_folder;          // where checkpoints and logs of this run go
  std::string run;                 // names what it starts
  // What runs Muster's own small training job, where it can: empty when it
  // cannot (hosts over ssh have no muster).
  std::vector<std::string> own_training = {};
};

// How the evidence of Muster's own small job begins on a real site: what it
// measured says nothing of the site's training, and is no figure of a baseline.
inline constexpr std::string_view kOwnSmallJob = "Muster's own small job (CPU)";

Evidence ProveGang(const ProofContext& context);        // gate 4
Evidence ProveRdmaPairs(const ProofContext& context);   // gate 2: neighbours, rail by rail
Evidence ProveAlerting(const ProofContext& context);    // gate 5
Evidence ProveCollective(const ProofContext& context);  // gate 6
Evidence ProveTraining(const ProofContext& context);    // gate 7
Evidence ProveInference(const ProofContext& context);   // gate 8

// The proofs of a gate, in order; none for gates that are only read.
Evidence ProveGate(int gate, const ProofContext& context);

}  // namespace muster
