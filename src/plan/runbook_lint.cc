#include "plan/runbook_lint.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr Duration kLongestWait = std::chrono::hours(24 * 4);

class Linter {
 public:
  Linter(Runbook& book, const RunbookPlaces& places, YamlFindings& findings)
      : book_(book), places_(places), findings_(findings) {}

  void Run(const std::vector<std::string>& codes) {
    Head();
    Ids();
    Attests();
    for (size_t i = 0; i < book_.steps.size(); ++i) Step(book_.steps[i], places_.steps[i]);
    Isolation();
    Ladder();
    Rollback();
    Rounds();
    Limits();
    for (const auto& [code, at] : places_.codes) {
      if (codes.empty() || std::find(codes.begin(), codes.end(), code) != codes.end()) continue;
      const auto near = Nearest(code, codes);
      Say(at, fmt::format("{} is no criterion of the catalogue{}", Printable(code),
                          near ? ", did you mean " + *near + "?" : ""));
    }
    Sort();  // last: places go by the order of the file
  }

 private:
  void Say(YamlMark at, std::string what) {
    findings_.push_back({book_.file, at, std::move(what)});
  }

  void Head() {
    if (book_.on != SubjectKind::kNode && book_.on != SubjectKind::kGpu)
      Say(places_.root, "on: expected node or gpu");
    if (book_.steps.empty()) Say(places_.root, "steps: expected at least one");
    for (const Check& check : book_.prechecks) {
      if (check.id.empty())
        Say(places_.root, "prechecks: each has an id, which an operator is told");
    }
    std::set<std::string> names = {"node", "gpu", "uuid", "run"};
    for (const Input& input : book_.inputs) {
      if (!names.insert(input.name).second)
        Say(places_.root, fmt::format("input {} is named twice, or is one of node, gpu, uuid, run",
                                      Printable(input.name)));
    }
  }

