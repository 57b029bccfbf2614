// Reads text of any kind, in pieces, once: lines of logs against the catalogue's patterns, tool
// outputs as sections, JSON and XML documents, NCCL's own lines into a map of the job. What a file
// is called does not matter. Memory is bounded whatever the input; time is O(bytes).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/beside.h"
#include "diagnose/fact.h"
#include "diagnose/hang.h"
#include "diagnose/job.h"
#include "diagnose/knowledge.h"

namespace muster::diagnose {

// All that was read, before anybody judges it.
struct Evidence {
  FactStore facts;
  JobMap job;
  Beside beside;                             // lines near the signs
  std::map<std::string, size_t> recognised;  // "kernel log" -> lines or documents of it
  std::vector<std::string> unrecognised;     // files in which nothing was known
  bool proven = false;  // something was read that says how it went, not only what it is from
  size_t files = 0, lines = 0;
  uint64_t bytes = 0;
};

class Reader {
 public:
  explicit Reader(const Knowledge& knowledge);  // which must outlive the reader
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void Begin(std::string file);
  void Feed(std::string_view bytes);
  void End();
  // How many different signs were seen so far: a caller that follows a file judges when it grows.
  size_t Signs() const;
  // Facts that follow from the whole (ranks that never spoke, counters that grew) are added. The
  // reader may go on after a Snapshot, and is empty after Take.
  Evidence Snapshot() const;
  Evidence Take();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Pairs of samples become growth, saturation or a question; see counters.cc.
void AddCounterFacts(FactStore& facts);

}  // namespace muster::diagnose
