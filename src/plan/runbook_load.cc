// From YAML to a Runbook: shapes and words. What they must come to together is in runbook_lint.cc.
#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"
#include "plan/runbook.h"
#include "plan/runbook_lint.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

class RunbookLoader {
 public:
  RunbookLoader(std::string_view file, YamlFindings& findings) : file_(file), findings_(findings) {}

  Runbook Load(const YamlNode& root, RunbookPlaces& places) {
    Runbook book;
    book.file = std::string(file_);
    YamlReader r(root, file_, findings_);
    book.id = r.Text("id");
    book.slug = r.Text("slug");
    book.title = r.Text("title");
    book.family = r.Text("family");
    book.why = r.TextOr("why", "");
    book.source = r.Text("source");
    book.since = r.TextOr("since", "");
    book.on = r.Parsed("on", ParseSubjectKind, SubjectKind::kNode);
    book.rounds = static_cast<int>(r.IntOr("rounds", 1));
    book.mistakes = r.TextsOr("mistakes");
    book.expected = r.DurationOr("expected", {});
    for (const YamlNode& node : r.Items("rehearsal"))
      book.rehearsals.push_back(LoadRehearsal(node));
    if (const YamlNode* node = r.NeedChild("trigger")) book.trigger = LoadTrigger(*node);
    for (const YamlNode& node : r.Items("inputs")) book.inputs.push_back(LoadInput(node));
    book.prechecks = LoadChecks(r, "prechecks", places);
    for (const YamlNode& node : r.Items("steps")) {
      book.steps.push_back(LoadStep(node, places));
      places.steps.push_back(node.at);
    }
    if (const YamlNode* node = r.NeedChild("rollback")) {
      places.rollback = node->at;
      book.rollback = LoadRollback(*node, places);
    }
    if (const YamlNode* node = r.NeedChild("blast")) {
      places.blast = node->at;
      book.blast = LoadBlast(*node);
    }
    if (const YamlNode* node = r.Child("budget")) book.budget = LoadBudget(*node);
    places.root = root.at;
    r.Done();
    return book;
  }

 private:
  Trigger LoadTrigger(const YamlNode& node) {
    Trigger trigger;
    YamlReader r(node, file_, findings_);
    const std::string kind = r.Text("kind");
    if (kind == "alert") {
      trigger.kind = Trigger::Kind::kAlert;
    } else if (kind != "manual" && !kind.empty()) {
      r.SayAt(
          *node.Find("kind"),
          fmt::format("unknown kind of trigger \"{}\", expected alert or manual", Printable(kind)));
    }
    trigger.alerts = r.TextsOr("alerts");
    trigger.means = r.Text("means");
    RunbookPlaces unused;
    trigger.stands_while = LoadChecks(r, "stands_while", unused);
    trigger.stale_after = r.DurationOr("stale_after", trigger.stale_after);
    if (trigger.kind == Trigger::Kind::kAlert && trigger.alerts.empty())
      r.Say("a trigger of kind alert names its alerts");
    if (trigger.kind == Trigger::Kind::kManual && !trigger.alerts.empty())
      r.Say("a manual trigger has no alerts: an alert must never start it");
    r.Done();
    return trigger;
  }

  Rehearsal LoadRehearsal(const YamlNode& node) {
    YamlReader r(node, file_, findings_);
    Rehearsal rehearsal;
    rehearsal.fault = r.TextOr("fault", "");
    rehearsal.ends = r.Text("ends");
    rehearsal.inputs = LoadTexts(r.Child("set"));
    r.Done();
    return rehearsal;
  }

  Input LoadInput(const YamlNode& node) {
    YamlReader r(node, file_, findings_);
    Input input;
    input.name = r.Text("name");
    input.means = r.Text("means");
    input.required = r.BoolOr("required", false);
    input.otherwise = r.TextOr("default", "");
    if (input.required && !input.otherwise.empty())
      r.Say("an input that is required has no default");
    r.Done();
    return input;
  }

  std::vector<Check> LoadChecks(YamlReader& r, std::string_view key, RunbookPlaces& places) {
    std::vector<Check> checks;
    for (const YamlNode& node : r.Items(key)) {
      checks.push_back(LoadCheck(node));
      for (const std::string& code : checks.back().criteria)
        places.codes.emplace_back(code, node.at);
    }
    return checks;
  }

