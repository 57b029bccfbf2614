// The text of a new site file: complete, commented, with every threshold's origin, ready to be
// edited by a person.
#pragma once

#include <string>

#include "model/site.h"

namespace muster {

struct TemplateInput {
  std::string name;
  ClusterSpec spec;            // lab sites: the lab's; host sites: what was found or asked for
  std::vector<Node> nodes;     // host sites: the hosts; empty = one example entry
  std::string driver_version;  // host sites: as found; empty = not pinned
};

std::string LabSiteTemplate(const TemplateInput& input);
std::string HostSiteTemplate(const TemplateInput& input);

}  // namespace muster
