// Rendered objects into a cluster, so that a person sees first what would change, and a submission
// that breaks off is finished by doing it again: server-side apply under one field manager, what
// serves the job before the job, and what was made for nothing taken away.
#pragma once

#include <string>
#include <vector>

#include "backend/kubernetes/standing.h"
#include "kube/client.h"
#include "render/render.h"

namespace muster::submit {

struct Change {
  std::string title;  // "Job train/llm"
  bool exists = false;
  std::string diff;  // unified, of the YAML; empty = nothing would change
};

// Asks the server what it would make of each object (dry run, unknown fields refused). Nothing is
// written. O(objects) requests.
Result<std::vector<Change>> Preview(kube::Client& client, const render::RenderedJob& job);

struct Applied {
  std::vector<std::string> done;     // titles, in order
  std::vector<std::string> removed;  // made in this call, and taken away after a later one failed
  std::string uid;                   // of the first workload
};

// kConflict for a workload of that name that has ended, and where another manager owns a field.
// After an error of a workload everything that this call created is deleted again (by uid); what
// could not be deleted is named in the error. Objects that serve the workload become its
// dependants, so that they go with it.
Result<Applied> ApplyAll(kube::Client& client, const render::RenderedJob& job);

// Deletes what ApplyAll made, by uid where it is known, and looks until it is gone, at most
// `patience`. What is left is kTimeout, by name.
Status RemoveAll(kube::Client& client, const render::RenderedJob& job, Duration patience);

// The workload, its pods, and what holds it. Kinds that are not served count as none.
Result<Standing> Look(kube::Client& client, const render::RenderedObject& workload);

}  // namespace muster::submit