  Check LoadCheck(const YamlNode& node) {
    YamlReader r(node, file_, findings_);
    Check check;
    check.id = r.TextOr("id", "");
    check.why = r.TextOr("why", "");
    check.timeout = r.DurationOr("timeout", check.timeout);
    check.for_at_least = r.DurationOr("for", {});
    const std::string wants = r.TextOr("wants", "pass");
    if (wants != "pass" && wants != "fail")
      r.SayAt(*node.Find("wants"), "expected wants: pass or fail");
    check.wants_pass = wants != "fail";
    int forms = 0;
    const auto is = [&](std::string_view key, Check::Form form) {
      if (!r.Has(key)) return false;
      check.form = form;
      ++forms;
      return true;
    };
    if (is("criteria", Check::Form::kCriteria)) check.criteria = r.TextsOr("criteria");
    if (is("gate", Check::Form::kGate)) {
      check.gate = static_cast<int>(r.Int("gate"));
      if (check.gate < 1 || check.gate > 8) r.Say("expected gate: 1 to 8");
    }
    if (is("fact", Check::Form::kFact)) LoadFact(r, check);
    if (is("command", Check::Form::kCommand)) {
      check.argv = r.TextsOr("command");
      check.exit_code = static_cast<int>(r.IntOr("exit", 0));
      check.contains = r.TextOr("contains", "");
      if (check.argv.empty()) r.Say("a command has at least its program");
    }
    if (is("is", Check::Form::kBuiltin)) {
      check.builtin = r.Text("is");
      static const std::vector<std::string> kKnown = {"jobs_none", "lights_out", "not_foreign",
                                                      "supported"};
      if (std::find(kKnown.begin(), kKnown.end(), check.builtin) == kKnown.end())
        r.SayAt(*node.Find("is"), "expected is: " + Join(kKnown, ", "));
    }
    if (is("attest", Check::Form::kAttest)) check.attest = r.Text("attest");
    if (forms != 1) r.Say("a check is exactly one of criteria, gate, fact, command, is, attest");
    if (check.form == Check::Form::kCriteria && check.criteria.empty())
      r.Say("criteria: expected at least one code");
    r.Done();
    return check;
  }

  void LoadFact(YamlReader& r, Check& check) {
    check.fact = r.Text("fact");
    check.compare = r.Parsed("compare", ParseCompare, Compare::kEqual);
    const bool unary = check.compare == Compare::kTrue || check.compare == Compare::kFalse;
    const YamlNode* value = r.Child("value");
    if (unary != (value == nullptr)) {
      r.Say(unary ? "true and false take no value" : "fact: expected a value to compare with");
      return;
    }
    if (unary) return;
    const auto add = [&](const YamlNode& node) {
      if (const auto number = YamlReal(node); !node.quoted && number.ok()) {
        check.values.emplace_back(*number);
      } else if (const auto text = YamlText(node); text.ok()) {
        check.values.emplace_back(*text);
      } else {
        r.SayAt(node, "expected a number or a text");
      }
    };
    if (value->kind == YamlNode::Kind::kSequence) {
      for (const YamlNode& item : value->items) add(item);
    } else {
      add(*value);
    }
  }

  std::map<std::string, std::string> LoadTexts(const YamlNode* node) {
    std::map<std::string, std::string> texts;
    if (node == nullptr) return texts;
    YamlReader r(*node, file_, findings_);
    for (const YamlEntry& entry : node->entries) texts[entry.key] = r.Text(entry.key);
    return texts;
  }

