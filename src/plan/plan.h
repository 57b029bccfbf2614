// A plan: what exactly will be done to what, in which order and waves, within which limits, and
// what will prove it. It is computed once, printed, hashed and approved as one object; nothing in
// it is looked up again when it runs, except whether the world is still the one it was made for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/actuator.h"
#include "model/cluster.h"
#include "plan/runbook.h"

namespace muster {

// A step of the runbook, filled in for one target. `spec` is its place in Runbook::steps.
struct PlannedStep {
  size_t spec = 0;
  Action action;
  std::vector<std::string> commands;  // as the actuator will send them
  std::optional<Action> undo;
  std::string skipped;  // not empty: not done, and why
};

struct PlannedTarget {
  Subject on;
  std::string node, rack, leaf;
  std::string identity;  // what must still be there: the GPU's UUID and serial, the node's name
  int wave = 0;          // from 0
  std::vector<PlannedStep> steps;  // all of the runbook's, in its order
  std::optional<PlannedStep> rollback;
  std::vector<RunningJob> jobs;  // in the way
};

// What the plan was made for. A difference refuses the run.
using WorldMark = std::map<std::string, std::string>;  // "hold node-07" -> "schedulable", ...

struct Plan {
  std::string site, by;
  TimePoint made_at;
  Origin origin = Origin::kLive;    // of the actuator
  Origin evidence = Origin::kLive;  // the least real of what was looked at
  std::string runbook_text, runbook_file;
  std::string runbook_commit;  // of a site's own: "git 9f3c..."; "" = this binary's
  Runbook runbook;
  std::map<std::string, std::string> inputs;
  std::vector<PlannedTarget> targets;  // in order; a wave's stand together
  int waves = 0;
  int at_once = 1;
  int most_out_of_service = 1;              // nodes, others' included
  std::vector<std::string> out_of_service;  // when the plan was made
  size_t fleet = 0;                         // nodes of the site
  std::vector<std::string> left_out;        // "node-09: cordoned by somebody else: ..."
  WorldMark world;
  std::string hash;  // SHA-256 of the canonical JSON without this field

  const PlannedTarget* Find(std::string_view target) const;
};

// What the planner is told; it reads nothing itself.
struct PlanRequest {
  std::string site, by;
  std::string runbook_commit = {};  // where a site's own runbook stands in its git
  TimePoint now;
  std::vector<Subject> on;  // nodes, or GPUs for a GPU's runbook; in the order asked for
  std::map<std::string, std::string> inputs;
  int at_once = 0;  // 0 = the runbook's; never more than it allows
};
struct PlanFacts {
  const Cluster& cluster;
  const Actuator::Fleet& fleet;
  std::map<std::string, std::vector<RunningJob>> jobs;  // by node
  std::map<std::string, std::string> identity;          // by subject text; absent = not known
  // Whether a step's skip_when holds for a target, looked at beforehand: (target, step) -> reason.
  std::map<std::pair<std::string, std::string>, std::string> skip;
  Origin evidence = Origin::kLive;
};

// kInvalid: no target, unknown or repeated ones, an input missing or unknown, a placeholder left
// over, an act that the actuator cannot do. kRefused: the limits leave no target, or evidence is
// not live on a real cluster. Time and memory are linear in the targets and the nodes of the site.
Result<Plan> MakePlan(const Runbook& runbook, const std::string& runbook_text,
                      const PlanRequest& request, const PlanFacts& facts, const Actuator& actuator);

// As JSON; Read refuses another version, an edited plan (the hash does not match), unknown or
// missing keys.
std::string WritePlan(const Plan& plan);
Result<Plan> ReadPlan(std::string_view text, std::string_view file);
std::string PlanHash(const Plan& plan);

// As a diff for a person: what will be done to what, what proves it, what it takes along.
std::string PrintPlan(const Plan& plan, bool all_targets = false);

// What differs between the world a plan was made for and the world now; empty = nothing.
std::vector<std::string> WorldDifferences(const Plan& plan, const WorldMark& now);
WorldMark MarkWorld(const std::vector<PlannedTarget>& targets, const Actuator::Fleet& fleet,
                    const std::map<std::string, std::string>& identity);

// The lost work of a job when it is ended at `now`: GPU-hours since its last durable checkpoint.
double LostGpuHours(const RunningJob& job, TimePoint now);

}  // namespace muster
