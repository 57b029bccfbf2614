// From verdicts to what a person should look at first. A fault shows in many places: a dead node
// fails its links, its GPUs and every pair it is in. Suspects are the few subjects that explain all
// of it, causes before symptoms. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/verdict.h"
#include "model/cluster.h"

namespace muster {

struct Suspect {
  Subject subject;
  Level level = Level::kFail;      // of its worst verdict
  std::vector<std::string> codes;  // what it explains, its own first
  std::string why;                 // one sentence, with the evidence in figures
  std::string next;                // a command that can be pasted
};

// What suspects must know beside the verdicts. Borrowed.
struct SuspectRules {
  const Cluster& cluster;
  std::string_view site;  // its name, for faults that all share
  std::function<const Criterion*(std::string_view code)> criterion;   // nothing for an unknown code
  std::function<std::string(const Criterion&, const Subject&)> next;  // the command, filled in
  std::string_view fabric_host = {};  // where the fabric's tools run; empty: on no node
};

// The ranked smallest set of subjects that explains every verdict that does not pass; FAIL before
// UNKNOWN before WARN, then by Criterion::rank, then by how much is explained. Verdicts that pass
// are needed too: they say what is healthy around a fault.
//  - a port or an adapter belongs to its link, an adapter and a GPU to its node, a node's end of a
//  link to the node
//  - most GPUs of a node: the node; all links of a switch or node: that device; more than half of
//  all nodes (at least two): what
//    they share (the fabric in gate 2, the site otherwise)
//  - what the fabric's tools could not say because their host does not answer: that host, if it is
//  a node
//  - pairs: a node whose every pair is bad, at least two of them; else the pair itself; with one
//  bad rail and one bad node, the
//    adapter of that node on that rail
//  - a subject that a better one explains (its whole could not be seen, or a part of it is the
//  cause) is not named again
std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const SuspectRules& rules);

}  // namespace muster
