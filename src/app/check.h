// Looking at gates without running them: nothing is started, nothing is written. Live, or over a
// captured folder.
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"

namespace muster {

struct CheckOptions {
  std::vector<int> gates;         // empty = every gate that is read only (1 to 5)
  std::vector<std::string> only;  // criterion codes; empty = all
  std::vector<std::string> nodes;
  bool keep_passes = true;  // false: verdicts that pass are counted and let go
  std::string replay;       // a captured folder; empty = look now
  std::string replay_site;  // the site file it is held to; empty = the one in the folder
};
// Gates 6 to 8 are proofs: judged from a capture when it has them, otherwise their criteria say
// "not observed".
Result<std::vector<GateResult>> CheckSite(SiteContext& context, const CheckOptions& options,
                                          Progress& progress);
// The same over a captured folder, which carries the site file it was captured with.
Result<std::vector<GateResult>> CheckCapture(World& world, const Catalogue& catalogue,
                                             const CheckOptions& options);

}  // namespace muster
