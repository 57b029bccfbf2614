// The policies that Muster's is held against, from their papers and from the definitions of the
// simulator that published their results (hkust-adsl/kubernetes-scheduler-simulator): BestFit,
// DotProd (Tetris, SIGCOMM'14), FGD ("Beware of Fragmentation", ATC'23), Random.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/packing/mix.h"
#include "sched/packing/residual.h"

namespace muster::packing {

// SplitMix64 (Steele, Lea, Flood 2014): the same draws from a seed on every machine.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t Below(uint64_t bound) { return Next() % bound; }  // bound > 0

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

// The classes (by CPU, GPUs and models; memory is not looked at) that make up 95 % of the demands,
// with frequencies that sum to 1: FGD's target workload.
std::vector<DemandClass> TypicalDemands(const Mix& mix);

// FGD's measure: thousandths of GPU of the node that a demand drawn from `typical` cannot use,
// expected. A demand without GPU, without enough CPU or GPUs there, or of another model uses none.
double Fragmentation(const Residual& node, const std::vector<DemandClass>& typical);

// Each takes a demand that fits. Scores of FGD, BestFit and DotProd are whole numbers of 0 to 100,
// as in the simulator: equal ones are told apart by the order of the nodes.
Choice ScoreFgd(const Residual& node, const Demand& demand,
                const std::vector<DemandClass>& typical);
Choice ScoreBestFit(const Residual& node, const Demand& demand);
Choice ScoreDotProd(const Residual& node, const Demand& demand);
// The device for a share; the node is drawn by the caller.
Choice ScoreRandom(const Residual& node, const Demand& demand, Draws& draws);

}  // namespace muster::packing
