// Random cases for the oracle (tests/kubernetes/oracle), and the comparison of its answers with
// what Admit says. Used by tests/e2e/numa on many new cases, and by the unit test on kept ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::numa {

// One JSON line: a machine, its kubelet's configuration and a sequence of pods that come and go.
// The same on every machine.
std::string GenerateCase(uint64_t seed, uint64_t number);

// What was compared and where the two differ; every counter of differences is to be 0.
struct Tally {
  int64_t sequences = 0, decisions = 0, admitted = 0, refused = 0, start_errors = 0;
  std::map<std::string, int64_t> accepted_wrongly, refused_wrongly;  // by policy
  int64_t other_reason = 0, other_affinity = 0, other_devices = 0, other_cpus = 0, other_memory = 0;
  int64_t messages = 0, other_message = 0, bound_broken = 0, by_chance = 0;
};

class Comparer {
 public:
  // False: the two are not JSON, or the answer is to another case.
  bool Sequence(std::string_view test_line, std::string_view answer_line);
  const Tally& tally() const { return tally_; }
  int64_t differences() const { return differences_; }
  // The first few, each with its case.
  const std::vector<std::string>& shown() const { return shown_; }

 private:
  friend class SequenceComparer;
  Tally tally_;
  int64_t differences_ = 0;
  std::vector<std::string> shown_;
};
// {"decisions": 12, ...}
std::string TallyJson(const Tally& tally, uint64_t seed);

}  // namespace muster::numa
