// The planner: pure. Everything it knows is handed in; the same arguments give the same plan.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"
#include "plan/plan.h"
#include "plan/templates.h"

namespace muster {

namespace {

// The leaf that a node hangs on: of its first adapter. One pass over the links for all nodes.
std::unordered_map<std::string, std::string> LeafOfNodes(const Cluster& cluster) {
  std::unordered_map<std::string, std::string> leaf;
  for (const Link& link : cluster.links) {
    for (const auto& [host, other] : {std::pair(&link.a, &link.b), std::pair(&link.b, &link.a)}) {
      const size_t slash = host->device.find('/');
      if (slash == std::string::npos || Contains(other->device, "/")) continue;
      auto& of = leaf[host->device.substr(0, slash)];
      if (of.empty() || other->device < of) of = other->device;
    }
  }
  return leaf;
}

class Planner {
 public:
  Planner(const Runbook& book, const PlanRequest& request, const PlanFacts& facts,
          const Actuator& actuator)
      : book_(book), request_(request), facts_(facts), actuator_(actuator) {
    for (const Node& node : facts.cluster.nodes) nodes_[node.name] = &node;
    for (const Actuator::HeldNode& held : facts.fleet.nodes) holds_[held.node] = &held.hold;
    silent_.insert(facts.fleet.silent.begin(), facts.fleet.silent.end());
    const auto can = actuator.Can();
    can_.insert(can.begin(), can.end());
    leaf_ = LeafOfNodes(facts.cluster);
  }

  Result<Plan> Make(const std::string& runbook_text) {
    plan_.site = request_.site;
    plan_.by = request_.by;
    plan_.made_at = request_.now;
    plan_.origin = actuator_.origin();
    plan_.evidence = facts_.evidence;
    plan_.runbook_text = runbook_text;
    plan_.runbook_file = book_.file;
    plan_.runbook_commit = request_.runbook_commit;
    plan_.runbook = book_;
    plan_.fleet = nodes_.size();
    TRY_VOID(FillInputs());
    TRY_VOID(CheckCapabilities());
    if (plan_.origin == Origin::kLive && plan_.evidence != Origin::kLive)
      return Fail(Code::kRefused,
                  fmt::format("the evidence is {}, and the cluster is real: plan from a live look",
                              ToString(plan_.evidence)));
    CountOutOfService();
    TRY_VOID(AddTargets());
    TRY_VOID(SetLimits());
    SplitWaves();
    plan_.world = MarkWorld(plan_.targets, facts_.fleet, facts_.identity);
    plan_.hash = PlanHash(plan_);
    return std::move(plan_);
  }

 private:
  Status FillInputs() {
    for (const auto& [name, value] : request_.inputs) {
      const bool known = std::any_of(book_.inputs.begin(), book_.inputs.end(),
                                     [&](const Input& input) { return input.name == name; });
      if (!known)
        return Fail(Code::kInvalid, fmt::format("{} has no input {}", book_.id, Printable(name)));
      plan_.inputs[name] = value;
    }
    for (const Input& input : book_.inputs) {
      if (plan_.inputs.contains(input.name)) continue;
      if (input.required)
        return Fail(Code::kInvalid,
                    fmt::format("{} needs --set {}=... ({})", book_.id, input.name, input.means));
      plan_.inputs[input.name] = input.otherwise;
    }
    return {};
  }

  Status CheckCapabilities() {
    std::vector<std::string> missing;
    const auto need = [&](ActKind act) {
      if (TraitsOf(act).effect && !can_.contains(act)) missing.emplace_back(ToString(act));
    };
    for (const StepSpec& step : book_.steps) need(step.act);
    if (book_.rollback.how == RollbackSpec::How::kAct) need(book_.rollback.step.act);
    if (missing.empty()) return {};
    return Fail(Code::kInvalid, fmt::format("{} needs what this site's backend cannot do: {}",
                                            book_.id, Join(missing, ", ")));
  }

  void CountOutOfService() {
    for (const auto& [name, node] : nodes_) {
      const auto hold = holds_.find(name);
      if (silent_.contains(name) || hold == holds_.end() || !hold->second->schedulable)
        plan_.out_of_service.push_back(name);
    }
    std::sort(plan_.out_of_service.begin(), plan_.out_of_service.end());
  }

  Status AddTargets() {
    if (request_.on.empty())
      return Fail(Code::kInvalid, "expected at least one target (--on NODE or --on NODE/gpuN)");
    std::set<Subject> seen;
    std::set<std::string> nodes_in_plan;
    for (const Subject& on : request_.on) {
      if (!seen.insert(on).second)
        return Fail(Code::kInvalid, fmt::format("{} is named twice", on.ToString()));
      if (on.kind != book_.on)
        return Fail(Code::kInvalid, fmt::format("{} is planned for a {}, not for {}", book_.id,
                                                ToString(book_.on), on.ToString()));
      TRY_VOID(AddTarget(on, nodes_in_plan));
    }
    if (plan_.targets.empty())
      return Fail(Code::kRefused,
                  fmt::format("nothing is left to do: {}", Join(plan_.left_out, "; ")));
    return {};
  }