  void Ids() {
    std::set<std::string_view> ids = {"rollback"};
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      if (!ids.insert(book_.steps[i].id).second)
        Say(places_.steps[i], fmt::format("step {} is there twice (or is called rollback)",
                                          Printable(book_.steps[i].id)));
    }
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      for (const std::string& before : book_.steps[i].after) {
        if (!ids.contains(before) || before == book_.steps[i].id)
          Say(places_.steps[i], fmt::format("after: there is no other step {}", Printable(before)));
      }
    }
  }

  // A person answers a check by its name, while the run waits; where nothing waits nobody is asked.
  void Attests() {
    std::set<std::string> ids;
    const auto asks = [&](const std::vector<Check>& checks, YamlMark at, bool waits) {
      for (const Check& check : checks) {
        if (check.form != Check::Form::kAttest) continue;
        if (!waits) Say(at, "attest: nobody can be asked in stands_while and skip_when");
        if (check.id.empty() || !ids.insert(check.id).second)
          Say(at, "attest: expected an id of its own, by which a person answers");
        if (check.for_at_least > Duration::zero())
          Say(at, "attest: a person answers once, for: does not go with it");
      }
    };
    asks(book_.trigger.stands_while, places_.root, false);
    asks(book_.prechecks, places_.root, true);
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      asks(book_.steps[i].skip_when, places_.steps[i], false);
      asks(book_.steps[i].before, places_.steps[i], true);
      asks(book_.steps[i].verify, places_.steps[i], true);
    }
    asks(book_.rollback.step.before, places_.rollback, true);
    asks(book_.rollback.step.verify, places_.rollback, true);
    asks(book_.rollback.verify, places_.rollback, true);
  }

  // A stable topological order; what is left over is a cycle.
  void Sort() {
    std::vector<StepSpec> sorted;
    std::vector<StepSpec> rest = book_.steps;
    std::set<std::string> done;
    bool moved = true;
    while (!rest.empty() && moved) {
      moved = false;
      for (auto it = rest.begin(); it != rest.end(); ++it) {
        const bool ready = std::all_of(it->after.begin(), it->after.end(), [&](const auto& id) {
          return done.contains(id) || book_.Find(id) == nullptr;
        });
        if (!ready) continue;
        done.insert(it->id);
        sorted.push_back(std::move(*it));
        rest.erase(it);
        moved = true;
        break;
      }
    }
    if (!rest.empty()) {
      std::vector<std::string> names;
      for (const StepSpec& step : rest) names.push_back(step.id);
      Say(places_.steps.front(),
          fmt::format("after: the steps {} wait for one another (a cycle)", Join(names, ", ")));
      return;
    }
    book_.steps = std::move(sorted);
  }

  void Step(const StepSpec& step, YamlMark at) {
    const ActTraits& traits = TraitsOf(step.act);
    Action shape{
        step.act, {step.whole_node ? SubjectKind::kNode : SubjectFor(step.act), "x"}, step.with};
    if (const Status fits = CheckAction(shape); !fits.ok()) Say(at, fits.error().message);
    if (step.attempts < 1 || step.attempts > 5) Say(at, "attempts: expected 1 to 5");
    if (traits.effect && step.timeout <= Duration::zero())
      Say(at, fmt::format("step {} has no timeout: no wait is endless", Printable(step.id)));
    if (step.timeout > kLongestWait) Say(at, "timeout: expected at most 4d");
    if (!step.probe.empty() && step.probe != traits.probe)
      Say(at, fmt::format("probe: {} is shown by {}, not by {}", traits.name,
                          traits.probe.empty() ? "nothing" : traits.probe, Printable(step.probe)));
    if (step.undo && !step.irreversible.empty())
      Say(at, "a step has an undo, or is irreversible for a reason; not both");
    if (step.rung == Rung::kNone || step.act == ActKind::kNotify) {
      // fine
    } else if (!traits.effect) {
      Say(at, "a rung of the ladder does something");
    }
    if (shape.Destructive()) Destructive(step, traits, at);
  }

  void Destructive(const StepSpec& step, const ActTraits& traits, YamlMark at) {
    if (step.probe.empty())
      Say(at, fmt::format("step {} is destructive and names no probe (expected probe: {})",
                          Printable(step.id), traits.probe));
    if (step.verify.empty())
      Say(at,
          fmt::format("step {} is destructive and nothing verifies it: an exit code is no proof",
                      Printable(step.id)));
    if (!step.undo && step.irreversible.empty())
      Say(at, fmt::format("step {} is destructive: expected undo, or irreversible with the reason",
                          Printable(step.id)));
    if (step.on_timeout == OnTimeout::kAsk && step.act != ActKind::kDrain)
      Say(at, "on_timeout: ask is for a drain");
  }

  SubjectKind SubjectFor(ActKind act) const {
    const bool gpu = Contains(TraitsOf(act).subjects, "gpu");
    return gpu && book_.on == SubjectKind::kGpu ? SubjectKind::kGpu : SubjectKind::kNode;
  }

  void Isolation() {
    int cordon = -1, back = -1;
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      const ActKind act = book_.steps[i].act;
      if (act == ActKind::kCordon) {
        if (cordon >= 0) Say(places_.steps[i], "a node is cordoned once");
        cordon = static_cast<int>(i);
      }
      if (act == ActKind::kReturn) {
        if (back >= 0) Say(places_.steps[i], "a node is returned once");
        back = static_cast<int>(i);
      }
    }
    if ((cordon < 0) != (back < 0))
      Say(places_.root, "a cordon has its return, and a return its cordon");
    if (back >= 0 && back != static_cast<int>(book_.steps.size()) - 1)
      Say(places_.steps[static_cast<size_t>(back)], "return is the last step");
    if (back > 0 && book_.steps[static_cast<size_t>(back) - 1].verify.empty())
      Say(places_.steps[static_cast<size_t>(back)],
          "the step before return proves that the node is well: expected verify there");
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      const StepSpec& step = book_.steps[i];
      if (!TraitsOf(step.act).destructive) continue;
      if (cordon < 0 || static_cast<int>(i) < cordon || static_cast<int>(i) > back)
        Say(places_.steps[i],
            fmt::format("step {} is destructive outside cordon and return", Printable(step.id)));
    }
  }

  // Rungs stand together, each higher than the one before: a lower one after a higher would loop.
  void Ladder() {
    Rung last = Rung::kNone;
    bool ended = false;
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      const Rung rung = book_.steps[i].rung;
      if (rung == Rung::kNone) {
        ended = ended || last != Rung::kNone;
        continue;
      }
      if (ended) Say(places_.steps[i], "the rungs of the ladder stand together");
      if (rung <= last) Say(places_.steps[i], "each rung is higher than the one before");
      if (book_.steps[i].verify.empty())
        Say(places_.steps[i], "a rung is verified: the next is climbed only when it is not");
      last = rung;
    }
  }

  void Rollback() {
    const RollbackSpec& rollback = book_.rollback;
    if (rollback.how == RollbackSpec::How::kAct) {
      Step(rollback.step, places_.rollback);
      if (rollback.step.verify.empty())
        Say(places_.rollback, "a rollback is verified like any step");
    }
    if (rollback.how == RollbackSpec::How::kUndo) {
      const bool any = std::any_of(book_.steps.begin(), book_.steps.end(),
                                   [](const StepSpec& s) { return s.undo.has_value(); });
      if (!any) Say(places_.rollback, "how: undo, and no step has an undo");
      if (rollback.verify.empty()) Say(places_.rollback, "a rollback is verified: expected verify");
    }
    if (rollback.how == RollbackSpec::How::kStay && rollback.then_return)
      Say(places_.rollback, "how: stay keeps the node out: it is parked, not returned");
  }

  // The procedure begins again where a proven rollback left the node as it was.
  void Rounds() {
    if (book_.rounds < 1 || book_.rounds > 5) Say(places_.root, "rounds: expected 1 to 5");
    if (book_.rounds <= 1) return;
    const RollbackSpec& rollback = book_.rollback;
    if (rollback.how == RollbackSpec::How::kStay)
      Say(places_.root, "rounds: after how: stay nothing is as it was; expected 1");
    if (book_.Isolates() && !rollback.then_return)
      Say(places_.root, "rounds: a node that is parked is not tried again; expected then: return");
  }

  void Limits() {
    const Blast& blast = book_.blast;
    if (blast.at_once < 1 || blast.per_rack < 1 || blast.per_leaf < 1 || blast.per_job < 1 ||
        blast.failures < 1)
      Say(places_.blast, "limits are 1 or more");
    if (blast.at_once_percent <= 0 || blast.at_once_percent > 50)
      Say(places_.blast,
          "at_once_percent: expected more than 0 and at most 50: never a whole fleet");
    if (blast.out_of_service_percent <= 0 || blast.out_of_service_percent > 50)
      Say(places_.blast, "out_of_service_percent: expected more than 0 and at most 50");
    for (const std::string& wave : blast.waves) {
      const bool percent = EndsWith(wave, "%");
      const auto number = ParseDouble(percent ? wave.substr(0, wave.size() - 1) : wave);
      if (!number.ok() || *number <= 0 || (percent && *number > 100))
        Say(places_.blast, fmt::format("waves: expected 1, 4 or 5%, found {}", Printable(wave)));
    }
    if (blast.waves.empty() || blast.waves.front() != "1")
      Say(places_.blast, "waves: the first is a canary: 1");
  }

  Runbook& book_;
  const RunbookPlaces& places_;
  YamlFindings& findings_;
};

}  // namespace

