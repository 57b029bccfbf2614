// What `helm install` or `helm upgrade` would change, by helm alone, for machines without its
// plugin helm-diff: the manifest of a dry run on the server beside that of the release as it
// stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/processes.h"

namespace muster {

struct HelmChange {
  bool changes = false;
  std::string text;  // the difference, with no value of a Secret in it
};

// Runs `dry_run`, which prints a release as JSON, and then `helm` (the program and the flags that
// name its cluster) for the manifest of that release; nothing is changed by that. Fails with helm's
// own words where it cannot say.
Result<HelmChange> AskHelm(const Command& dry_run, const std::vector<std::string>& helm,
                           Processes& processes);

// A manifest whose Secrets keep their names and lose their values.
std::string WithoutSecrets(std::string_view manifest);

}  // namespace muster