  Status AddTarget(const Subject& on, std::set<std::string>& nodes_in_plan) {
    const std::string host(on.Host());
    const auto node = nodes_.find(host);
    if (node == nodes_.end())
      return Fail(Code::kInvalid, fmt::format("the site has no node {}", Printable(host)));
    if (on.kind == SubjectKind::kGpu) {
      const bool there =
          std::any_of(node->second->gpus.begin(), node->second->gpus.end(),
                      [&](const Gpu& gpu) { return GpuSubject(host, gpu.index) == on; });
      if (!there) return Fail(Code::kInvalid, fmt::format("{} has no {}", host, Printable(on.id)));
    }
    if (const auto hold = holds_.find(host); hold != holds_.end() && !hold->second->schedulable) {
      const auto& lease = hold->second->lease;
      plan_.left_out.push_back(
          fmt::format("{}: {} holds it: {}", on.id, lease ? lease->owner : "somebody else",
                      lease ? lease->reason + (lease->run.empty() ? "" : " (" + lease->run + ")")
                            : hold->second->note));
      return {};
    }
    // Two GPUs of one node would cordon it twice: the second is another plan, after this one.
    if (!nodes_in_plan.insert(host).second) {
      plan_.left_out.push_back(on.id + ": its node is in this plan already");
      return {};
    }
    PlannedTarget target;
    target.on = on;
    target.node = host;
    target.rack = node->second->rack;
    if (const auto leaf = leaf_.find(host); leaf != leaf_.end()) target.leaf = leaf->second;
    if (const auto id = facts_.identity.find(on.ToString()); id != facts_.identity.end())
      target.identity = id->second;
    if (const auto jobs = facts_.jobs.find(host); jobs != facts_.jobs.end())
      target.jobs = jobs->second;
    TRY_VOID(FillSteps(target));
    plan_.targets.push_back(std::move(target));
    return {};
  }

  Status FillSteps(PlannedTarget& target) {
    const TemplateValues values = ValuesFor(target.on, target.identity, plan_.inputs);
    for (size_t i = 0; i < book_.steps.size(); ++i) {
      TRY(PlannedStep step, FillStep(book_.steps[i], i, target, values));
      if (const auto skip = facts_.skip.find({target.on.ToString(), book_.steps[i].id});
          skip != facts_.skip.end())
        step.skipped = skip->second;
      if (step.skipped.empty()) TRY_VOID(CheckStep(step, book_.steps[i].id));
      target.steps.push_back(std::move(step));
    }
    if (book_.rollback.how == RollbackSpec::How::kAct) {
      TRY(target.rollback, FillStep(book_.rollback.step, 0, target, values));
      TRY_VOID(CheckStep(*target.rollback, book_.rollback.step.id));
    }
    return {};
  }

  // What the site cannot do is said now, not when the way back is needed.
  Status CheckStep(const PlannedStep& step, const std::string& id) {
    if (!TraitsOf(step.action.kind).effect) return {};
    TRY_VOID(actuator_.CheckAct(step.action).Context(fmt::format("step {}", id)));
    if (!step.undo) return {};
    return actuator_.CheckAct(*step.undo).Context(fmt::format("the undo of step {}", id));
  }

  Result<PlannedStep> FillStep(const StepSpec& spec, size_t index, const PlannedTarget& target,
                               const TemplateValues& values) {
    PlannedStep step;
    step.spec = index;
    TRY(step.action, FillAction(spec.act, spec.with, spec, target, values));
    if (spec.undo) {
      TRY(step.undo, FillAction(*spec.undo, spec.undo_with, spec, target, values));
    }
    if (TraitsOf(spec.act).effect) step.commands = actuator_.Render(step.action);
    return step;
  }

  Result<Action> FillAction(ActKind act, const std::map<std::string, std::string>& with,
                            const StepSpec& spec, const PlannedTarget& target,
                            const TemplateValues& values) {
    const bool gpu = Contains(TraitsOf(act).subjects, "gpu");
    Action action;
    action.kind = act;
    action.on = gpu && !spec.whole_node ? target.on : NodeSubject(target.node);
    for (const auto& [name, text] : with) {
      TRY(action.params[name], FillTemplate(text, values).Context(fmt::format("step {}", spec.id)));
    }
    TRY_VOID(CheckAction(action).Context(fmt::format("step {}", spec.id)));
    return action;
  }

