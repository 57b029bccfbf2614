#include "cli/schema/runbook_kinds.h"

#include <nlohmann/json.hpp>

#include "cli/schema/shapes.h"

namespace muster::cli {

namespace {

Json BookSchema() {
  const Json step = Object({{"id", kText},
                            {"title", kText},
                            {"act", kText},
                            {"destructive", kBool},
                            {"approval", kBool}},
                           {"id", "act", "destructive", "approval"});
  return Object({{"id", kText},
                 {"slug", kText},
                 {"title", kText},
                 {"family", kText},
                 {"on", {{"enum", {"node", "gpu"}}}},
                 {"trigger", {{"enum", {"alert", "manual"}}}},
                 {"alerts", ListOf(kText)},
                 {"sha256", kText},
                 {"own", kBool},
                 {"source", kText},
                 {"steps", ListOf(step)},
                 {"text", kText}},
                {"id", "title", "on", "trigger", "sha256", "source", "steps"});
}

Json PlanSchema() {
  const Json subject = Object({{"kind", kText}, {"id", kText}}, {"kind", "id"});
  const Json action = Object({{"act", kText}, {"on", subject}, {"params", {{"type", "object"}}}},
                             {"act", "on", "params"});
  const Json step = Object({{"step", kText},
                            {"action", action},
                            {"commands", ListOf(kText)},
                            {"undo", action},
                            {"skipped", kText}},
                           {"step", "action"});
  const Json target = Object({{"on", subject},
                              {"node", kText},
                              {"rack", kText},
                              {"leaf", kText},
                              {"identity", kText},
                              {"wave", kInteger},
                              {"steps", ListOf(step)},
                              {"rollback", step},
                              {"jobs", ListOf(Json{{"type", "object"}})}},
                             {"on", "node", "wave", "steps", "jobs"});
  const Json book = Object(
      {{"id", kText}, {"file", kText}, {"sha256", kText}, {"commit", kText}, {"text", kText}},
      {"id", "file", "sha256", "text"});
  return Object({{"site", kText},
                 {"by", kText},
                 {"madeAt", kText},
                 {"origin", kText},
                 {"evidence", kText},
                 {"runbook", book},
                 {"inputs", {{"type", "object"}}},
                 {"waves", kInteger},
                 {"atOnce", kInteger},
                 {"mostOutOfService", kInteger},
                 {"outOfService", ListOf(kText)},
                 {"fleet", kInteger},
                 {"leftOut", ListOf(kText)},
                 {"world", {{"type", "object"}}},
                 {"targets", ListOf(target)},
                 {"hash", kText}},
                {"site", "runbook", "inputs", "waves", "world", "targets", "hash"});
}

Json RunSchema() {
  const Json target = Object(
      {{"on", kText}, {"wave", kInteger}, {"stands", kText}, {"held", kBool}, {"why", kText}},
      {"on", "stands", "held", "why"});
  return Object({{"run", kText},
                 {"runbook", kText},
                 {"plan", kText},
                 {"origin", kText},
                 {"closed", kBool},
                 {"end", kText},
                 {"blocked", kText},
                 {"records", kInteger},
                 {"targets", ListOf(target)}},
                {"run", "runbook", "plan", "closed", "end", "targets"});
}

Json AlertSchema() {
  return Object({{"id", kText},
                 {"alert", kText},
                 {"fingerprint", kText},
                 {"startsAt", kText},
                 {"heardAt", kText},
                 {"on", kText},
                 {"runbook", kText},
                 {"stage", {{"enum", {"heard", "planned", "closed"}}}},
                 {"plan", kText},
                 {"run", kText},
                 {"approvedBy", kText},
                 {"resolved", kBool},
                 {"end", kText},
                 {"why", kText}},
                {"id", "alert", "on", "runbook", "stage"});
}

}  // namespace

std::vector<std::pair<std::string, Json>> RunbookKinds() {
  const Json any = {{"type", "object"}};
  return {
      {"RunbookList", Object({{"runbooks", ListOf(BookSchema())}}, {"runbooks"})},
      {"Runbook", BookSchema()},
      {"RunbookLint",
       Object({{"files", ListOf(Object(
                             {{"file", kText}, {"id", kText}, {"good", kBool}, {"findings", kText}},
                             {"file", "good", "findings"}))}},
              {"files"})},
      {"RunbookPlan", PlanSchema()},
      {"RunbookRun", RunSchema()},
      {"RunbookRuns", Object({{"runs", ListOf(Object({{"run", kText},
                                                      {"runbook", kText},
                                                      {"stands", kText},
                                                      {"isolated", kInteger},
                                                      {"began", kText}},
                                                     {"run", "runbook", "stands"}))}},
                             {"runs"})},
      {"RunbookRequest", Object({{"run", kText}, {"said", kText}}, {"run", "said"})},
      {"RunbookJournal",
       Object({{"run", kText},
               {"records", ListOf(Object({{"type", kText}, {"at", kText}}, {"type", "at"}))},
               {"note", kText}},
              {"run", "records"})},
      {"RmaTicket", Object({{"run", kText},
                            {"tickets", ListOf(Object({{"target", kText},
                                                       {"replace", kBool},
                                                       {"advice", kText},
                                                       {"facts", any},
                                                       {"xids", ListOf(kText)},
                                                       {"diagnostic", ListOf(kText)},
                                                       {"tried", ListOf(kText)}},
                                                      {"target", "replace", "facts"}))}},
                           {"run", "tickets"})},
      {"NodeList", Object({{"nodes", ListOf(any)}}, {"nodes"})},
      {"NodeHold", Object({{"node", kText}, {"done", kText}}, {"node", "done"})},
      {"Alerts", Object({{"alerts", ListOf(AlertSchema())}}, {"alerts"})},
      {"AlertApproval",
       Object({{"alert", kText}, {"by", kText}, {"said", kText}}, {"alert", "by", "said"})},
  };
}

}  // namespace muster::cli
