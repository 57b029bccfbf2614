// A plan as JSON, and back. The hash is over the canonical text (sorted keys, no blanks) of all but
// itself.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/strings.h"
#include "plan/plan.h"

namespace muster {

namespace {

using Json = nlohmann::json;
constexpr std::string_view kApiVersion = "muster/v1";
constexpr std::string_view kKind = "RunbookPlan";
constexpr size_t kMaxPlanBytes = 256u << 20;

Json ActionJson(const Action& action) {
  return {{"act", ToString(action.kind)},
          {"on", {{"kind", ToString(action.on.kind)}, {"id", action.on.id}}},
          {"params", action.params}};
}

Json StepJson(const Runbook& book, const PlannedStep& step, bool rollback) {
  Json json = {{"step", rollback ? book.rollback.step.id : book.steps[step.spec].id},
               {"action", ActionJson(step.action)}};
  if (!step.commands.empty()) json["commands"] = step.commands;
  if (step.undo) json["undo"] = ActionJson(*step.undo);
  if (!step.skipped.empty()) json["skipped"] = step.skipped;
  return json;
}

Json JobJson(const RunningJob& job) {
  Json json = {{"id", job.id},
               {"owner", job.owner},
               {"nodes", job.nodes},
               {"gpus", job.gpus},
               {"started", FormatTime(job.started)}};
  if (job.durable_at) json["durableAt"] = FormatTime(*job.durable_at);
  return json;
}

Json TargetJson(const Runbook& book, const PlannedTarget& target) {
  Json json = {{"on", {{"kind", ToString(target.on.kind)}, {"id", target.on.id}}},
               {"node", target.node},
               {"rack", target.rack},
               {"leaf", target.leaf},
               {"identity", target.identity},
               {"wave", target.wave},
               {"steps", Json::array()},
               {"jobs", Json::array()}};
  for (const PlannedStep& step : target.steps) json["steps"].push_back(StepJson(book, step, false));
  if (target.rollback) json["rollback"] = StepJson(book, *target.rollback, true);
  for (const RunningJob& job : target.jobs) json["jobs"].push_back(JobJson(job));
  return json;
}

Json PlanJson(const Plan& plan) {
  Json json = {{"apiVersion", kApiVersion},
               {"kind", kKind},
               {"site", plan.site},
               {"by", plan.by},
               {"madeAt", FormatTime(plan.made_at)},
               {"origin", ToString(plan.origin)},
               {"evidence", ToString(plan.evidence)},
               {"runbook",
                {{"id", plan.runbook.id},
                 {"file", plan.runbook_file},
                 {"sha256", plan.runbook.sha256},
                 {"text", plan.runbook_text}}},
               {"inputs", plan.inputs},
               {"waves", plan.waves},
               {"atOnce", plan.at_once},
               {"mostOutOfService", plan.most_out_of_service},
               {"outOfService", plan.out_of_service},
               {"fleet", plan.fleet},
               {"leftOut", plan.left_out},
               {"world", plan.world},
               {"targets", Json::array()}};
  if (!plan.runbook_commit.empty()) json["runbook"]["commit"] = plan.runbook_commit;
  for (const PlannedTarget& target : plan.targets)
    json["targets"].push_back(TargetJson(plan.runbook, target));
  return json;
}

// What .at() and .get() of the library throw is caught once, in ReadPlan.
Result<Subject> SubjectFrom(const Json& json) {
  TRY(const SubjectKind kind, ParseSubjectKind(json.at("kind").get<std::string>()));
  return Subject{kind, json.at("id").get<std::string>()};
}

Result<Action> ActionFrom(const Json& json) {
  Action action;
  TRY(action.kind, ParseActKind(json.at("act").get<std::string>()));
  TRY(action.on, SubjectFrom(json.at("on")));
  action.params = json.at("params").get<std::map<std::string, std::string>>();
  TRY_VOID(CheckAction(action));
  return action;
}

Result<PlannedStep> StepFrom(const Json& json, size_t spec, const StepSpec& of) {
  if (json.at("step").get<std::string>() != of.id)
    return Fail(Code::kInvalid, fmt::format("expected step {}, found {}", of.id,
                                            Printable(json.at("step").get<std::string>())));
  PlannedStep step;
  step.spec = spec;
  TRY(step.action, ActionFrom(json.at("action")));
  if (step.action.kind != of.act)
    return Fail(Code::kInvalid, fmt::format("step {} does {}, the runbook says {}", of.id,
                                            ToString(step.action.kind), ToString(of.act)));
  if (json.contains("commands")) step.commands = json["commands"].get<std::vector<std::string>>();
  if (json.contains("undo")) {
    TRY(step.undo, ActionFrom(json["undo"]));
  }
  step.skipped = json.value("skipped", "");
  return step;
}

Result<RunningJob> JobFrom(const Json& json) {
  RunningJob job;
  job.id = json.at("id").get<std::string>();
  job.owner = json.at("owner").get<std::string>();
  job.nodes = json.at("nodes").get<std::vector<std::string>>();
  job.gpus = json.at("gpus").get<int>();
  TRY(job.started, ParseTime(json.at("started").get<std::string>()));
  if (json.contains("durableAt")) {
    TRY(job.durable_at, ParseTime(json["durableAt"].get<std::string>()));
  }
  return job;
}

Result<PlannedTarget> TargetFrom(const Json& json, const Runbook& book) {
  PlannedTarget target;
  TRY(target.on, SubjectFrom(json.at("on")));
  target.node = json.at("node").get<std::string>();
  target.rack = json.at("rack").get<std::string>();
  target.leaf = json.at("leaf").get<std::string>();
  target.identity = json.at("identity").get<std::string>();
  target.wave = json.at("wave").get<int>();
  const Json& steps = json.at("steps");
  if (steps.size() != book.steps.size())
    return Fail(Code::kInvalid, fmt::format("{}: expected {} steps, found {}", target.on.id,
                                            book.steps.size(), steps.size()));
  for (size_t i = 0; i < steps.size(); ++i) {
    TRY(PlannedStep step, StepFrom(steps[i], i, book.steps[i]).Context(target.on.id));
    target.steps.push_back(std::move(step));
  }
  if (json.contains("rollback")) {
    TRY(target.rollback, StepFrom(json["rollback"], 0, book.rollback.step).Context(target.on.id));
  }
  if (target.rollback.has_value() != (book.rollback.how == RollbackSpec::How::kAct))
    return Fail(Code::kInvalid, target.on.id + ": the rollback is not the runbook's");
  for (const Json& job : json.at("jobs")) {
    TRY(RunningJob read, JobFrom(job));
    target.jobs.push_back(std::move(read));
  }
  return target;
}

Result<Plan> PlanFrom(const Json& json) {
  if (json.at("apiVersion") != kApiVersion || json.at("kind") != kKind)
    return Fail(Code::kInvalid,
                fmt::format("expected apiVersion {} and kind {}", kApiVersion, kKind));
  Plan plan;
  plan.hash = json.at("hash").get<std::string>();
  plan.site = json.at("site").get<std::string>();
  plan.by = json.at("by").get<std::string>();
  TRY(plan.made_at, ParseTime(json.at("madeAt").get<std::string>()));
  TRY(plan.origin, ParseOrigin(json.at("origin").get<std::string>()));
  TRY(plan.evidence, ParseOrigin(json.at("evidence").get<std::string>()));
  const Json& book = json.at("runbook");
  plan.runbook_text = book.at("text").get<std::string>();
  plan.runbook_file = book.at("file").get<std::string>();
  plan.runbook_commit = book.value("commit", "");
  TRY(plan.runbook, ParseRunbook(plan.runbook_text, plan.runbook_file));
  plan.inputs = json.at("inputs").get<std::map<std::string, std::string>>();
  plan.waves = json.at("waves").get<int>();
  plan.at_once = json.at("atOnce").get<int>();
  plan.most_out_of_service = json.at("mostOutOfService").get<int>();
  plan.out_of_service = json.at("outOfService").get<std::vector<std::string>>();
  plan.fleet = json.at("fleet").get<size_t>();
  plan.left_out = json.at("leftOut").get<std::vector<std::string>>();
  plan.world = json.at("world").get<WorldMark>();
  for (const Json& target : json.at("targets")) {
    TRY(PlannedTarget read, TargetFrom(target, plan.runbook));
    plan.targets.push_back(std::move(read));
  }
  if (plan.targets.empty()) return Fail(Code::kInvalid, "expected at least one target");
  // Written again and compared: an edit, an unknown key and a key that was lost all show here.
  Json without = json;
  without.erase("hash");
  const std::string canonical = PlanJson(plan).dump();
  if (without.dump() != canonical || Sha256Hex(canonical) != plan.hash)
    return Fail(
        Code::kInvalid,
        "the plan is not as it was made (its hash does not match): plan again, or restore it");
  return plan;
}

}  // namespace

std::string PlanHash(const Plan& plan) { return Sha256Hex(PlanJson(plan).dump()); }

std::string WritePlan(const Plan& plan) {
  Json json = PlanJson(plan);
  json["hash"] = plan.hash;
  return json.dump(1) + "\n";
}

Result<Plan> ReadPlan(std::string_view text, std::string_view file) {
  if (text.size() > kMaxPlanBytes)
    return Fail(Code::kInvalid, fmt::format("{}: larger than a plan can be", file));
  try {
    return PlanFrom(Json::parse(text)).Context(std::string(file));
  } catch (const Json::parse_error& e) {
    const auto end = std::min(text.size(), e.byte == 0 ? size_t{0} : e.byte - 1);
    const std::string_view before = text.substr(0, end);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n');
    const size_t column = start == std::string_view::npos ? end + 1 : end - start;
    return Fail(Code::kInvalid, fmt::format("{}:{}:{}: not JSON, or cut off", file, line, column));
  } catch (const Json::exception& e) {
    return Fail(Code::kInvalid,
                fmt::format("{}: not a plan: {}", file, Printable(Shorten(e.what(), 200))));
  }
}

}  // namespace muster
