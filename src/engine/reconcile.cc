#include "engine/reconcile.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::engine {

namespace {

MarkFinding Judge(const std::string& node, const Lease& lease, const FindRun& find, TimePoint now) {
  MarkFinding finding{node,        lease.run,   lease.owner, lease.reason, "", MarkKind::kFine,
                      lease.since, lease.until, false};
  if (lease.run.empty() || lease.run.starts_with(kByHandRun)) {
    finding.kind = MarkKind::kByHand;
  } else if (const auto run = find(lease.run, node); !run) {
    finding.kind = MarkKind::kLost;
    finding.destructive = true;
    finding.advice =
        "its run is gone, and with it what was done there: look at the node, then "
        "muster node return " +
        node;
  } else {
    finding.destructive = run->target.touched;
    const bool ended = run->target.stage == TargetState::Stage::kEnded;
    if (ended && run->target.held) {
      finding.kind = MarkKind::kParked;
      finding.reason = run->target.why;
      finding.advice = "repair it, then muster node return " + node;
    } else if (ended && run->target.end == End::kInDoubt) {
      finding.kind = MarkKind::kParked;
      finding.reason = run->target.why;
      finding.advice = "look whether it happened, then muster node return " + node;
    } else if (ended) {
      finding.kind = MarkKind::kOrphan;
      finding.advice = "forgotten by its run: muster node return " + node;
    }
  }
  if (lease.until != TimePoint{} && now > lease.until && finding.kind != MarkKind::kOrphan &&
      finding.kind != MarkKind::kLost) {
    finding.kind = MarkKind::kOverdue;
    if (finding.advice.empty())
      finding.advice = finding.run.empty() ? "past its time: muster node return " + node
                                           : "past its time: muster runbook resume " + finding.run;
  }
  return finding;
}

}  // namespace

std::string_view ToString(MarkKind kind) {
  switch (kind) {
    case MarkKind::kFine:
      return "held by a run";
    case MarkKind::kParked:
      return "parked";
    case MarkKind::kByHand:
      return "by hand";
    case MarkKind::kOrphan:
      return "forgotten";
    case MarkKind::kLost:
      return "run lost";
    case MarkKind::kOverdue:
      return "overdue";
    case MarkKind::kTakenOver:
      break;
  }
  return "taken over";
}

std::vector<MarkFinding> Reconcile(const Actuator::Fleet& fleet, const FindRun& find,
                                   const std::vector<std::pair<std::string, std::string>>& believed,
                                   TimePoint now) {
  std::vector<MarkFinding> findings;
  std::map<std::string, std::string> marks;  // node -> run
  for (const Actuator::HeldNode& held : fleet.nodes) {
    if (!held.hold.lease) continue;
    marks[held.node] = held.hold.lease->run;
    findings.push_back(Judge(held.node, *held.hold.lease, find, now));
  }
  for (const auto& [run, node] : believed) {
    const auto mark = marks.find(node);
    const bool silent =
        std::find(fleet.silent.begin(), fleet.silent.end(), node) != fleet.silent.end();
    if (silent || (mark != marks.end() && mark->second == run)) continue;
    MarkFinding finding;
    finding.node = node;
    finding.run = run;
    finding.kind = MarkKind::kTakenOver;
    finding.advice = "a person changed it: muster runbook resume " + run + " closes the matter";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace muster::engine
