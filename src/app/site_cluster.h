// The cluster: part of a site file: either one line (spec) or nodes, switches and links by name.
#pragma once

#include <string_view>

#include "model/site.h"
#include "yaml/yaml.h"

namespace muster {

// Problems go to `findings`, each with its line and column.
void ReadCluster(const YamlNode& node, std::string_view file, Site& site, YamlFindings& findings);

// Placeholders (NODE_A, CHANGE_ME, YOUR_NAME, <gpu address>) and floating tags (name:latest without
// a digest) anywhere in the document, keys included (B16). Linear in its size.
void FindPlaceholders(const YamlNode& node, std::string_view file, YamlFindings& findings);

}  // namespace muster
