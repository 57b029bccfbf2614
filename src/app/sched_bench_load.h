// Synthetic clusters and loads for `muster sched bench`, as cluster scripts: the same from a seed
// on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

// SplitMix64 (Steele, Lea, Flood 2014).
class BenchDice {
 public:
  explicit BenchDice(uint64_t seed) : state_(seed) {}
  int Below(int bound) {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

// Nodes of 192 CPUs, 2 TiB, 8 GPUs and 8 adapters; 32 a leaf, 8 leaves a spine, or (tree = false)
// in no domain.
std::string BenchNodes(int nodes, bool tree = true);
// One job of one task; `more` begins with a comma. 4 CPUs and an adapter a GPU.
std::string BenchGang(int64_t t, const std::string& name, int ranks, int gpus,
                      const std::string& more = "");
// Three fifths of the pods without GPU, a quarter shares of a GPU, the rest ranks of gangs, whose
// names are added to `gangs`. 28 pods a node find room.
std::string BenchPods(int pods, BenchDice& dice, std::vector<std::string>& gangs);
// Jobs of 1 to 4,096 GPUs (never more than there are), most of them small, that arrive over 30 days
// and run for minutes to days, so that about `load_percent` of the GPUs are asked for.
std::string BenchMonth(int jobs, int gpus, int load_percent, BenchDice& dice);

}  // namespace muster
