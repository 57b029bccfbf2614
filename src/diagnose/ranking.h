// Which candidate follows from which, and in what order they are told. Private to diagnosis.cc.
#pragma once

#include <vector>

#include "diagnose/diagnosis.h"

namespace muster::diagnose {

// A cause that the facts speak for, before it is known whether another explains it.
struct Candidate {
  Finding finding;
  int weight = 0;
  std::vector<const Fact*> facts;
  bool healed = false;  // something later says that it went away
};

// Fills in `explained_by` and sorts: roots first, then what they explain, then questions; the surer
// first, and of two about as sure the earlier. O(n^2).
void Rank(std::vector<Candidate>& candidates);

}  // namespace muster::diagnose
