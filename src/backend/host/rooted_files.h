// Files below a folder: "/facility/signoff.json" of the host "facility" is a file beside the site's
// own.
#pragma once

#include <memory>
#include <string>

#include "world/files.h"

namespace muster::host {

// Borrows `inner`. A path that climbs out with ".." is refused.
std::unique_ptr<Files> MakeRootedFiles(Files& inner, std::string root);

}  // namespace muster::host
