// Making a site: a lab that is played on this machine, or a file for real hosts, filled by looking
// where asked.
#pragma once

#include <string>
#include <vector>

#include "app/progress.h"
#include "app/site_template.h"
#include "world/world.h"

namespace muster {

// Writes the site file and the lab's state beside it. kConflict when the file exists (`force`
// overwrites it). kInvalid, with nothing written, when the file would not be read back.
Status InitLab(World& world, const std::string& out, const std::string& name,
               const ClusterSpec& spec, uint64_t seed, bool force);

// Writes a host site file. With `look`, each address (or this machine, when there are none) is
// asked what it has: GPUs, driver, NUMA domains, adapters; what could not be seen is said in the
// file and returned as notes. kInvalid, with nothing written, when two addresses come to one name,
// or when the file would not be read back.
Result<std::vector<std::string>> InitHost(World& world, const std::string& out,
                                          const std::string& name,
                                          const std::vector<std::string>& addresses, bool look,
                                          bool force, Progress& progress);

}  // namespace muster
