// A job request as the objects of one dialect. Pure: the same request gives the same bytes, so that
// a submission can be repeated, compared and undone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "render/job_request.h"

namespace muster::render {

// One object (or script), in the order in which it is to be created.
struct RenderedObject {
  std::string api_version, kind, ns, name;  // empty for a script
  std::string json;                         // what the API server gets
  std::string yaml;                         // the same for people; the script's text for sbatch
  bool is_workload = false;                 // makes pods; what goes before it only serves it
};

struct RenderedJob {
  std::vector<RenderedObject> objects;
  // One file: documents between "---", or the script.
  std::string Text() const;
};

// kInvalid as CheckRequest says.
Result<RenderedJob> Render(const JobRequest& request);

// The job's cheap twin: same queue, shape, devices, attachments and rendezvous, but its ranks only
// look whether the contract was kept, and end within ten minutes. Exit code 0 of every rank is the
// proof; each prints what it found.
JobRequest CheapTwin(const JobRequest& request);

}  // namespace muster::render
