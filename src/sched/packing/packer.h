// Places pods one at a time by a policy, over nodes whose scores are kept: only the node that a pod
// went to is scored again. A placement costs one comparison a node, and one scoring for each class
// of demand and changed node.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sched/packing/baselines.h"
#include "sched/packing/mix.h"
#include "sched/packing/worth.h"

namespace muster::packing {

enum class Policy { kMuster, kFgd, kBestFit, kDotProd, kRandom };
// "muster", "fgd", "bestfit", "dotprod", "random".
std::optional<Policy> PolicyNamed(std::string_view name);

struct Placed {
  size_t node = 0;
  int gpu = -1;  // the device of a share
};

class Packer {
 public:
  // `known` is what FGD takes as its target workload; the others do not look at it. `seed` is for
  // Random. Models of the nodes are below `models`.
  Packer(std::vector<Residual> nodes, size_t models, Policy policy, const Mix& known, uint64_t seed,
         const WorthConstants& constants = {});

  // Takes the demand where the policy wants it, or nothing when it fits nowhere.
  std::optional<Placed> Place(const Demand& demand);
  const std::vector<Residual>& nodes() const { return nodes_; }

 private:
  struct Kept {
    Choice choice;
    uint32_t version = 0;  // of the node, when it was scored; 0 = never
    bool fits = false;
  };
  Choice Score(const Residual& node, const Demand& demand);
  void Learn(const Demand& demand);

  std::vector<Residual> nodes_;
  std::vector<uint32_t> versions_;
  std::vector<double> capacity_;  // GPUs of each model
  Policy policy_;
  WorthConstants constants_;
  Draws draws_;
  std::vector<DemandClass> typical_;
  Mix seen_;
  size_t class_ = 0;     // of the demand at hand
  double learn_at_ = 1;  // demands seen when the tables are built again
  std::optional<Worth> worth_;
  std::vector<std::vector<Kept>> kept_;  // by class, then node
};

}  // namespace muster::packing
