#include "app/probe_table.h"

#include <algorithm>
#include <array>

#include "probes/dcgm/probes.h"
#include "probes/dcgm_exporter/probes.h"
#include "probes/facility/probes.h"
#include "probes/infiniband/probes.h"
#include "probes/kernel_log/probes.h"
#include "probes/kubernetes/probes.h"
#include "probes/nccl_log/probes.h"
#include "probes/nccl_tests/probes.h"
#include "probes/node/probes.h"
#include "probes/nvidia_smi/probes.h"
#include "probes/openai/probes.h"
#include "probes/prometheus/probes.h"
#include "probes/rdma/probes.h"
#include "probes/rocm_smi/probes.h"

namespace muster {

namespace {

constexpr std::array kUses = {
    ProbeUse{1, "facility.signoff", ProbePlace::kFacility, false, "facility"},
    ProbeUse{1, "facility.redfish", ProbePlace::kFacility, false, "facility"},
    ProbeUse{2, "infiniband.sminfo", ProbePlace::kFabric, false, "switches"},
    ProbeUse{2, "infiniband.iblinkinfo", ProbePlace::kFabric, false, "switches"},
    ProbeUse{2, "infiniband.ibnetdiscover", ProbePlace::kFabric, false, "switches"},
    ProbeUse{2, "infiniband.perfquery", ProbePlace::kFabric, true, "switches"},
    ProbeUse{2, "infiniband.ibdiagnet", ProbePlace::kFabric, false, "switches"},
    ProbeUse{3, "node.identity", ProbePlace::kEachNode, false, ""},
    ProbeUse{3, "node.services", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{3, "node.software", ProbePlace::kEachNode, false, "node_tools"},
    ProbeUse{3, "kubernetes.node_software", ProbePlace::kCluster, false, "api_only"},
    ProbeUse{3, "kubernetes.node_info", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{3, "nvidia_smi.query", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{3, "nvidia_smi.nvlink", ProbePlace::kEachNode, false, "nvlink"},
    ProbeUse{3, "nvidia_smi.topo", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{3, "rocm_smi.query", ProbePlace::kEachNode, false, "amd"},
    ProbeUse{3, "kernel_log.xid", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{3, "dcgm.diag", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{3, "infiniband.ibstat", ProbePlace::kEachNode, false, "rdma"},
    ProbeUse{4, "node.modules", ProbePlace::kEachNode, false, "nvidia"},
    ProbeUse{4, "kubernetes.nodes", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{4, "kubernetes.gpu_operator", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{4, "kubernetes.gpu_operands", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{4, "kubernetes.network_operator", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{4, "kubernetes.attachments", ProbePlace::kCluster, false, "kubernetes"},
    ProbeUse{4, "kubernetes.kubelet", ProbePlace::kEachNode, false, "kubernetes"},
    ProbeUse{5, "dcgm_exporter.page", ProbePlace::kEachNode, false, "prometheus"},
    ProbeUse{5, "prometheus.series", ProbePlace::kMonitor, false, "prometheus"},
    ProbeUse{5, "prometheus.targets", ProbePlace::kMonitor, false, "prometheus"},
};

template <typename Probes>
void AddProbes(std::vector<const Probe*>& all, Probes probes) {
  for (const Probe& probe : probes) all.push_back(&probe);
}

}  // namespace

std::span<const ProbeUse> ProbeUses() { return kUses; }

std::vector<const Probe*> AllProbes() {
  std::vector<const Probe*> all;
  AddProbes(all, FacilityProbes());
  AddProbes(all, InfinibandProbes());
  AddProbes(all, RdmaProbes());
  AddProbes(all, NodeProbes());
  AddProbes(all, NvidiaSmiProbes());
  AddProbes(all, RocmSmiProbes());
  AddProbes(all, KernelLogProbes());
  AddProbes(all, DcgmProbes());
  AddProbes(all, DcgmExporterProbes());
  AddProbes(all, PrometheusProbes());
  AddProbes(all, NcclTestsProbes());
  AddProbes(all, NcclLogProbes());
  AddProbes(all, OpenaiProbes());
  AddProbes(all, KubernetesProbes());
  return all;
}

const Probe* FindProbe(std::string_view id) {
  static const std::vector<const Probe*> all = AllProbes();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Probe* probe) { return probe->id == id; });
  return found == all.end() ? nullptr : *found;
}

std::vector<PlannedRead> PlanReads(const Site& site, int gate, std::span<const std::string> nodes) {
  const std::set<std::string> features = site.Features();
  std::vector<PlannedRead> reads;
  for (const ProbeUse& use : kUses) {
    if (use.gate != gate || (!use.needs.empty() && !features.contains(std::string(use.needs))))
      continue;
    const Probe* probe = FindProbe(use.probe);
    if (probe == nullptr) continue;
    switch (use.place) {
      case ProbePlace::kFacility:
        reads.push_back({probe, "facility", use.twice});
        break;
      case ProbePlace::kFabric:
        reads.push_back({probe, "fabric", use.twice});
        break;
      case ProbePlace::kCluster:
        reads.push_back({probe, site.name, use.twice});
        break;
      case ProbePlace::kMonitor:
        reads.push_back({probe, "monitor", use.twice});
        break;
      case ProbePlace::kEachNode:
        for (const std::string& node : nodes) reads.push_back({probe, node, use.twice});
        break;
    }
  }
  return reads;
}

}  // namespace muster
