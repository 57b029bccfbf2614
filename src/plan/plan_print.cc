// A plan for a person: a diff of the cluster. "~" changes, "!" is destructive, "=" only looks, "-"
// is left out.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "plan/plan.h"

namespace muster {

namespace {

constexpr size_t kShownTargets = 3;

void PrintChecks(std::string& out, std::string_view word, const std::vector<Check>& checks) {
  for (const Check& check : checks) out += fmt::format("        {} {}\n", word, check.ToString());
}

void PrintStep(std::string& out, const StepSpec& spec, const PlannedStep& step,
               std::string_view name) {
  const ActTraits& traits = TraitsOf(step.action.kind);
  if (!step.skipped.empty()) {
    out += fmt::format("    - {}: {} (not done: {})\n", name, spec.title, step.skipped);
    return;
  }
  const bool destructive = step.action.Destructive();
  std::vector<std::string> marks;
  if (destructive) marks.emplace_back("destructive");
  if (spec.approval) marks.emplace_back("needs approval");
  if (spec.rung != Rung::kNone) marks.push_back(fmt::format("rung {}", ToString(spec.rung)));
  if (spec.timeout > Duration::zero())
    marks.push_back("at most " + FormatDuration(spec.timeout) +
                    (spec.on_timeout == OnTimeout::kAsk ? ", then asks" : ""));
  out += fmt::format("    {} {}: {}{}\n",
                     destructive     ? "!"
                     : traits.effect ? "~"
                                     : "=",
                     name, spec.title, marks.empty() ? "" : " [" + Join(marks, "; ") + "]");
  PrintChecks(out, "before:", spec.before);
  for (const std::string& command : step.commands)
    out += fmt::format("        $ {}\n", Printable(command));
  if (traits.effect) out += fmt::format("        happened when: {}\n", traits.probe);
  PrintChecks(out, "proved by:", spec.verify);
  if (step.undo) out += fmt::format("        undo: {}\n", step.undo->ToString());
  if (!spec.irreversible.empty()) out += fmt::format("        no undo: {}\n", spec.irreversible);
}

void PrintJobs(std::string& out, const PlannedTarget& target, TimePoint now) {
  for (const RunningJob& job : target.jobs) {
    out += fmt::format(
        "    in the way: job {} of {} on {} GPUs, {}: {:.1f} GPU-hours lost if it ended now\n",
        Printable(job.id), Printable(job.owner), job.gpus,
        job.durable_at ? "durable checkpoint " + FormatDuration(now - *job.durable_at) + " ago"
                       : "no durable checkpoint",
        LostGpuHours(job, now));
  }
}

void PrintRollback(std::string& out, const Plan& plan, const PlannedTarget& target) {
  const RollbackSpec& rollback = plan.runbook.rollback;
  const std::string_view then =
      rollback.then_return ? "then returned" : "then parked with an owner";
  switch (rollback.how) {
    case RollbackSpec::How::kAct:
      out += fmt::format("    if it is not proven, in one step ({}; {}):\n", rollback.why, then);
      if (target.rollback) PrintStep(out, rollback.step, *target.rollback, rollback.step.id);
      break;
    case RollbackSpec::How::kUndo:
      out += fmt::format("    if it is not proven: what was done is undone, last first; {} ({})\n",
                         then, rollback.why);
      PrintChecks(out, "proved by:", rollback.verify);
      break;
    case RollbackSpec::How::kStay:
      out += fmt::format("    if it is not proven: stays isolated, parked ({})\n", rollback.why);
      break;
  }
}

void PrintTarget(std::string& out, const Plan& plan, const PlannedTarget& target) {
  out += fmt::format("\n  {}  wave {}{}{}{}\n", target.on.ToString(), target.wave + 1,
                     target.rack.empty() ? "" : ", " + target.rack,
                     target.leaf.empty() ? "" : ", " + target.leaf,
                     target.identity.empty() ? "" : ", " + target.identity);
  PrintJobs(out, target, plan.made_at);
  for (const PlannedStep& step : target.steps)
    PrintStep(out, plan.runbook.steps[step.spec], step, plan.runbook.steps[step.spec].id);
  PrintRollback(out, plan, target);
}

void PrintWaves(std::string& out, const Plan& plan) {
  std::map<int, std::vector<std::string>> waves;
  for (const PlannedTarget& target : plan.targets) waves[target.wave].push_back(target.on.id);
  for (const auto& [wave, names] : waves) {
    const size_t shown = std::min<size_t>(names.size(), 8);
    out +=
        fmt::format("  wave {}: {}{}{}\n", wave + 1,
                    Join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", "),
                    names.size() > shown ? fmt::format(", ... {} in all", names.size()) : "",
                    wave == 0 && waves.size() > 1 ? "  (canary)" : "");
  }
}

}  // namespace

std::string PrintPlan(const Plan& plan, bool all_targets) {
  const Blast& blast = plan.runbook.blast;
  std::string out =
      fmt::format("{} {}\nplan {}  made {} by {} for site {}  evidence {}\n\n", plan.runbook.id,
                  plan.runbook.title, plan.hash.substr(0, 16), FormatTime(plan.made_at), plan.by,
                  plan.site, ToString(plan.evidence));
  if (!plan.runbook_commit.empty())
    out += fmt::format("  the site's own runbook {}: {}\n", plan.runbook_file, plan.runbook_commit);
  for (const auto& [name, value] : plan.inputs) out += fmt::format("  {} = {}\n", name, value);
  out += fmt::format(
      "  at once: {}; a rack: {}; a leaf: {}; a job: {}; out of service in all: {} of {} ({} now)\n"
      "  stops after {} failure{} over all waves; {} round{} of the procedure\n",
      plan.at_once, blast.per_rack, blast.per_leaf, blast.per_job, plan.most_out_of_service,
      plan.fleet, plan.out_of_service.size(), blast.failures, blast.failures == 1 ? "" : "s",
      plan.runbook.rounds, plan.runbook.rounds == 1 ? "" : "s");
  PrintWaves(out, plan);
  if (blast.soak > Duration::zero())
    out += fmt::format("  between waves: {}\n", FormatDuration(blast.soak));
  for (const std::string& left : plan.left_out) out += fmt::format("  - left out: {}\n", left);
  if (!plan.runbook.prechecks.empty()) out += "\n  before each target:\n";
  PrintChecks(out, "must be so:", plan.runbook.prechecks);
  if (!plan.runbook.trigger.stands_while.empty()) {
    out += "    and the trigger still stands:\n";
    PrintChecks(out, "one of:", plan.runbook.trigger.stands_while);
  }
  size_t shown = 0;
  for (const PlannedTarget& target : plan.targets) {
    if (!all_targets && shown++ == kShownTargets) {
      out += fmt::format("\n  ... and the same for {} more (--all shows them)\n",
                         plan.targets.size() - kShownTargets);
      break;
    }
    PrintTarget(out, plan, target);
  }
  return out;
}

}  // namespace muster
