// Private to src/render: the pod of one group, which every dialect wraps in its own way.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "render/job_request.h"

namespace muster::render {

// How a dialect differs inside the pod.
struct PodPlace {
  std::string scheduler;      // schedulerName; empty = the cluster's default
  bool set_subdomain = true;  // the controller does not do it
  bool wait = true;           // an init container waits for the name of rank 0
};

// metadata and spec, for spec.template.
nlohmann::ordered_json PodTemplate(const JobRequest& request, const Group& group,
                                   const PodPlace& place);
// The request's labels, and who manages the object.
nlohmann::ordered_json LabelsOf(const JobRequest& request);
// The words that start one pod's ranks: torchrun with its rendezvous, or the command as it is.
std::vector<std::string> LaunchOf(const JobRequest& request, const Group& group,
                                  const std::string& endpoint);
// Waits until rank 0's name resolves, not for ever. It cannot lock itself out: the Service
// publishes pods that are not ready, so the name is there as soon as rank 0 has an address.
std::string WaitScript(const JobRequest& request);

}  // namespace muster::render
