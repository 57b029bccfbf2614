// What a cluster's API server says of the stack under a GPU job: nodes and what they may hand out,
// the GPU and network operators' own words with the operand that fails, network attachments, each
// kubelet's topology policy. Asked as `kubectl get --raw PATH`, so that a capture taken by hand and
// our own client's answer are the same text.
//
// Objects of the operators follow their published definitions (NVIDIA/gpu-operator api/nvidia/v1,
// Mellanox/network-operator api/v1alpha1); no capture of a live operator stands behind the parsers.
#pragma once

#include <span>

#include "probes/probe.h"

namespace muster {

// kubernetes.nodes, .node_info, .node_software (in the place of node.software, where nobody can run
// the nodes' own tools), .gpu_operator, .gpu_operands, .network_operator, .attachments (read where
// the cluster's API answers, under the site's name) and .kubelet (under a node's name).
std::span<const Probe> KubernetesProbes();

}  // namespace muster
