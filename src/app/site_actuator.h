// Who may act on a site: from what its file names to one actuator.
#pragma once

#include <memory>

#include "backend/actuator.h"
#include "backend/hosts.h"
#include "model/site.h"
#include "world/world.h"

namespace muster {

// For sites of real hosts. `hosts` and `site` are borrowed; `site_folder` is where relative paths
// are meant from, `state_folder` where Muster keeps what it knows of the site. Nothing is asked of
// anybody yet. kInvalid: a controller that cannot be meant. An API server that cannot be found
// refuses with the reason when it is needed.
Result<std::unique_ptr<Actuator>> MakeSiteActuator(const Site& site, Hosts& hosts, World world,
                                                   const std::string& site_folder,
                                                   const std::string& state_folder);

// The repositories that the site names; nothing where it names none. `site` and `world` are
// borrowed.
std::shared_ptr<Actuator> RepositoriesOf(const Site& site, const World& world,
                                         const std::string& site_folder,
                                         const std::string& state_folder);

}  // namespace muster
