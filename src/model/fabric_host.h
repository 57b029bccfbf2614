// Where the fabric's tools run.
#pragma once

#include <string_view>

#include "model/site.h"

namespace muster {

// The host that the site names, or its first node; empty for a site without either. It points into
// the site.
inline std::string_view FabricHost(const Site& site) {
  if (!site.fabric_host.empty() || site.cluster.nodes.empty()) return site.fabric_host;
  return site.cluster.nodes.front().name;
}

}  // namespace muster
