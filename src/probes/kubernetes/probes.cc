#include "probes/kubernetes/probes.h"

#include <array>

#include <fmt/format.h>

#include "probes/kubernetes/parse.h"

namespace muster {

namespace {

Reading Raw(const HostPorts& ports, std::string_view probe, const std::string& path) {
  Command command;
  command.argv = {"kubectl", "get", "--raw", path};
  return ReadCommand(ports, probe, command);
}

Reading CollectNodes(const HostPorts& p) { return Raw(p, "kubernetes.nodes", "/api/v1/nodes"); }
Reading CollectNodeInfo(const HostPorts& p) {
  return Raw(p, "kubernetes.node_info", "/api/v1/nodes");
}
Reading CollectNodeSoftware(const HostPorts& p) {
  return Raw(p, "kubernetes.node_software", "/api/v1/nodes");
}
Reading CollectGpuOperator(const HostPorts& p) {
  return Raw(p, "kubernetes.gpu_operator", "/apis/nvidia.com/v1/clusterpolicies");
}
// The operator labels what it deploys.
Reading CollectGpuOperands(const HostPorts& p) {
  return Raw(
      p, "kubernetes.gpu_operands",
      "/apis/apps/v1/daemonsets?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dgpu-operator");
}
Reading CollectNetworkOperator(const HostPorts& p) {
  return Raw(p, "kubernetes.network_operator", "/apis/mellanox.com/v1alpha1/nicclusterpolicies");
}
Reading CollectAttachments(const HostPorts& p) {
  return Raw(p, "kubernetes.attachments",
             "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions");
}
Reading CollectKubelet(const HostPorts& p) {
  return Raw(p, "kubernetes.kubelet", fmt::format("/api/v1/nodes/{}/proxy/configz", p.host));
}

}  // namespace

std::span<const Probe> KubernetesProbes() {
  static const std::array<Probe, 8> kProbes = {{
      {"kubernetes.nodes",
       "json",
       {"kube.nodes", "kube.node_ready", "kube.gpus_allocatable", "kube.rdma_allocatable",
        "kube.rdma_resources", "kube.nic_seen", "kube.nic_driver"},
       &CollectNodes,
       &ParseKubeNodes},
      {"kubernetes.node_info",
       "json",
       {"kube.kubelet_version", "kube.container_runtime", "kube.pressure"},
       &CollectNodeInfo,
       &ParseNodeInfo},
      {"kubernetes.node_software",
       "json",
       {"node.kernel", "node.os"},
       &CollectNodeSoftware,
       &ParseNodeSoftware},
      {"kubernetes.gpu_operator",
       "json",
       {"gpu_operator.state"},
       &CollectGpuOperator,
       &ParseGpuOperator},
      {"kubernetes.gpu_operands",
       "json",
       {"gpu_operator.failed_operands"},
       &CollectGpuOperands,
       &ParseGpuOperands},
      {"kubernetes.network_operator",
       "json",
       {"network_operator.state", "network_operator.failed_states"},
       &CollectNetworkOperator,
       &ParseNetworkOperator},
      {"kubernetes.attachments",
       "json",
       {"attachment.count", "attachment.resources"},
       &CollectAttachments,
       &ParseAttachments},
      {"kubernetes.kubelet",
       "json",
       {"kubelet.topology_policy", "kubelet.topology_scope", "kubelet.cpu_manager"},
       &CollectKubelet,
       &ParseKubelet},
  }};
  return kProbes;
}

}  // namespace muster
