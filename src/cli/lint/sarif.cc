#include "cli/lint/sarif.h"

#include <set>

#include <nlohmann/json.hpp>

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

// https://docs.oasis-open.org/sarif/sarif/v2.1.0/: note, warning, error.
const char* LevelOf(LintSeverity severity) {
  return severity == LintSeverity::kError     ? "error"
         : severity == LintSeverity::kWarning ? "warning"
                                              : "note";
}

}  // namespace

nlohmann::ordered_json ToSarif(const LintReport& report, const LintRules& rules) {
  Json descriptors = Json::array(), results = Json::array();
  std::set<std::string> used;
  for (const LintFinding& f : report.findings) used.insert(f.code);
  for (const std::string& code : used) {
    const auto rule = rules.by_code.find(code);
    if (rule == rules.by_code.end()) continue;
    descriptors.push_back({{"id", code},
                           {"shortDescription", {{"text", rule->second.title}}},
                           {"fullDescription", {{"text", rule->second.why}}},
                           {"help", {{"text", rule->second.fix}}},
                           {"defaultConfiguration", {{"level", LevelOf(rule->second.severity)}}}});
  }
  for (const LintFinding& f : report.findings) {
    results.push_back(
        {{"ruleId", f.code},
         {"level", LevelOf(f.severity)},
         {"message", {{"text", f.fix.empty() ? f.text : f.text + " (" + f.fix + ")"}}},
         {"locations",
          Json::array(
              {{{"physicalLocation",
                 {{"artifactLocation", {{"uri", f.file}}},
                  {"region", {{"startLine", f.at.line}, {"startColumn", f.at.column}}}}}}})}});
  }
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs",
           Json::array({{{"tool", {{"driver", {{"name", "muster lint"}, {"rules", descriptors}}}}},
                         {"columnKind", "unicodeCodePoints"},
                         {"results", results}}})}};
}

}  // namespace muster::cli
