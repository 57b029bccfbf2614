// What runs in a cluster when Muster is installed there, as objects: namespace, roles with exactly
// the verbs of a table, priority classes, the scheduler with its replicas. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "render/render.h"

namespace muster::render {

struct Permission {
  std::string group;
  std::vector<std::string> resources, verbs;
  bool in_own_namespace = false;
  std::string why;
};
struct InstallRole {
  std::string id, what;
  std::vector<Permission> permissions;
};
struct Priority {
  std::string name, what;
  int value = 0;
  bool preempts = true;
};
struct ForeignKinds {
  std::string project, group;
  std::vector<std::string> versions, kinds;
};

struct InstallRequest {
  std::string ns = "muster-system";
  std::string image;  // with a digest
  int replicas = 2;
  std::vector<InstallRole> roles;
  std::vector<Priority> priorities;
  std::vector<ForeignKinds> foreign;  // whose definitions are rendered too
  int metrics_port = 0;               // 0 = no Service for metrics, and health at kHealthPort
  bool service_monitor = false;       // needs its CRD in the cluster
};

// In an order in which each object finds what it needs. kInvalid for names and images that are
// none; an image without a digest is one.
Result<RenderedJob> RenderInstall(const InstallRequest& request);

// Of the pod's own address: the kubelet's probes, and the metrics where nobody says another.
inline constexpr int kHealthPort = 8080;

// What stands for the image's digest in files until a person puts theirs there.
inline constexpr std::string_view kImagePlaceholder =
    "REGISTRY/muster@sha256:REPLACE_WITH_THE_DIGEST_THAT_image.sh_PRINTED";

}  // namespace muster::render
