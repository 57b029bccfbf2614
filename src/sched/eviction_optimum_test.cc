// Evictions against an enumeration of every set of victims, on clusters of up to 6 nodes: one is
// made exactly where one helps, it is the cheapest, and nobody in it could have stayed.
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::ClusterLines;
using testing::JobLine;
using testing::RunScript;

constexpr int kGpus = 8, kPerLeaf = 2;
constexpr int64_t kNow = 1000;

struct Victim {
  std::vector<int> on;  // ranks by node
  int gpus = 1;
  int64_t began = 0, every = 0;  // 0 = no checkpoints
  bool may_go = true;

  // Device-milliseconds since the last durable checkpoint; the 1 is for being evicted at all.
  int64_t Cost() const {
    int64_t ranks = 0;
    for (const int here : on) ranks += here;
    const int64_t span = every > 0 ? (kNow - began) % every : kNow - began;
    return span * ranks * gpus + 1;
  }
};

// Ranks of `gpus` that fit with the victims of the set gone, in the best domain.
int Fits(const std::vector<Victim>& victims, unsigned gone, int nodes, int gpus, bool leaf) {
  std::vector<int> free(static_cast<size_t>(nodes), kGpus);
  for (size_t v = 0; v < victims.size(); ++v) {
    if ((gone >> v & 1u) != 0) continue;
    for (size_t n = 0; n < free.size(); ++n) free[n] -= victims[v].on[n] * victims[v].gpus;
  }
  int best = 0, sum = 0;
  for (int n = 0; n < nodes; ++n) {
    if (leaf && n % kPerLeaf == 0) sum = 0;
    sum += free[static_cast<size_t>(n)] / gpus;
    best = std::max(best, sum);
  }
  return best;
}

RC_GTEST_PROP(EvictionOptimum, IsTheCheapestSetThatHelps, ()) {
  const int nodes = *rc::gen::inRange(1, 7);
  std::string script = ClusterLines(nodes, kPerLeaf);
  script += R"({"t":0,"op":"queue.add","name":"default","preempt":{"within":"lower-priority"}})"
            "\n";
  std::vector<Victim> victims;
  std::vector<int> free(static_cast<size_t>(nodes), kGpus);
  const int most = *rc::gen::inRange(1, 9);
  for (int v = 0; v < most; ++v) {
    Victim victim;
    victim.on.assign(static_cast<size_t>(nodes), 0);
    victim.gpus = *rc::gen::element(1, 2, 4, 8);
    victim.began = 10 * (v + 1);
    victim.every = *rc::gen::element(0, 70, 130, 400);
    victim.may_go = *rc::gen::inRange(0, 6) != 0;
    std::string seats;
    int ranks = 0;
    const int wanted = *rc::gen::inRange(1, 4);
    for (int r = 0; r < wanted; ++r) {
      const int at = *rc::gen::inRange(0, nodes);
      if (free[static_cast<size_t>(at)] < victim.gpus) continue;
      free[static_cast<size_t>(at)] -= victim.gpus, ++victim.on[static_cast<size_t>(at)];
      seats += std::string(ranks > 0 ? "," : "") + R"({"task":"w","rank":)" +
               std::to_string(ranks) + R"(,"node":"n)" + std::to_string(at) + "\"}";
      ++ranks;
    }
    if (ranks == 0) continue;
    std::string line =
        JobLine(victim.began, "v" + std::to_string(victims.size()), ranks, victim.gpus,
                (victim.every > 0 ? ",\"checkpoint_every\":" + std::to_string(victim.every) : "") +
                    (victim.may_go ? "" : ",\"preemptible\":false") + ",\"seats\":[" + seats + "]");
    line.replace(line.find("job.submit"), 10, "job.adopt");
    script += line;
    victims.push_back(victim);
  }
  const int ranks = *rc::gen::inRange(1, 5), gpus = *rc::gen::element(1, 2, 4, 8);
  const bool leaf = *rc::gen::arbitrary<bool>();
  script +=
      JobLine(kNow, "high", ranks, gpus,
              std::string(",\"priority\":5") + (leaf ? R"(,"topology":{"required":"leaf"})" : ""));
  const auto run = RunScript(script + R"({"t":1001,"op":"end"})");
  RC_ASSERT(run.error.empty());

  int64_t cheapest = -1;
  for (unsigned set = 0; set < 1u << victims.size(); ++set) {
    int64_t cost = 0;
    bool allowed = true;
    for (size_t v = 0; v < victims.size(); ++v) {
      if ((set >> v & 1u) == 0) continue;
      cost += victims[v].Cost(), allowed = allowed && victims[v].may_go;
    }
    if (allowed && Fits(victims, set, nodes, gpus, leaf) >= ranks &&
        (cheapest < 0 || cost < cheapest))
      cheapest = cost;
  }
  int64_t cost = 0;
  unsigned gone = 0;
  for (size_t v = 0; v < victims.size(); ++v) {
    if (run.Count({"\"do\":\"evict\"", "\"v" + std::to_string(v) + "\""}) == 0) continue;
    gone |= 1u << v, cost += victims[v].Cost();
  }
  const bool started = run.Count({"bind", "\"high\""}) > 0;
  RC_ASSERT(started == (cheapest >= 0));
  RC_ASSERT(cost == std::max<int64_t>(cheapest, 0));
  for (size_t v = 0; v < victims.size(); ++v) {
    if ((gone >> v & 1u) != 0)
      RC_ASSERT(Fits(victims, gone & ~(1u << v), nodes, gpus, leaf) < ranks);
  }
}

}  // namespace
}  // namespace muster::sched
