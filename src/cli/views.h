// How results look: the gate table, verdict lists, plans. Text for a person and JSON for a program
// from the same values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/act_preview.h"
#include "app/bringup.h"
#include "cli/output.h"

namespace muster::cli {

// The eight gates with verdict, counts, age and what opened or closed them.
Document StatusView(const Context& context, const SiteStatus& status, TimePoint now);
// A finished run: the gate table, then for every gate that did not pass its findings and the next
// command.
Document RunView(const Context& context, const Run& run, const std::string& site_file);
// `previews` by the act's name: what the tools say that each act would change, where they were
// asked.
Document PlanView(const Context& context, const std::vector<GatePlan>& plan,
                  const std::map<std::string, ActPreview>& previews = {});
// What does not apply, one line for each reason; `-o json` has every criterion with its title.
std::string SkippedLines(const Context& context, const std::vector<NotApplicable>& skipped);
// The verdicts of gates looked at (`check`).
Document CheckView(const Context& context, const std::vector<GateResult>& results,
                   const Catalogue& catalogue, Duration took);

// Of several gates: FAIL over UNKNOWN over WARN over PASS.
Level WorstOf(const std::vector<GateResult>& results);
nlohmann::ordered_json ToJson(const Verdict& verdict);
nlohmann::ordered_json ToJson(const Suspect& suspect);
nlohmann::ordered_json ToJson(const GateResult& result, bool with_passes);
std::string Age(TimePoint then, TimePoint now);  // "3m20s ago"

}  // namespace muster::cli
