#include "cli/runbook/runs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;
using engine::End;
using engine::TargetState;

std::string StageOf(const TargetState& target, const Plan& plan) {
  switch (target.stage) {
    case TargetState::Stage::kQueued:
      return "waits";
    case TargetState::Stage::kChecking:
      return "prechecks";
    case TargetState::Stage::kEnded:
      return std::string(ToString(target.end));
    case TargetState::Stage::kStepping:
      break;
  }
  if (target.way == engine::Way::kRelease) return "is released";
  if (target.way == engine::Way::kSpec) return "goes back";
  const size_t cursor = static_cast<size_t>(target.cursor);
  return cursor < plan.runbook.steps.size() ? "at " + plan.runbook.steps[cursor].id : "at its end";
}

// What a person types who answers: the engine's text names the step or the check first.
std::string WordFor(const std::string& run, std::string_view blocked) {
  const auto words = SplitBlank(blocked);
  const bool check = words.size() > 1 && words[0] == "check";
  const std::string what(words.size() > 1 && (check || words[0] == "step") ? words[1] : "STEP");
  const std::string yes =
      check ? fmt::format("attest {} {} --by NAME --says yes --evidence TEXT", run, what)
            : fmt::format("approve {} {} --by NAME", run, what);
  return fmt::format(
      "  yes: muster runbook {}, then muster runbook resume {}\n  no:  muster runbook rollback {} "
      "--by NAME --reason TEXT\n",
      yes, run, run);
}

std::string NextOf(const std::string& run, const TargetState& target, const std::string& node) {
  switch (target.end) {
    case End::kParked:
    case End::kNeedsPerson:
      return fmt::format(
          "{} stays out: muster runbook ticket {}; when it is repaired: muster node "
          "return {}",
          node, run, node);
    case End::kInDoubt:
      return fmt::format("look at {} by hand; when it is well: muster node return {}", node, node);
    case End::kTakenOver:
      return fmt::format("{} is with the person who changed it", node);
    default:
      return "";
  }
}

}  // namespace

Level LevelOf(const TargetState& target) {
  switch (target.end) {
    case End::kDone:
    case End::kStale:
      return Level::kPass;
    case End::kNone:
    case End::kInDoubt:
    case End::kNotStarted:
    case End::kTakenOver:
      return Level::kUnknown;
    case End::kRolledBack:
      return Level::kWarn;
    default:
      return Level::kFail;
  }
}

std::string EntryLine(const engine::Entry& entry, const Plan& plan) {
  std::string text = fmt::format("{} {:<9}", FormatTime(entry.at), ToString(entry.type));
  if (entry.target >= 0 && static_cast<size_t>(entry.target) < plan.targets.size())
    text += fmt::format(" {:<16}", plan.targets[static_cast<size_t>(entry.target)].on.id);
  if (!entry.step.empty()) text += " " + entry.step;
  if (entry.type == engine::EntryType::kIntent)
    text += fmt::format(" attempt {}{}", entry.attempt, entry.destructive ? " destructive" : "");
  if (entry.type == engine::EntryType::kVerified || entry.type == engine::EntryType::kChecked)
    text += fmt::format(" {}", ToString(entry.level));
  if (entry.outcome != engine::Outcome::kNone) text += fmt::format(" {}", ToString(entry.outcome));
  if (entry.end != End::kNone) text += fmt::format(" {}", ToString(entry.end));
  if (!entry.by.empty()) text += " by " + Printable(entry.by);
  if (entry.type != engine::EntryType::kOpen && !entry.detail.empty())
    text += ": " + Shorten(Printable(entry.detail), 160);
  return text;
}

Document RunDocument(const Context& context, const std::string& run, const Plan& plan,
                     const engine::RunState& state, const std::vector<engine::Entry>& entries,
                     const std::string& blocked) {
  Document doc;
  doc.kind = "RunbookRun";
  Json targets = Json::array();
  Table table({"TARGET", "WAVE", "STANDS", "NODE", "WHY"});
  std::string next;
  for (size_t i = 0; i < plan.targets.size(); ++i) {
    const TargetState& target = state.targets[i];
    const PlannedTarget& planned = plan.targets[i];
    table.Row({planned.on.id, std::to_string(planned.wave + 1), StageOf(target, plan),
               target.held ? "isolated by this run" : "", Shorten(Printable(target.why), 100)});
    targets.push_back({{"on", planned.on.id},
                       {"wave", planned.wave + 1},
                       {"stands", StageOf(target, plan)},
                       {"held", target.held},
                       {"why", target.why}});
    doc.cases.push_back({run, planned.on.id, LevelOf(target), target.why});
    if (const std::string hint = NextOf(run, target, planned.node); !hint.empty())
      next += hint + "\n";
  }
  *doc.json = {{"run", run},
               {"runbook", plan.runbook.id},
               {"plan", plan.hash},
               {"origin", ToString(plan.origin)},
               {"closed", state.closed},
               {"end", ToString(engine::WorstEnd(state))},
               {"blocked", blocked},
               {"records", entries.size()},
               {"targets", targets}};
  doc.table =
      fmt::format("run {}  {} {}  plan {}  {}\n\n{}", run, plan.runbook.id, plan.runbook.title,
                  plan.hash.substr(0, 16), plan.origin == Origin::kRehearsed ? "rehearsed" : "live",
                  table.ToString());
  if (!blocked.empty()) {
    next += blocked + "\n" + WordFor(run, blocked);
  }
  if (!next.empty()) doc.table += "\n" + next;
  if (!state.closed && blocked.empty())
    doc.table += fmt::format("\nnot closed: muster runbook resume {}\n", run);
  (void)context;
  return doc;
}

}  // namespace muster::cli