void LintRunbook(Runbook& book, const RunbookPlaces& places, const std::vector<std::string>& codes,
                 YamlFindings& findings) {
  Linter(book, places, findings).Run(codes);
}

const StepSpec* Runbook::Find(std::string_view step) const {
  const auto it =
      std::find_if(steps.begin(), steps.end(), [&](const StepSpec& s) { return s.id == step; });
  return it == steps.end() ? nullptr : &*it;
}

bool Runbook::Isolates() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const StepSpec& s) { return s.act == ActKind::kCordon; });
}

std::string Check::ToString() const {
  std::string text;
  switch (form) {
    case Form::kCriteria:
      text = fmt::format("{} {}", Join(criteria, " "),
                         wants_pass ? (criteria.size() == 1 ? "passes" : "pass") : "fails");
      break;
    case Form::kGate:
      text = fmt::format("gate {} passes on the node, with its proofs", gate);
      break;
    case Form::kFact: {
      std::vector<std::string> shown;
      for (const Value& value : values) shown.push_back(FormatValue(value, Unit::kNone));
      text = fmt::format("{} {}{}{}", fact, muster::ToString(compare), shown.empty() ? "" : " ",
                         Join(shown, ", "));
      if (!wants_pass) text = "not (" + text + ")";
      break;
    }
    case Form::kCommand:
      text = fmt::format("`{}` exits {}{}", Join(argv, " "), exit_code,
                         contains.empty() ? "" : " and prints \"" + contains + "\"");
      break;
    case Form::kBuiltin:
      text = builtin == "jobs_none"    ? "no job runs on the node"
             : builtin == "lights_out" ? "the node's power can be controlled out of band"
             : builtin == "supported"  ? "the versions that it comes to are in the support matrix"
                                       : "nobody else holds the node";
      break;
    case Form::kAttest:
      text = "a person attests: " + attest;
      break;
  }
  if (for_at_least > Duration::zero()) text += ", for " + FormatDuration(for_at_least);
  return text;
}

}  // namespace muster
