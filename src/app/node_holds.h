// Cordons by hand, with the same lease as a run's: who, why, until when stands on the node. And the
// way back to work of any node that bears a mark: through a proof, or not at all.
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"
#include "app/runbook_site.h"

namespace muster {

struct NodeHold {
  std::string node;
  bool answers = true;
  Hold hold;
  std::vector<RunningJob> jobs;
  std::optional<engine::MarkFinding> mark;
};
Result<std::vector<NodeHold>> ListNodes(SiteContext& site);

struct HandOptions {
  std::string by, reason;
  Duration ttl{};
  Duration timeout = std::chrono::minutes(60);  // of a drain
  bool force = false;                           // of a drain: work is ended at once
  OpenOptions open;
};
// kRefused: somebody holds it already. kConflict: a run works on it.
Status CordonNode(SiteContext& site, const std::string& node, const HandOptions& options);
// Cordons it first where it is not ours. kTimeout: jobs are still there; it stays cordoned.
Status DrainNode(SiteContext& site, const std::string& node, const HandOptions& options,
                 Progress& progress);
// Gate 3 must pass on it, now. kRefused: it does not (the text says what), a live run holds it, or
// it bears no mark of ours.
Status ReturnNode(SiteContext& site, const std::string& node, const HandOptions& options,
                  Progress& progress);

}  // namespace muster