  StepSpec LoadStep(const YamlNode& node, RunbookPlaces& places) {
    YamlReader r(node, file_, findings_);
    StepSpec step;
    step.id = r.Text("id");
    step.title = r.TextOr("title", step.id);
    step.why = r.TextOr("why", "");
    if (r.NeedChild("act") != nullptr) step.act = r.Parsed("act", ParseActKind, ActKind::kObserve);
    step.with = LoadTexts(r.Child("with"));
    step.after = r.TextsOr("after");
    step.before = LoadChecks(r, "before", places);
    step.skip_when = LoadChecks(r, "skip_when", places);
    step.verify = LoadChecks(r, "verify", places);
    step.probe = r.TextOr("probe", "");
    step.approval = r.BoolOr("approval", false);
    step.whole_node = r.BoolOr("whole_node", false);
    step.timeout = r.DurationOr("timeout", {});
    step.expected = r.DurationOr("expected", {});
    step.attempts = static_cast<int>(r.IntOr("attempts", 1));
    step.rung = r.Parsed("rung", ParseRung, Rung::kNone);
    step.irreversible = r.TextOr("irreversible", "");
    if (r.Has("undo")) step.undo = r.Parsed("undo", ParseActKind, ActKind::kObserve);
    step.undo_with = LoadTexts(r.Child("undo_with"));
    const std::string late = r.TextOr("on_timeout", "fail");
    if (late != "fail" && late != "ask")
      r.SayAt(*node.Find("on_timeout"), "expected on_timeout: fail or ask");
    if (late == "ask") step.on_timeout = OnTimeout::kAsk;
    r.Done();
    return step;
  }

  RollbackSpec LoadRollback(const YamlNode& node, RunbookPlaces& places) {
    YamlReader r(node, file_, findings_);
    RollbackSpec rollback;
    rollback.why = r.Text("why");
    const std::string how = r.Text("how");
    if (how == "act") {
      rollback.how = RollbackSpec::How::kAct;
    } else if (how == "undo") {
      rollback.how = RollbackSpec::How::kUndo;
    } else if (how != "stay" && !how.empty()) {
      r.SayAt(*node.Find("how"), "expected how: act, undo or stay");
    }
    const YamlNode* step = r.Child("step");
    if (step != nullptr) rollback.step = LoadStep(*step, places);
    if ((rollback.how == RollbackSpec::How::kAct) != (step != nullptr))
      r.Say("how: act has a step, and only that has one");
    rollback.verify = LoadChecks(r, "verify", places);
    const std::string then = r.TextOr("then", "park");
    if (then != "park" && then != "return")
      r.SayAt(*node.Find("then"), "expected then: park or return");
    rollback.then_return = then == "return";
    r.Done();
    return rollback;
  }

  Blast LoadBlast(const YamlNode& node) {
    YamlReader r(node, file_, findings_);
    Blast blast;
    blast.at_once = static_cast<int>(r.IntOr("at_once", blast.at_once));
    blast.at_once_percent = r.RealOr("at_once_percent", blast.at_once_percent);
    blast.per_rack = static_cast<int>(r.IntOr("per_rack", blast.per_rack));
    blast.per_leaf = static_cast<int>(r.IntOr("per_leaf", blast.per_leaf));
    blast.per_job = static_cast<int>(r.IntOr("per_job", blast.per_job));
    blast.out_of_service_percent = r.RealOr("out_of_service_percent", blast.out_of_service_percent);
    blast.failures = static_cast<int>(r.IntOr("failures", blast.failures));
    blast.waves = r.TextsOr("waves", blast.waves);
    blast.soak = r.DurationOr("soak", {});
    blast.why = r.TextOr("why", "");
    r.Done();
    return blast;
  }

  RungBudget LoadBudget(const YamlNode& node) {
    YamlReader r(node, file_, findings_);
    RungBudget budget;
    for (const Rung rung : {Rung::kProcess, Rung::kGpu, Rung::kReboot, Rung::kPowerCycle})
      budget.most[rung] = static_cast<int>(r.IntOr(ToString(rung), budget.most[rung]));
    budget.per = r.DurationOr("per", budget.per);
    r.Done();
    return budget;
  }

  std::string_view file_;
  YamlFindings& findings_;
};

}  // namespace

Result<Runbook> ParseRunbook(std::string_view text, std::string_view file,
                             const std::vector<std::string>& codes) {
  TRY(const YamlNode root, ParseYaml(text, file));
  if (root.kind != YamlNode::Kind::kMapping)
    return Fail(Code::kInvalid,
                fmt::format("{}:1:1: expected a mapping: id, title, trigger, steps, "
                            "rollback, blast, source",
                            file));
  YamlFindings findings;
  RunbookPlaces places;
  Runbook book = RunbookLoader(file, findings).Load(root, places);
  LintRunbook(book, places, codes, findings);
  TRY_VOID(ToStatus(findings));
  book.sha256 = Sha256Hex(text);
  return book;
}

}  // namespace muster
