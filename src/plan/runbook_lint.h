// What the parts of a runbook must come to together, beyond the shape of each. Private to plan/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/runbook.h"
#include "yaml/yaml.h"

namespace muster {

// Where things stand in the file, for findings.
struct RunbookPlaces {
  YamlMark root, rollback, blast;
  std::vector<YamlMark> steps;
  std::vector<std::pair<std::string, YamlMark>> codes;
};

// Sorts the steps by `after` and adds what is wrong to the findings.
void LintRunbook(Runbook& book, const RunbookPlaces& places, const std::vector<std::string>& codes,
                 YamlFindings& findings);

}  // namespace muster
