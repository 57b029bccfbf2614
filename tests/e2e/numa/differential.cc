// Holds src/sched/numa to the kubelet: `generate` prints random cases as JSON lines, the oracle
// answers each, and `compare` makes the same cases again, reads the answers and counts where we
// differ.
#include <fstream>
#include <iostream>
#include <string>

#include "sched/numa/testing/cases.h"

int main(int argc, char** argv) {
  using namespace muster::numa;
  const std::string verb = argc > 1 ? argv[1] : "";
  if ((verb != "generate" && verb != "compare") || argc != 5) {
    std::cerr << "usage: generate|compare SEED FIRST COUNT\n";
    return 2;
  }
  const uint64_t seed = std::stoull(argv[2]), first = std::stoull(argv[3]);
  const uint64_t count = std::stoull(argv[4]);
  if (verb == "generate") {
    for (uint64_t i = 0; i < count; ++i) std::cout << GenerateCase(seed, first + i) << "\n";
    return 0;
  }
  Comparer comparer;
  std::string answer;
  uint64_t answered = 0;
  for (; std::getline(std::cin, answer); ++answered) {
    if (!comparer.Sequence(GenerateCase(seed, first + answered), answer)) {
      std::cerr << "not an answer to case " << first + answered << ": " << answer << "\n";
      return 1;
    }
  }
  if (answered != count) {
    std::cerr << "the oracle answered " << answered << " of " << count << " cases\n";
    return 1;
  }
  for (const std::string& difference : comparer.shown()) {
    std::cerr << "differs: " << difference << "\n";
  }
  std::cout << TallyJson(comparer.tally(), seed) << "\n";
  return comparer.differences() == 0 ? 0 : 3;
}
