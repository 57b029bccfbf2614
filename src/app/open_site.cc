// From a site file to its hosts and jobs: the one place where a kind of site
// becomes a backend.
#include <algorithm>

#include <fmt/format.h>

#include "app/bringup.h"
#include "app/site_actuator.h"
#include "app/site_endpoints.h"
#include "backend/composed_actuator.h"
#include "backend/host/host_jobs.h"
#include "backend/host/host_site.h"
#include "backend/kubernetes/cluster_endpoint.h"
#include "backend/kubernetes/cluster_hosts.h"
#include "backend/kubernetes/cluster_jobs.h"
#include "backend/lab/lab_actuator.h"
#include "backend/lab/lab_endpoints.h"
#include "backend/lab/lab_hosts.h"
#include "backend/lab/lab_jobs.h"
#include "catalogue/expectation.h"
#include "kube/connection.h"
#include "model/fabric_host.h"

namespace muster {

namespace {

Status OpenLab(SiteContext& context, const OpenOptions& options) {
  const std::string folder = context.paths.folder + "/" + context.site().lab_dir;
  TRY(lab::LabState state,
      lab::LoadLab(context.world.files, folder)
          .Context(fmt::format("the lab of site {} (make one with `muster lab create`)",
                               context.site().name)));
  lab::LabJobsOptions jobs{.self_binary = options.self_binary};
  // Nothing that could be a rank: the model answers for all of them.
  if (options.self_binary.empty()) jobs.most_real_ranks = 0;
  context.jobs = std::make_unique<lab::LabJobs>(state, context.world, std::move(jobs));
  context.endpoints =
      std::make_unique<lab::LabEndpoints>(context.world, folder, options.self_binary);
  context.actuator = std::make_unique<lab::LabActuator>(context.world, folder);
  // A lab plays its nodes; a repository that its site names is a real one.
  if (auto repository = RepositoriesOf(context.site(), context.world, context.paths.folder,
                                       context.paths.state)) {
    const std::shared_ptr<Actuator> played = std::move(context.actuator);
    context.actuator = std::make_unique<ComposedActuator>(
        ActuatorParts{played, played, played, nullptr, {}, std::move(repository)});
  }
  context.hosts = std::make_unique<lab::LabHosts>(
      std::move(state), context.world,
      lab::LabHostsOptions{options.self_binary, options.modelled_telemetry});
  return {};
}

Status OpenHosts(SiteContext& context) {
  const std::string& folder = context.paths.folder;
  context.hosts = std::make_unique<host::HostSite>(context.site(), folder, context.world);
  context.jobs = std::make_unique<host::HostJobs>(context.site(), folder, context.world);
  context.endpoints = std::make_unique<NamedEndpoint>(context.site());
  TRY(context.actuator,
      MakeSiteActuator(context.site(), *context.hosts, context.world, folder, context.paths.state));
  return {};
}

// The nodes' own tools are asked as on a site of hosts; the API server answers for the cluster, and
// places the proofs' gangs. Without an API server that can be found the site is one of hosts: what
// only it could tell is then not observed.
Status OpenCluster(SiteContext& context) {
  const Site& site = context.site();
  const std::string& folder = context.paths.folder;
  const KubernetesTarget target = site.kubernetes.value_or(KubernetesTarget{});
  const bool relative = !target.kubeconfig.empty() && target.kubeconfig.front() != '/';
  const auto config = kube::FindCluster(
      context.world.files, kube::ClusterEnvironment(),
      relative ? folder + "/" + target.kubeconfig : target.kubeconfig, target.context);
  if (!config.ok()) return OpenHosts(context);
  const auto connection = std::make_shared<kube::Connection>(context.world, *config);
  TRY(kubernetes::ClusterJobsOptions jobs, kubernetes::OptionsFromPins(site.pins));
  auto hosts = std::make_unique<kubernetes::ClusterHosts>(
      site, context.world, connection->client(),
      std::make_unique<host::HostSite>(site, folder, context.world),
      site.NodesHaveAWay() && !site.NodesByPods(), connection);
  if (site.NodesByPods()) {
    hosts->UseProbePods(
        {.site = *target.probe_pods, .site_name = site.name, .state_folder = context.paths.state},
        std::string(FabricHost(site)));
  }
  TRY(context.actuator,
      MakeSiteActuator(site, hosts->by_logins(), context.world, folder, context.paths.state));
  context.hosts = std::move(hosts);
  auto cluster = std::make_unique<kubernetes::ClusterJobs>(connection->client(), std::move(jobs));
  if (site.inference.command.empty()) {
    context.endpoints = std::make_unique<NamedEndpoint>(site);
  } else {
    context.endpoints =
        std::make_unique<kubernetes::ClusterEndpoint>(site, *cluster, context.world);
  }
  context.jobs = std::move(cluster);
  return {};
}

// Our own small job runs where this binary is: on this machine.
std::vector<std::string> OwnTraining(const SiteContext& context, const OpenOptions& options) {
  if (context.site().kind == SiteKind::kLab) return {"muster-train"};
  if (context.site().kind == SiteKind::kKubernetes) return {};  // no image has it
  host::HostSite hosts(context.site(), context.paths.folder, context.world);
  for (const std::string& node : hosts.Names()) {
    if (hosts.Ssh(node) != nullptr) return {};
  }
  if (options.self_binary.empty()) return {};
  return {options.self_binary, "lab-rank", "muster-train"};
}

// An inventory without a GPU would pass every gate about GPUs: it must be
// meant, and say so.
Status CheckGpus(const Site& site) {
  const bool meant = std::all_of(site.cluster.nodes.begin(), site.cluster.nodes.end(),
                                 [](const Node& n) { return n.family == GpuFamily::kNone; });
  if (site.kind == SiteKind::kLab || site.cluster.GpuCount() > 0 || meant) return {};
  return Fail(Code::kInvalid,
              fmt::format("site {} has no GPUs: expected gpus: 1 or more on some node, or "
                          "gpu_family: none on every node",
                          site.name));
}

Status CheckNames(const SiteContext& context) {
  const auto wrong = CheckThresholds(*context.catalogue, context.site());
  if (wrong.empty()) return {};
  std::string text;
  for (const auto& [key, what] : wrong)
    text += fmt::format("{}{}: thresholds.{}: {}", text.empty() ? "" : "\n", context.file->path,
                        key, what);
  return Fail(Code::kInvalid, text);
}

}  // namespace

Result<SiteContext> OpenSite(const std::string& site_file, World world,
                             const OpenOptions& options) {
  TRY(LoadedSite loaded, ReadSiteFile(world.files, site_file));
  TRY(const Catalogue* const catalogue, LoadEmbedded());
  SiteContext context{std::make_unique<LoadedSite>(std::move(loaded)),
                      PathsOf(site_file),
                      catalogue,
                      world,
                      nullptr,
                      nullptr,
                      nullptr};
  TRY_VOID(CheckNames(context));
  TRY_VOID(CheckGpus(context.site()));
  switch (context.site().kind) {
    case SiteKind::kLab:
      TRY_VOID(OpenLab(context, options));
      break;
    case SiteKind::kHost:
      TRY_VOID(OpenHosts(context));
      break;
    case SiteKind::kKubernetes:
      TRY_VOID(OpenCluster(context));
      break;
    case SiteKind::kSlurm:
      return Fail(Code::kInvalid, fmt::format("a site of type {} cannot be opened by this binary",
                                              ToString(context.site().kind)));
  }
  context.own_training = OwnTraining(context, options);
  return context;
}

}  // namespace muster
