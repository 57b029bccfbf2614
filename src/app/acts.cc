#include "app/acts.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/act_preview.h"
#include "base/strings.h"

namespace muster {

namespace {

constexpr size_t kKeptOutput = 2000;

std::string Tail(const std::string& text) {
  return text.size() <= kKeptOutput ? text : text.substr(text.size() - kKeptOutput);
}

const ActRecord* Earlier(const std::vector<ActRecord>& earlier, const Act& act) {
  const auto found = std::find_if(earlier.rbegin(), earlier.rend(),
                                  [&](const ActRecord& r) { return r.name == act.name; });
  return found == earlier.rend() ? nullptr : &*found;
}

struct Step {
  ActRecord record;
  std::string blocked_by;
  bool needs_person = false;
  bool refused = false;
};

// Runs the command, then looks: with a probe, what it sees is the outcome, whatever the exit code
// said.
void Execute(const Act& act, Processes& processes, Step& step) {
  auto result = processes.Run({.argv = act.argv, .timeout = act.timeout});
  if (!result.ok()) {
    step.record.outcome = "failed";
    step.record.exit_code = 127;
    step.record.output = result.error().ToString();
  } else {
    step.record.exit_code = result->exit_code;
    step.record.output = Tail(result->out + result->err);
    step.record.outcome = result->timed_out || result->exit_code != 0 ? "failed" : "done";
    if (result->timed_out)
      step.record.output += fmt::format("\n(no end within {})", FormatDuration(act.timeout));
  }
  if (!act.probe.empty()) {
    std::string detail;
    switch (AskProbe(act, processes, detail)) {
      case Happened::kYes:
        step.record.outcome = "done";
        break;
      case Happened::kNo:
        step.record.outcome = "failed";
        break;
      case Happened::kUnknown:
        step.record.outcome = "in doubt";
        break;
    }
    if (!detail.empty()) step.record.output += "\nprobe: " + detail;
  }
  if (step.record.outcome == "failed")
    step.blocked_by = fmt::format("act \"{}\" failed (exit {})", act.name, step.record.exit_code);
  if (step.record.outcome == "in doubt") {
    step.blocked_by = fmt::format("act \"{}\": its probe cannot say whether it happened", act.name);
    step.needs_person = act.destructive;
  }
}

Result<Step> DoOne(const Act& act, const ActRecord* earlier, int gate, bool approve,
                   RunLedger& ledger, Processes& processes) {
  Step step;
  step.record.name = act.name;
  step.record.argv = act.argv;
  if (earlier != nullptr && (earlier->outcome == "done" || earlier->outcome == "already so")) {
    step.record = *earlier;
    return step;
  }
  const bool in_doubt = earlier != nullptr && earlier->outcome.empty();
  std::string detail;
  const Happened happened =
      act.probe.empty() ? Happened::kUnknown : AskProbe(act, processes, detail);
  if (happened == Happened::kYes) {
    step.record.outcome = in_doubt ? "done" : "already so";
    step.record.output = detail;
    TRY_VOID(ledger.ActOutcome(gate, step.record));
    return step;
  }
  if (in_doubt && happened == Happened::kUnknown && act.destructive) {
    step.record.outcome = "in doubt";
    step.blocked_by = fmt::format(
        "act \"{}\" was begun before an interruption and nothing can say whether it happened; a "
        "person "
        "must look, then waive or undo it",
        act.name);
    step.needs_person = true;
    TRY_VOID(ledger.ActOutcome(gate, step.record));
    return step;
  }
  if (act.destructive && !approve) {
    step.blocked_by =
        fmt::format("act \"{}\" is destructive and not approved (--approve)", act.name);
    step.refused = true;
    return step;
  }
  // The intent holds what the tool itself says would change, where it can say so.
  if (act.kind == "helm" || act.kind == "kubectl") {
    const ActPreview preview = PreviewByTool(act, processes);
    step.record.output = Tail(
        fmt::format("preview: {}", preview.known ? preview.text : "not known: " + preview.text));
  }
  TRY_VOID(ledger.ActIntent(gate, step.record));
  step.record.output.clear();
  Execute(act, processes, step);
  TRY_VOID(ledger.ActOutcome(gate, step.record));
  return step;
}

}  // namespace

Happened AskProbe(const Act& act, Processes& processes, std::string& detail) {
  if (act.probe.empty()) return Happened::kUnknown;
  auto result = processes.Run({.argv = act.probe, .timeout = act.timeout});
  if (!result.ok()) {
    detail = result.error().ToString();
    return Happened::kUnknown;
  }
  detail = Shorten(Trim(result->out + result->err), 300);
  if (result->timed_out) return Happened::kUnknown;
  return result->exit_code == 0   ? Happened::kYes
         : result->exit_code == 1 ? Happened::kNo
                                  : Happened::kUnknown;
}

Result<ActsOutcome> DoActs(const std::vector<Act>& acts, const std::vector<ActRecord>& earlier,
                           int gate, bool approve_destructive, RunLedger& ledger,
                           Processes& processes, Progress& progress) {
  ActsOutcome outcome;
  for (const Act& act : acts) {
    if (act.gate != gate) continue;
    if (progress.Stopped()) return outcome;  // whoever stopped looks no further
    progress.Note(fmt::format("act: {}", act.name));
    TRY(Step step, DoOne(act, Earlier(earlier, act), gate, approve_destructive, ledger, processes));
    outcome.records.push_back(step.record);
    if (!step.blocked_by.empty()) {
      outcome.blocked_by = step.blocked_by;
      outcome.needs_person = step.needs_person;
      outcome.refused = step.refused;
      return outcome;
    }
  }
  return outcome;
}

}  // namespace muster
