// The evidence archive of a run: site file, ledger, report, waivers and baseline in one .tar,
// redacted, with a manifest of digests.
#pragma once

#include <string>
#include <vector>

#include "app/site_state.h"

namespace muster {

struct BundleEntry {
  std::string name, bytes;
};
// A POSIX ustar archive of the entries, the same bytes for the same entries (times are zero, owners
// are root).
std::string TarOf(const std::vector<BundleEntry>& entries);
// Returns the names put in.
Result<std::vector<std::string>> WriteBundle(World& world, const SitePaths& paths,
                                             const std::string& run, const std::string& out);

}  // namespace muster
