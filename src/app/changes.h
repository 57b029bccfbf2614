// What a person says has changed on a site where nothing observes it: an operator's upgrade, a CNI
// setting, the scheduler, switch firmware. Every gate that stands on the component and was judged
// before that moment is stale until it is seen again.
#pragma once

#include <string>
#include <vector>

#include "app/site_state.h"
#include "catalogue/catalogue.h"

namespace muster {

struct Change {
  std::string component;  // a name in `staled_by` of catalogue/gates.yaml
  std::string by, reason;
  TimePoint at;
  std::string public_key, signature;

  std::string Canonical() const;  // what is signed
};

// Every component that some gate is stale by, sorted; and the gates that stand on one.
std::vector<std::string> StalingComponents(const Catalogue& catalogue);
std::vector<int> GatesStandingOn(const Catalogue& catalogue, const std::string& component);

// In the order in which they were stated. kCorrupt, naming the entry, when the file was edited.
Result<std::vector<Change>> ReadChanges(Files& files, const SitePaths& paths);
// Signs with the site's key and stores. kInvalid for a component that no gate stands on, and for an
// empty name or reason.
Result<Change> AddChange(World& world, const SitePaths& paths, const Catalogue& catalogue,
                         const std::string& component, const std::string& by,
                         const std::string& reason);

}  // namespace muster
