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

// `verb` is the place of "install" or "upgrade" in `argv`.
struct HelmAct {
  std::vector<std::string> argv;
  size_t verb = 0;
};

struct HelmChange {
  bool changes = false;
  std::string text;  // the difference, with no value of a Secret in it
};

// Runs helm twice; nothing is changed by that. Fails with helm's own words where it cannot say.
Result<HelmChange> AskHelm(const HelmAct& act, Processes& processes, Duration at_most);

// A manifest whose Secrets keep their names and lose their values.
std::string WithoutSecrets(std::string_view manifest);

}  // namespace muster
