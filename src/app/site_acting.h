// Reads what a site says about acting: who switches its nodes' power, who places work on them, as
// whom commands run, which packages a version is made of and who installs them.
#pragma once

#include "model/site.h"
#include "yaml/yaml.h"

namespace muster {

// The sections bmcs, kubernetes, packages, ansible and sudo of the site file. After
// the cluster was read.
void ReadActing(YamlReader& root, Site& site, YamlFindings& findings);

// Whether a name fits a pattern in which * stands for any text. Linear in the product of both.
bool FitsPattern(std::string_view name, std::string_view pattern);

}  // namespace muster
