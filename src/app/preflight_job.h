// The jobs that a manifest or an sbatch script asks for, as the model that preflight holds against
// a site.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/workload.h"
#include "world/files.h"

namespace muster {

// kInvalid ("file:line:column: what") for a file that cannot be read, kNotFound for one without a
// job.
Result<std::vector<Job>> JobsOfFile(Files& files, const std::string& path);

}  // namespace muster
