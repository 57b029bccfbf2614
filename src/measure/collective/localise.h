// Which node, pair of nodes, adapter or rail makes a collective slow. It measures subsets: halves
// while one half is fast, then pairs, and tells a bad node (all of its pairs are slow) from a bad
// pair (both nodes are fine with others) and from a rail that is slow everywhere. Every answer is
// measured again until noise cannot explain it, within hard caps on runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/subject.h"

namespace muster {

// How subsets are measured. Values are plateaus in any one unit, higher is better. An error of code
// kCancelled, kTimeout or kRefused ends the search; any other counts as a value of 0, because a set
// that cannot run a collective is not a healthy one. A caller that looks for wrong results answers
// 0 for a run that had some.
struct CollectiveMeter {
  using Nodes = std::vector<std::string>;
  std::function<Result<double>(const Nodes&)> set;
  // Optional: sets that share no node, measured at the same time.
  std::function<std::vector<Result<double>>(const std::vector<Nodes>&)> sets;
  // Optional: one rail alone over the set.
  std::function<Result<double>(const Nodes&, int rail)> rail;
};

struct LocaliseOptions {
  // What a healthy set gives: a measured figure, or about 0.96 of the ceiling (the ceiling itself
  // makes healthy sets look nearly slow, and each is then measured again and again). 0 = taken from
  // the better half of the pairs.
  double healthy = 0;
  double slow_ratio = 0.92;  // below it a set is slow
  double noise = 0.03;       // standard deviation of one measurement over its mean
  int max_repeats = 6;       // of one set
  int max_runs = 300;        // of everything; reached: the search stops and says so
  int max_suspects = 4;
  std::vector<int> rails;  // to try one at a time where the meter can
  // The adapter of a node on a rail; absent: a slow adapter is named by its node.
  std::function<std::optional<Subject>(const std::string& node, int rail)> adapter;
};

struct SlowSuspect {
  Subject subject;
  double ratio = 1;  // of what is healthy
  std::string
      evidence;  // "3 of 3 pairs slow (0.61, 0.60, 0.63 of 371.0); 14 nodes fast without it"
};

struct CollectiveRunRecord {
  std::vector<std::string> nodes;
  std::optional<int> rail;
  double value = 0;
  std::string error;  // why it counts as 0
};

struct Localisation {
  std::vector<SlowSuspect> suspects;  // the most likely first
  std::vector<CollectiveRunRecord> runs;
  int rounds = 0;      // times that something was measured, sets at the same time counting once
  double healthy = 0;  // what was taken for healthy
  bool conclusive = false;  // without the suspects the rest is fast
  std::string note;         // why it is not, or what else a person should know
};

// `nodes` in the order of the ring. Deterministic: no chance, no clock.
Localisation LocaliseSlowCollective(const std::vector<std::string>& nodes,
                                    const CollectiveMeter& meter, const LocaliseOptions& options);

}  // namespace muster
