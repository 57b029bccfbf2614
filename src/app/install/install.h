// `muster install kubernetes`: the objects that Muster runs as, written to files or applied; and
// the kubectl plugin.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/submit/cluster.h"
#include "backend/kubernetes/apply.h"
#include "render/install.h"
#include "world/world.h"

namespace muster::install {

struct InstallTable {
  std::vector<render::InstallRole> roles;
  std::vector<render::Priority> priorities;
  std::vector<render::ForeignKinds> foreign;
};
// catalogue/permissions.yaml. kInvalid with "file:line:column: what", a wildcard among it.
Result<InstallTable> ParseInstallTable(std::string_view yaml, std::string_view file);
Result<InstallTable> LoadInstallTable();

struct InstallWords {
  std::string ns = "muster-system", image;
  int replicas = 2, metrics_port = 0;
  std::vector<std::string> foreign;  // projects; "all"
  bool service_monitor = false;
};
// kInvalid for a project that is not in the table, with those that are.
Result<render::InstallRequest> MakeInstall(const InstallWords& words);

// One file an object, NN-kind-name.yaml, and a kustomization that names them in order. The folder
// must be empty or ours. Returns the paths.
Result<std::vector<std::string>> WriteInstall(Files& files, const render::RenderedJob& objects,
                                              const std::string& folder);

struct InstallOutcome {
  std::vector<submit::Change> changes;
  std::vector<std::string> applied, kept;  // kept: definitions that the project itself has there
};
// Definitions of foreign kinds that exist and are not ours stay as they are; a ServiceMonitor goes
// only where its definition is. `preview_only` writes nothing.
Result<InstallOutcome> ApplyInstall(const World& world, const submit::ClusterWords& where,
                                    const render::InstallRequest& request, bool preview_only,
                                    const std::function<void(const submit::Change&)>& show);

// A script of two lines that kubectl finds on PATH as `kubectl muster`.
Result<std::string> WriteKubectlPlugin(Files& files, const std::string& self,
                                       const std::string& folder);

}  // namespace muster::install
