#include "cli/schema/schema.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/schema/look_kinds.h"
#include "cli/schema/runbook_kinds.h"
#include "cli/schema/shapes.h"

namespace muster::cli {

namespace {

Json SubjectSchema() { return Object({{"kind", kText}, {"id", kText}}, {"kind", "id"}); }
Json SuspectSchema() {
  return Object(
      {{"subject", SubjectSchema()}, {"codes", ListOf(kText)}, {"why", kText}, {"next", kText}},
      {"subject", "codes", "why"});
}
Json CountsSchema() {
  return Object({{"pass", kInteger},
                 {"warn", kInteger},
                 {"fail", kInteger},
                 {"unknown", kInteger},
                 {"not_applicable", kInteger}},
                {"pass", "warn", "fail", "unknown"});
}
Json VerdictSchema() {
  return Object({{"code", kText},
                 {"subject", SubjectSchema()},
                 {"verdict", LevelSchema()},
                 {"reason", kText},
                 {"measured", kText},
                 {"wanted", kText},
                 {"text", kText},
                 {"origin", {{"enum", {"live", "replayed", "rehearsed"}}}}},
                {"code", "subject", "verdict", "text", "origin"});
}
Json LiveList(std::initializer_list<std::pair<const char*, Json>> item) {
  return Object({{"origin", kText},
                 {"items", ListOf(Object(item, {"name"}))},
                 {"troubles", ListOf(kText)},
                 {"not_acted_on", ListOf(kText)}},
                {"origin", "items"});
}
Json GateSchema() {
  return Object({{"id", kInteger},
                 {"verdict", LevelSchema()},
                 {"open", kBool},
                 {"counts", CountsSchema()},
                 {"blocked_by", kText},
                 {"waived_by", kText},
                 {"stale_because", kText},
                 {"suspects", ListOf(SuspectSchema())},
                 {"verdicts", ListOf(VerdictSchema())}},
                {"id", "verdict"});
}

Json DiagnosisSchema() {
  const Json line =
      Object({{"file", kText}, {"line", kInteger}, {"text", kText}, {"count", kInteger}},
             {"file", "line", "text"});
  const Json finding =
      Object({{"cause", kText},
              {"layer", kText},
              {"kind", {{"enum", {"root", "consequence", "question"}}}},
              {"title", kText},
              {"on", kText},
              {"confidence", kNumber},
              {"evidence", ListOf(line)},
              {"beside", ListOf(line)},
              {"against", ListOf(kText)},
              {"settle", kText},
              {"next", kText},
              {"runbook", kText},
              {"source", kText},
              {"explained_by", kText}},
             {"cause", "layer", "kind", "title", "confidence", "evidence", "next"});
  return Object(
      {{"outcome", {{"enum", {"nothing_wrong", "finding", "not_enough"}}}},
       {"summary", kText},
       {"findings", ListOf(finding)},
       {"bring", ListOf(kText)},
       {"read", Json{{"type", "object"}}},
       {"files", kInteger},
       {"lines", kInteger},
       {"unreadable", ListOf(Object({{"file", kText}, {"why", kText}}, {"file", "why"}))}},
      {"outcome", "summary", "findings", "bring"});
}

std::vector<std::pair<std::string, Json>> Kinds() {
  const Json figures = {{"type", "object"}};
  return {
      {"SchedTop", Object({{"t", kInteger},
                           {"gpus", kNumber},
                           {"gpus_in_use", kNumber},
                           {"gpus_idle_beside_others", kNumber},
                           {"gpus_waited_for", kNumber},
                           {"jobs_running", kInteger},
                           {"jobs_waiting", kInteger},
                           {"queues", ListOf(Object({{"queue", kText},
                                                     {"gpus_in_use", kNumber},
                                                     {"jobs_waiting", kInteger},
                                                     {"longest_wait_ms", kInteger},
                                                     {"median_wait_ms", kInteger}},
                                                    {"queue", "gpus_in_use"}))}},
                          {"t", "gpus", "gpus_in_use", "queues"})},
      {"SchedReplay", Object({{"origin", {{"const", "rehearsed"}}},
                              {"format", kText},
                              {"policy", kText},
                              {"load", kNumber},
                              {"seed", kInteger},
                              {"seeds", kInteger},
                              {"nodes", kInteger},
                              {"gpus", kInteger},
                              {"pods_in_list", kInteger},
                              {"alloc_pct", kNumber},
                              {"fragmentation_pct", kNumber},
                              {"alloc_pct_at_load", figures},
                              {"fragmentation_pct_at_load", figures},
                              {"runs", ListOf(Object({{"seed", kInteger},
                                                      {"arrived", kInteger},
                                                      {"placed", kInteger},
                                                      {"alloc_pct", kNumber},
                                                      {"fragmentation_pct", kNumber}},
                                                     {"seed", "arrived", "placed", "alloc_pct"}))}},
                             {"origin", "policy", "alloc_pct", "alloc_pct_at_load", "runs"})},
      {"SiteStatus", Object({{"site", kText},
                             {"gates", ListOf(GateSchema())},
                             {"unfinished_run", {{"type", {"string", "null"}}}}},
                            {"site", "gates"})},
      {"BringupRun", Object({{"run", kText},
                             {"site", kText},
                             {"verdict", LevelSchema()},
                             {"origin", kText},
                             {"gates", ListOf(GateSchema())}},
                            {"run", "verdict", "gates"})},
      {"BringupPlan", Object({{"gates", ListOf(Object({{"id", kInteger},
                                                       {"name", kText},
                                                       {"criteria", kInteger},
                                                       {"reads", ListOf(kText)},
                                                       {"proofs", ListOf(kText)}},
                                                      {"id"}))}},
                             {"gates"})},
      {"Diagnosis", DiagnosisSchema()},
      {"NcclJob", Object({{"lines", kInteger},
                          {"communicators", ListOf(Json{{"type", "object"}})},
                          {"transports", ListOf(Json{{"type", "object"}})},
                          {"versions", Json{{"type", "object"}}},
                          {"algorithms", Json{{"type", "object"}}},
                          {"devices", Json{{"type", "object"}}},
                          {"diagnosis", DiagnosisSchema()}},
                         {"communicators", "transports", "diagnosis"})},
      {"CheckResult", Object({{"verdict", LevelSchema()},
                              {"took_s", kNumber},
                              {"gates", ListOf(GateSchema())},
                              {"diagnosis", DiagnosisSchema()}},
                             {"verdict", "gates"})},
      {"LintReport",
       Object({{"files", kInteger},
               {"documents", kInteger},
               {"errors", kInteger},
               {"warnings", kInteger},
               {"infos", kInteger},
               {"repairable", kInteger},
               {"unreadable", ListOf(kText)},
               {"not_judged", ListOf(kText)},
               {"findings", ListOf(Object({{"code", kText},
                                           {"severity", {{"enum", {"error", "warning", "info"}}}},
                                           {"file", kText},
                                           {"line", kInteger},
                                           {"column", kInteger},
                                           {"text", kText},
                                           {"fix", kText},
                                           {"repairable", kBool}},
                                          {"code", "severity", "file", "line", "column", "text"}))},
               {"notes", ListOf(Object({{"file", kText},
                                        {"line", kInteger},
                                        {"column", kInteger},
                                        {"field", kText},
                                        {"text", kText}},
                                       {"file", "field", "text"}))}},
              {"errors", "warnings", "findings"})},
      {"NcclProfile", Object({{"profile", kText},
                              {"node_type", kText},
                              {"nodes", ListOf(kText)},
                              {"variables", ListOf(Json{{"type", "object"}})},
                              {"left_alone", ListOf(Json{{"type", "object"}})},
                              {"notes", ListOf(kText)}},
                             {"profile", "variables"})},
      {"Explanation",
       Object({{"code", kText}, {"title", kText}, {"about", kText}}, {"code", "title"})},
      {"Verification", Object({{"ledger", kText},
                               {"same", kBool},
                               {"gates", kInteger},
                               {"verdicts", kInteger},
                               {"readings", kInteger},
                               {"differences", ListOf(kText)}},
                              {"same", "differences"})},
      {"Baseline",
       Object({{"name", kText}, {"run", kText}, {"origin", kText}, {"figures", figures}},
              {"name", "run", "figures"})},
      {"BaselineDiff", Object({{"baseline", kText},
                               {"run", kText},
                               {"baseline_origin", kText},
                               {"run_origin", kText},
                               {"tolerance", kNumber},
                               {"figures", ListOf(Json{{"type", "object"}})}},
                              {"baseline", "run", "figures"})},
      {"BaselineList", Object({{"baselines", ListOf(Json{{"type", "object"}})}}, {"baselines"})},
      {"Bundle",
       Object({{"file", kText}, {"run", kText}, {"entries", ListOf(kText)}}, {"file", "entries"})},
      {"Capture", Object({{"folder", kText}, {"files", kInteger}, {"faults", ListOf(kText)}},
                         {"folder", "files"})},
      {"SiteFile", Object({{"file", kText}, {"type", kText}, {"notes", ListOf(kText)}}, {"file"})},
      {"Waiver", Object({{"gate", kInteger},
                         {"by", kText},
                         {"reason", kText},
                         {"until", kText},
                         {"signature", kText}},
                        {"gate", "by", "until"})},
      {"Change", Object({{"component", kText},
                         {"by", kText},
                         {"reason", kText},
                         {"at", kText},
                         {"gates", ListOf(kInteger)},
                         {"signature", kText}},
                        {"component", "by", "at", "gates"})},
      {"Version",
       Object({{"version", kText}, {"catalogue_sha256", kText}}, {"version", "catalogue_sha256"})},
      {"Signoff", Object({{"gate", kInteger}, {"by", kText}, {"until", kText}, {"file", kText}},
                         {"gate", "by", "until"})},
      {"SchedWhatIf", Object({{"script", kText},
                              {"origin", kText},
                              {"at_ms", kInteger},
                              {"answers", ListOf(Json{{"type", "object"}})}},
                             {"at_ms", "answers"})},
      {"SchedWhy", Object({{"job", kText},
                           {"script", kText},
                           {"origin", kText},
                           {"at_ms", kInteger},
                           {"state", kText},
                           {"because", ListOf(Json{{"type", "object"}})},
                           {"would_start_if", ListOf(Json{{"type", "object"}})},
                           {"troubles", ListOf(kText)},
                           {"not_acted_on", kText}},
                          {"job", "state", "because", "would_start_if"})},
      {"SchedServed", Object({{"bound", kInteger},
                              {"conflicts", kInteger},
                              {"failed", kInteger},
                              {"deleted", kInteger},
                              {"said", kInteger},
                              {"gangs_placed", kInteger},
                              {"evicted", kInteger},
                              {"running", kInteger},
                              {"waiting", kInteger},
                              {"longest_turn_ms", kInteger},
                              {"admitted", kInteger},
                              {"preempted", kInteger}},
                             {"bound", "gangs_placed", "running", "waiting"})},
      {"GangList", LiveList({{"name", kText},
                             {"state", kText},
                             {"dialect", kText},
                             {"queue", kText},
                             {"priority", kInteger},
                             {"min", kInteger},
                             {"pods", kInteger},
                             {"bound", kInteger},
                             {"nodes", ListOf(kText)},
                             {"why", kText},
                             {"not_acted_on", kText}})},
      {"ClusterNodeList", LiveList({{"name", kText},
                                    {"state", kText},
                                    {"gpus", kInteger},
                                    {"gpus_free", kInteger},
                                    {"place", kText},
                                    {"topology_policy", kText},
                                    {"gangs", ListOf(kText)}})},
      {"QueueList", LiveList({{"name", kText},
                              {"parent", kText},
                              {"running", kInteger},
                              {"waiting", kInteger},
                              {"quota", ListOf(Json{{"type", "object"}})}})},
      {"DrainForecast", Object({{"node", kText},
                                {"origin", kText},
                                {"there", ListOf(kText)},
                                {"moved", ListOf(kText)},
                                {"evicted", ListOf(kText)},
                                {"troubles", ListOf(kText)}},
                               {"node", "there", "moved", "evicted"})},
      {"LabKubernetes", Object({{"kubeconfig", kText},
                                {"server", kText},
                                {"version", kText},
                                {"nodes", kInteger},
                                {"started", ListOf(kText)},
                                {"running", ListOf(kText)}},
                               {"kubeconfig", "server", "nodes"})},
      {"LabKubernetesEnded",
       Object({{"ended", ListOf(kText)}, {"wiped", kBool}}, {"ended", "wiped"})},
      {"SchedBench", Object({{"origin", kText},
                             {"nodes", kInteger},
                             {"pods", kInteger},
                             {"gangs", kInteger},
                             {"seed", kInteger},
                             {"decision_ms", figures},
                             {"finish_ms", figures},
                             {"victims_ms", figures},
                             {"placements_per_s", kNumber},
                             {"load_s", kNumber},
                             {"read_s", kNumber},
                             {"why_ms", figures},
                             {"storm_ms", figures},
                             {"month", Json{{"type", "object"}}},
                             {"scale", ListOf(Json{{"type", "object"}})},
                             {"features", ListOf(Json{{"type", "object"}})},
                             {"machine", kText},
                             {"idle_ns", kNumber},
                             {"rss_mib", kNumber}},
                            {"decision_ms", "placements_per_s", "load_s", "rss_mib"})},
      {"SchedSimulation", Object({{"script", kText},
                                  {"origin", kText},
                                  {"events", kInteger},
                                  {"decisions", kInteger},
                                  {"binds", kInteger},
                                  {"evictions", kInteger},
                                  {"rejects", kInteger},
                                  {"reserves", kInteger},
                                  {"finishes", kInteger},
                                  {"bound", kInteger},
                                  {"pending", kInteger},
                                  {"end_ms", kInteger},
                                  {"decisions_sha256", kText}},
                                 {"script", "decisions", "decisions_sha256"})},
      {"Lab", Object({{"site", kText}, {"spec", kText}}, {"site", "spec"})},
      {"LabFaults", Object({{"faults", ListOf(Json{{"type", "object"}})}}, {"faults"})},
      {"LabFault", Object({{"fault", kText}, {"on", SubjectSchema()}}, {"fault", "on"})},
      {"LabHealed", Object({{"healed", kInteger}}, {"healed"})},
      {"LabJobs", Object({{"jobs", ListOf(Object({{"job", kText},
                                                  {"owner", kText},
                                                  {"nodes", ListOf(kText)},
                                                  {"attempt", kInteger},
                                                  {"durable", kText},
                                                  {"ended", kBool}},
                                                 {"job", "nodes", "ended"}))}},
                         {"jobs"})},
      {"LabSpoiled",
       Object({{"node", kText}, {"act", kText}, {"how", kText}}, {"node", "act", "how"})},
      {"NodeShapes",
       Object({{"classes", ListOf(Object({{"nodes", ListOf(kText)},
                                          {"resource", kText},
                                          {"unknown", kText},
                                          {"layout", kText},
                                          {"policy", kText},
                                          {"valid", ListOf(kInteger)},
                                          {"shapes", ListOf(Json{{"type", "object"}})},
                                          {"other_policies", {{"type", "object"}}}},
                                         {"nodes", "resource"}))},
               {"without", ListOf(kText)}},
              {"classes", "without"})},
      {"LabExam", Object({{"false_passes", kNumber},
                          {"right_gate", kNumber},
                          {"right_suspect", kNumber},
                          {"cases", kInteger},
                          {"seed", kInteger}},
                         {"false_passes", "right_gate", "right_suspect", "cases"})},
  };
}

}  // namespace

ExitCode Schema(const Invocation& invocation) {
  std::string kind;
  Args args("schema", "The JSON schema of what -o json prints; without a kind, all of them");
  args.Positional("KIND", kind, "A kind such as SiteStatus", false);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  Json all = Json::object();
  std::vector<std::string> names;
  auto kinds = Kinds();
  for (auto& more : LookKinds()) kinds.push_back(std::move(more));
  for (auto& more : RunbookKinds()) kinds.push_back(std::move(more));
  for (auto& [name, schema] : kinds) {
    names.push_back(name);
    schema["properties"]["apiVersion"] = {{"const", "muster/v1"}};
    schema["properties"]["kind"] = {{"const", name}};
    schema["required"].push_back("apiVersion");
    schema["required"].push_back("kind");
    Json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
    document.update(schema);
    if (kind == name) {
      context.out << document.dump(2) << "\n";
      return ExitCode::kDone;
    }
    all[name] = schema;
  }
  if (!kind.empty())
    return Complain(
        context, Code::kNotFound,
        fmt::format("there is no kind {}, expected one of {}", kind, fmt::join(names, ", ")));
  context.out
      << Json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$defs", all}}.dump(2)
      << "\n";
  return ExitCode::kDone;
}

}  // namespace muster::cli