  Status SetLimits() {
    const Blast& blast = book_.blast;
    const auto percent = [&](double p) {
      return std::max(1, static_cast<int>(std::floor(static_cast<double>(plan_.fleet) * p / 100)));
    };
    plan_.at_once = std::min(blast.at_once, percent(blast.at_once_percent));
    if (request_.at_once > plan_.at_once)
      return Fail(
          Code::kRefused,
          fmt::format("{} allows {} at once on this site ({} and {:g} % of {} nodes), not {}",
                      book_.id, plan_.at_once, blast.at_once, blast.at_once_percent, plan_.fleet,
                      request_.at_once));
    if (request_.at_once > 0) plan_.at_once = request_.at_once;
    plan_.most_out_of_service = percent(blast.out_of_service_percent);
    if (!book_.Isolates()) return {};
    if (static_cast<int>(plan_.out_of_service.size()) + 1 <= plan_.most_out_of_service) return {};
    auto full =
        Fail(Code::kRefused,
             fmt::format("{} of {} nodes are out of service already ({}); {} allows {} in all",
                         plan_.out_of_service.size(), plan_.fleet,
                         Shorten(Join(plan_.out_of_service, ", "), 200), book_.id,
                         plan_.most_out_of_service));
    full.value().retryable = true;  // until a node is back
    return full;
  }

  // Waves by the runbook's list; the last entry is repeated until all are placed.
  void SplitWaves() {
    size_t placed = 0;
    int wave = 0;
    const auto& sizes = book_.blast.waves;
    while (placed < plan_.targets.size()) {
      const std::string& size =
          sizes[std::min<size_t>(static_cast<size_t>(wave), sizes.size() - 1)];
      const bool percent = EndsWith(size, "%");
      const double number =
          ParseDouble(percent ? size.substr(0, size.size() - 1) : size).value_or(1);
      const double nodes = percent ? number * static_cast<double>(plan_.fleet) / 100 : number;
      const size_t most = static_cast<size_t>(std::max(1.0, std::floor(nodes)));
      for (size_t n = 0; n < most && placed < plan_.targets.size(); ++n, ++placed)
        plan_.targets[placed].wave = wave;
      ++wave;
    }
    plan_.waves = wave;
  }

  const Runbook& book_;
  const PlanRequest& request_;
  const PlanFacts& facts_;
  const Actuator& actuator_;
  Plan plan_;
  std::unordered_map<std::string, const Node*> nodes_;
  std::unordered_map<std::string, const Hold*> holds_;
  std::unordered_map<std::string, std::string> leaf_;
  std::set<std::string> silent_;
  std::set<ActKind> can_;
};

}  // namespace

Result<Plan> MakePlan(const Runbook& runbook, const std::string& runbook_text,
                      const PlanRequest& request, const PlanFacts& facts,
                      const Actuator& actuator) {
  return Planner(runbook, request, facts, actuator).Make(runbook_text);
}

const PlannedTarget* Plan::Find(std::string_view target) const {
  const auto it = std::find_if(targets.begin(), targets.end(), [&](const PlannedTarget& t) {
    return t.on.id == target || t.on.ToString() == target;
  });
  return it == targets.end() ? nullptr : &*it;
}

WorldMark MarkWorld(const std::vector<PlannedTarget>& targets, const Actuator::Fleet& fleet,
                    const std::map<std::string, std::string>& identity) {
  std::unordered_map<std::string_view, const Hold*> holds;
  for (const Actuator::HeldNode& held : fleet.nodes) holds[held.node] = &held.hold;
  const std::set<std::string_view> silent(fleet.silent.begin(), fleet.silent.end());
  WorldMark mark;
  mark["nodes of the site"] = std::to_string(fleet.nodes.size() + fleet.silent.size());
  for (const PlannedTarget& target : targets) {
    const auto hold = holds.find(target.node);
    std::string& says = mark["node " + target.node];
    if (silent.contains(target.node) || hold == holds.end()) {
      says = "does not answer";
    } else if (hold->second->schedulable) {
      says = "schedulable";
    } else {
      says = hold->second->lease ? "held by " + hold->second->lease->owner : "cordoned by somebody";
    }
    const auto id = identity.find(target.on.ToString());
    mark["identity of " + target.on.id] = id == identity.end() ? "not known" : id->second;
  }
  return mark;
}

std::vector<std::string> WorldDifferences(const Plan& plan, const WorldMark& now) {
  std::vector<std::string> differences;
  for (const auto& [what, was] : plan.world) {
    const auto is = now.find(what);
    const std::string found = is == now.end() ? "not there" : is->second;
    if (found != was) differences.push_back(fmt::format("{}: was {}, is {}", what, was, found));
  }
  return differences;
}

double LostGpuHours(const RunningJob& job, TimePoint now) {
  const TimePoint since = job.durable_at ? std::max(*job.durable_at, job.started) : job.started;
  return now <= since ? 0 : Seconds(now - since) / 3600 * job.gpus;
}

}  // namespace muster
