#include "app/site_actuator.h"

#include <cstdlib>
#include <utility>

#include "backend/bmc/bmc_site.h"
#include "backend/composed_actuator.h"
#include "backend/host/host_actuator.h"
#include "backend/host/repository_actuator.h"
#include "backend/kubernetes/kubernetes_actuator.h"
#include "catalogue/embedded.h"
#include "kube/connection.h"

namespace muster {

namespace {

std::string FromFolder(const std::string& folder, const std::string& path) {
  return path.empty() || path[0] == '/' || folder.empty() ? path : folder + "/" + path;
}

std::optional<std::string> Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// The connection and its actuator live and end together.
struct ClusterActuator {
  kube::Connection connection;
  kubernetes::KubernetesActuator actuator;
  ClusterActuator(const World& world, const kube::ClusterConfig& config)
      : connection(world, config), actuator(connection.client()) {}
};

std::shared_ptr<host::AnsiblePackages> MakeAnsible(const Site& site, const World& world,
                                                   const std::string& site_folder,
                                                   const std::string& state_folder) {
  if (!site.ansible) return nullptr;
  host::AnsibleOptions options;
  options.target = *site.ansible;
  options.own_playbook = FindEmbedded("ansible/pin_packages.yaml").value_or("");
  options.folder = site_folder;
  options.state_folder = state_folder + "/ansible";
  options.sudo = site.sudo;
  return std::make_shared<host::AnsiblePackages>(world.processes, std::move(options));
}

}  // namespace

std::shared_ptr<Actuator> RepositoriesOf(const Site& site, const World& world,
                                         const std::string& site_folder,
                                         const std::string& state_folder) {
  if (site.repositories.empty()) return nullptr;
  return std::make_shared<host::RepositoryActuator>(
      site, world.processes, host::RepositoryOptions{site_folder, state_folder + "/repositories"});
}

Result<std::unique_ptr<Actuator>> MakeSiteActuator(const Site& site, Hosts& hosts, World world,
                                                   const std::string& site_folder,
                                                   const std::string& state_folder) {
  ActuatorParts parts;
  parts.host = std::make_shared<host::HostActuator>(
      site, hosts,
      host::HostActuatorOptions{.keeps_holds = !site.kubernetes.has_value(),
                                .wait_s = 20,
                                .ansible = MakeAnsible(site, world, site_folder, state_folder)});
  parts.repository = RepositoriesOf(site, world, site_folder, state_folder);
  if (site.kubernetes) {
    const auto config = kube::FindCluster(world.files, kube::ClusterEnvironment(),
                                          FromFolder(site_folder, site.kubernetes->kubeconfig),
                                          site.kubernetes->context);
    // A site may be looked at without its API server.
    if (config.ok()) {
      auto cluster = std::make_shared<ClusterActuator>(world, *config);
      parts.scheduler = std::shared_ptr<Actuator>(cluster, &cluster->actuator);
    } else {
      parts.missing = "its API server cannot be found: " + config.error().ToString();
    }
  } else {
    parts.scheduler = parts.host;
    parts.memory = std::make_unique<HoldMemory>(world, state_folder + "/holds");
  }
  if (!site.bmcs.empty()) {
    TRY(auto power, bmc::MakeBmcActuator(site, site_folder, hosts, world, Variable));
    parts.power = std::move(power);
  }
  return std::make_unique<ComposedActuator>(std::move(parts));
}

}  // namespace muster
