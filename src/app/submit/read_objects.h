// A person's own manifests as objects to submit: each document as JSON, Services and queues before
// the jobs that need them.
#pragma once

#include <string>
#include <vector>

#include "diagnose/lint/lint.h"
#include "render/render.h"
#include "world/files.h"

namespace muster::submit {

// `ns` is given to namespaced objects that say none ("default" when empty). Appends to `job` and
// `input`. kInvalid with file, line and column for what cannot be read, and for sbatch scripts,
// which Slurm takes and a Kubernetes cluster does not.
Status ReadObjects(Files& files, const std::vector<std::string>& paths, const std::string& ns,
                   render::RenderedJob& job, LintInput& input);

}  // namespace muster::submit
