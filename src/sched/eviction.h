// Whose place a waiting gang may take, and the cheapest set of them that lets it start: domain and
// victims are chosen together, a set is trimmed until no victim of it could have stayed, and nobody
// is evicted unless the gang then starts.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/gang.h"
#include "sched/placement.h"

namespace muster::sched {

// What can be taken of one victim at once: ranks beyond what an elastic gang needs, one by one, and
// then all the rest.
struct VictimUnit {
  int job = -1;
  bool whole = false;      // the rest: the victim is evicted; needs all its other units
  std::vector<int> ranks;  // flat
  int64_t cost = 0;        // device-milliseconds of work since the last checkpoint, at least 1
  const char* code = "";
};

// Work that would be lost: devices (CPUs of ranks without any) x time since the last checkpoint.
int64_t WorkLost(const Gang& gang, TimeMs now);

class Engine;

// One search. Releases and takes back in the engine's own state; leaves it as it was.
class EvictionSearch {
 public:
  EvictionSearch(Engine& engine, int job);
  // The units to take, in the order in which to take them; empty = no allowed set helps.
  std::vector<VictimUnit> Run();

  // Beyond this many units the search is no longer exhaustive.
  static constexpr size_t kExhaustive = 10;

 private:
  struct Reach {
    int where;
    int64_t bound;
  };
  void CollectUnits();
  bool MayTake(const Gang& victim, const char** code) const;
  bool OverNominal(const Gang& victim, int common) const;
  bool StillAllowed(const VictimUnit& unit) const;
  void LetGo(size_t unit);
  void TakeBack(size_t unit);
  bool CanStart(int within = kAnywhere);
  void Consider(const std::vector<size_t>& chosen);
  void SearchAll();
  void SearchDomains();
  void TryWithin(int where);
  std::vector<Reach> Reachable(int level);
  bool WaitsForPromises();
  void Trim(std::vector<size_t>& chosen);
  int64_t CostOf(const std::vector<size_t>& chosen) const;
  bool Replay(const std::vector<size_t>& chosen);

  Engine& engine_;
  const int job_;
  std::vector<int> items_;  // of quota that the job needs
  bool within_nominal_ = false;
  std::vector<VictimUnit> units_;            // cheapest first
  std::vector<uint8_t> gone_;                // by unit
  std::vector<std::vector<size_t>> others_;  // of a whole unit: its victim's single ranks
  std::vector<size_t> best_;
  int64_t best_cost_ = -1;
};

}  // namespace muster::sched
