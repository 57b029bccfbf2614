// Nodes that bear our mark, held against the runs that are alive: from the side of the targets, so
// that a cordon is found also when everything else about it is lost. Pure; it proposes, and does
// nothing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/run_state.h"

namespace muster::engine {

// Leases of a person, without a run, are of one that begins so.
inline constexpr std::string_view kByHandRun = "hand-";

enum class MarkKind {
  kFine,       // a live run holds it
  kParked,     // a run left it to a person, by name and reason
  kByHand,     // a person's own, through `muster node cordon`
  kOrphan,     // its run ended and says that it holds nothing: forgotten
  kLost,       // its run is gone: what was done there is not known
  kOverdue,    // any of these past its time
  kTakenOver,  // a run believes that it holds it, and its mark is gone
};
std::string_view ToString(MarkKind kind);

struct MarkFinding {
  std::string node, run, owner, reason, advice;
  MarkKind kind = MarkKind::kFine;
  TimePoint since, until;
  bool destructive = false;  // something beside cordon and drain was intended there
};

// What a run's journal says of a node; nothing: no such run, or unreadable.
struct RunOfNode {
  bool closed = false;
  TargetState target;
};
using FindRun =
    std::function<std::optional<RunOfNode>(const std::string& run, const std::string& node)>;

// `believed` are the (run, node) pairs that journals of runs that are not closed say they hold.
std::vector<MarkFinding> Reconcile(const Actuator::Fleet& fleet, const FindRun& find,
                                   const std::vector<std::pair<std::string, std::string>>& believed,
                                   TimePoint now);

}  // namespace muster::engine
