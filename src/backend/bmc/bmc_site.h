// From what a site says of its controllers to the actuator that switches their power.
#pragma once

#include <memory>
#include <string>

#include "backend/bmc/bmc_actuator.h"
#include "model/site.h"
#include "world/world.h"

namespace muster::bmc {

// Certificates are checked, unless the site states for a controller why not. Nothing is sent yet,
// and no password is read before it is used. `site_folder` is where relative paths are meant from;
// `hosts` and `world` are borrowed. kInvalid: plain HTTP to another machine.
Result<std::unique_ptr<BmcActuator>> MakeBmcActuator(const Site& site,
                                                     const std::string& site_folder, Hosts& hosts,
                                                     World world, Environment environment);

}  // namespace muster::bmc
