// Holds manifests to the contract between a training job and the platform, before anything is
// applied. The rules are data (catalogue/lint/); here are the shapes. Pure.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalogue/embedded.h"
#include "diagnose/lint/edit.h"
#include "manifest/document.h"
#include "manifest/sbatch.h"
#include "model/cluster.h"

namespace muster {

enum class LintSeverity { kInfo, kWarning, kError };
std::string_view ToString(LintSeverity severity);

// A changed copy of a named example: each `change` text stands in it exactly once.
struct LintExample {
  std::string of;  // name in catalogue/lint/examples.yaml
  std::vector<std::pair<std::string, std::string>> changes;
  std::set<std::string> also;  // codes that follow from the same mistake
  std::string site;            // a cluster spec, where the rule needs one
};

// A rule over one environment variable that needs no code: it fires where `name` has one of
// `values` (any value when there are none).
struct LintEnv {
  std::vector<std::string> names;
  std::vector<std::string> values;
  bool remove = false;  // the repair: take it out
  std::string set;      // or give it this value
};

struct LintRule {
  std::string code;  // "LINT-101"
  LintSeverity severity = LintSeverity::kWarning;
  std::string title, why, fix, source;
  std::optional<LintEnv> env;
  LintExample bad;
};

struct LintRules {
  std::map<std::string, LintRule, std::less<>> by_code;
  std::map<std::string, std::string, std::less<>> examples;            // good ones, by name
  std::map<std::string, std::vector<std::string>, std::less<>> lists;  // names that checks know
  std::map<std::string, std::string, std::less<>> kinds;               // "batch/v1/Job": type
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> types;

  // The text of the rule's bad example, or of its good one.
  Result<std::string> ExampleText(const LintRule& rule, bool good) const;
};

// Reads lint/*.yaml of the catalogue. kInvalid with one "file:line:column: what" a line.
Result<LintRules> ParseLintRules(std::span<const EmbeddedFile> files);
// Of this binary; parsed once and kept.
Result<const LintRules*> LoadLintRules();

struct LintFinding {
  std::string code;
  LintSeverity severity = LintSeverity::kWarning;
  std::string file;
  YamlMark at;
  std::string text;             // what is wrong here
  std::string fix;              // what to do, one sentence
  std::vector<TextEdit> edits;  // the repair, where it is certain enough to be written
};

// What is known of the nodes the manifests are for; without a site, nodes of 2 x 4 GPUs.
struct LintSite {
  int gpus_per_node = 8;
  int numa_domains = 2;
  std::vector<std::string> adapters;  // "mlx5_0", ...; empty = not known
  bool roce = false;
  int mtu = 0;  // 0 = not known
  bool known = false;
};
LintSite SiteOf(const Cluster& cluster);

struct LintInput {
  std::vector<ManifestFile> files;
  std::vector<SbatchScript> scripts;
};

// Sorted by file and place. Objects of all files are seen together: a Job finds its Service in
// another file. O(fields + objects of a kind squared where names are compared).
std::vector<LintFinding> Lint(const LintInput& input, const LintRules& rules, const LintSite& site);

// "ddp.yaml:7:3: LINT-101 error: what (fix)"
std::string ToString(const LintFinding& finding);

}  // namespace muster
