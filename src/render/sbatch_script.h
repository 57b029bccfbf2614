// Private to src/render: a request as an sbatch script.
#pragma once

#include <string>

#include "render/job_request.h"

namespace muster::render {

std::string SbatchScriptOf(const JobRequest& request);
// One word of a shell, as it is: in single quotes where it has to be.
std::string ShellWord(const std::string& text);

}  // namespace muster::render
