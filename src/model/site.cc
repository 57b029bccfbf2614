#include "model/site.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"

namespace muster {

std::string_view ToString(SiteKind kind) {
  switch (kind) {
    case SiteKind::kLab:
      return "lab";
    case SiteKind::kHost:
      return "host";
    case SiteKind::kKubernetes:
      return "kubernetes";
    case SiteKind::kSlurm:
      return "slurm";
  }
  return "lab";
}

namespace {

// Boards whose GPUs are joined by NVLink and NVSwitch, by the name nvidia-smi
// prints: "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA H200",
// "NVIDIA B200". PCIe cards and bridged pairs
// ("H100 PCIe", "H200 NVL") are not.
bool HasNvlinkFabric(std::string_view model) {
  if (Contains(model, "PCIe") || Contains(model, "NVL")) return false;
  for (const std::string_view mark : {"SXM", "HBM", "H200", "B200", "B300", "H20", "H800"}) {
    if (Contains(model, mark)) return true;
  }
  return false;
}

void AddNodeFeatures(const Site& site, std::set<std::string>& features) {
  size_t most_gpus = 0;
  for (const Node& node : site.cluster.nodes) {
    most_gpus = std::max(most_gpus, node.gpus.size());
    if (!node.nics.empty()) features.insert("rdma");
    if (node.gpus.empty()) continue;
    features.insert("gpus");
    if (node.family == GpuFamily::kNvidia) features.insert("nvidia");
    if (node.family == GpuFamily::kAmd) features.insert("amd");
    const bool joined = std::all_of(node.gpus.begin(), node.gpus.end(),
                                    [](const Gpu& g) { return HasNvlinkFabric(g.model); });
    if (node.family == GpuFamily::kNvidia && node.gpus.size() > 1 && joined)
      features.insert("nvlink");
  }
  if (most_gpus > 1) features.insert("multi_gpu");
}

}  // namespace

std::set<std::string> Site::Features() const {
  std::set<std::string> features{std::string(ToString(kind))};
  AddNodeFeatures(*this, features);
  features.insert(NodesHaveAWay() ? "node_tools" : "api_only");
  if (cluster.nodes.size() > 1) features.insert("multi_node");
  if (!cluster.switches.empty() && !cluster.links.empty()) features.insert("switches");
  if (features.contains("rdma")) features.insert(roce ? "roce" : "infiniband");
  if (cluster.nodes.size() == 1 && cluster.switches.empty()) features.insert("workstation");
  if (!budgets.empty() || !pdus.empty()) features.insert("facility");
  // A lab brings its own monitor and its own model server.
  const bool lab = kind == SiteKind::kLab;
  for (const char* service : {"prometheus", "alertmanager", "exporter", "ufm"}) {
    if (endpoints.contains(service) && !endpoints.at(service).url.empty()) features.insert(service);
  }
  if (lab || !inference.url.empty() || !inference.command.empty() || endpoints.contains("openai"))
    features.insert("inference");
  if (features.contains("gpus") || !training.command.empty()) features.insert("training");
  if (features.contains("training") && (training.command.empty() || training.rank_reports))
    features.insert("training_reports");
  if (expect_sharp) features.insert("sharp");
  return features;
}

namespace {

bool HasLogins(const Site& site) {
  return !site.ssh.empty() || std::any_of(site.cluster.nodes.begin(), site.cluster.nodes.end(),
                                          [](const Node& n) { return !n.address.empty(); });
}

}  // namespace

bool Site::NodesByPods() const {
  return kind == SiteKind::kKubernetes && !HasLogins(*this) && kubernetes && kubernetes->probe_pods;
}

bool Site::NodesHaveAWay() const {
  return kind != SiteKind::kKubernetes || HasLogins(*this) || NodesByPods();
}

std::optional<std::vector<std::string>> Site::ScopeNodes(std::string_view scope) const {
  if (scope.empty() || scope == "all") {
    std::vector<std::string> all;
    for (const Node& node : cluster.nodes) all.push_back(node.name);
    return all;
  }
  const auto it =
      std::find_if(scopes.begin(), scopes.end(), [&](const Scope& s) { return s.name == scope; });
  if (it == scopes.end()) return std::nullopt;
  return it->nodes;
}

}  // namespace muster
