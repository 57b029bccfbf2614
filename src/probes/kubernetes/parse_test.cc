// Objects below are written from the operators' published definitions; none was captured from a
// live operator.
#include "probes/kubernetes/parse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "probes/kubernetes/answer.h"
#include "probes/kubernetes/probes.h"

namespace muster {
namespace {

Reading Of(std::string text, std::string host = "prod") {
  Reading reading;
  reading.probe = "kubernetes.nodes";
  reading.host = std::move(host);
  reading.text = std::move(text);
  return reading;
}

const Observation* Find(const Observations& all, std::string_view fact, std::string_view id) {
  for (const Observation& o : all) {
    if (o.fact == fact && o.subject.id == id) return &o;
  }
  return nullptr;
}
std::string ValueOf(const Observations& all, std::string_view fact, std::string_view id) {
  const Observation* o = Find(all, fact, id);
  if (o == nullptr) return "absent";
  if (o->value() == nullptr) return "unknown";
  return FormatValue(*o->value(), Unit::kNone);
}

const char* const kNode =
    R"({"metadata":{},"items":[{"metadata":{"name":"n1","labels":{"feature.node.kubernetes.io/pci-15b3.present":"true","network.nvidia.com/operator.mofed.wait":"false"}},
"status":{"allocatable":{"cpu":"96","nvidia.com/gpu":"8","rdma/rdma_shared_device_a":"63","nvidia.com/mig-1g.10gb":"7"},"conditions":[{"type":"Ready","status":"True"}]}}]})";

TEST(KubeNodes, SaysWhatANodeMayHandOut) {
  const auto seen = ParseKubeNodes(Of(kNode));
  EXPECT_EQ(ValueOf(seen, "kube.gpus_allocatable", "n1"), "8");
  EXPECT_EQ(ValueOf(seen, "kube.rdma_allocatable", "n1"), "63");
  EXPECT_EQ(ValueOf(seen, "kube.rdma_resources", "n1"), "rdma/rdma_shared_device_a=63");
  EXPECT_EQ(ValueOf(seen, "kube.node_ready", "n1"), "yes");
  EXPECT_EQ(ValueOf(seen, "kube.nic_driver", "n1"), "yes");
}

TEST(KubeAnswer, ARefusalIsNotPermittedAndACutAnswerUnparsable) {
  Reading refused = Of("");
  refused.exit_code = 1;
  refused.stderr_text = "Forbidden: nodes is forbidden";
  EXPECT_EQ(kubernetes_answer::Read(refused).why->reason, UnknownReason::kNotPermitted);
  EXPECT_EQ(kubernetes_answer::Read(Of("{\"items\":[")).why->reason, UnknownReason::kUnparsable);
  EXPECT_FALSE(kubernetes_answer::Read(Of("{}")).why.has_value());
}

const char* const kInfo =
    R"({"items":[{"metadata":{"name":"n1"},"status":{"nodeInfo":{"kernelVersion":"6.8.0-87-generic","osImage":"Ubuntu 24.04.3 LTS","kubeletVersion":"v1.37.1","containerRuntimeVersion":"containerd://2.1.4"},
"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"DiskPressure","status":"False"},{"type":"PIDPressure","status":"False"},{"type":"Ready","status":"True"}]}},
{"metadata":{"name":"n2"},"status":{"nodeInfo":{"kernelVersion":"","kubeletVersion":"v1.37.1"},"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"DiskPressure","status":"True"},{"type":"PIDPressure","status":"Unknown"}]}},
{"metadata":{"name":"n3"},"status":{"conditions":[{"type":"MemoryPressure","status":"Unknown"}]}}]})";

TEST(KubeNodeInfo, SoftwareIsWhatTheKubeletWrote) {
  const auto software = ParseNodeSoftware(Of(kInfo)), info = ParseNodeInfo(Of(kInfo));
  EXPECT_EQ(ValueOf(software, "node.kernel", "n1"), "6.8.0-87-generic");
  EXPECT_EQ(ValueOf(software, "node.os", "n1"), "Ubuntu 24.04.3 LTS");
  EXPECT_EQ(ValueOf(info, "kube.kubelet_version", "n1"), "v1.37.1");
  EXPECT_EQ(ValueOf(info, "kube.container_runtime", "n1"), "containerd://2.1.4");
  EXPECT_EQ(ValueOf(software, "node.kernel", "n2"), "unknown");
  EXPECT_EQ(ValueOf(info, "kube.kubelet_version", "n3"), "unknown");
}

TEST(KubeNodeInfo, PressureIsNamedAndSilenceIsNotHealth) {
  const auto seen = ParseNodeInfo(Of(kInfo));
  EXPECT_EQ(ValueOf(seen, "kube.pressure", "n1"), "none");
  EXPECT_EQ(ValueOf(seen, "kube.pressure", "n2"), "DiskPressure");
  EXPECT_EQ(ValueOf(seen, "kube.pressure", "n3"), "unknown");
}

TEST(KubeNodes, ANodeThatSaysNothingIsUnknownAndNotEmpty) {
  const auto seen = ParseKubeNodes(Of(R"({"items":[{"metadata":{"name":"n1"},"status":{}}]})"));
  EXPECT_EQ(ValueOf(seen, "kube.gpus_allocatable", "n1"), "unknown");
  EXPECT_EQ(ValueOf(seen, "kube.node_ready", "n1"), "unknown");
}

TEST(KubeNodes, ARefusalIsNotPermittedAndAPageIsNotTheCluster) {
  Reading refused = Of("");
  refused.exit_code = 1;
  refused.stderr_text = "Forbidden: nodes is forbidden";
  const Observations seen = ParseKubeNodes(refused);
  ASSERT_NE(Find(seen, "kube.nodes", "prod"), nullptr);
  EXPECT_EQ(ValueOf(seen, "kube.nodes", "prod"), "unknown");
  EXPECT_EQ(Find(seen, "kube.nodes", "prod")->unobserved()->reason, UnknownReason::kNotPermitted);
  EXPECT_EQ(ValueOf(ParseKubeNodes(Of(R"({"metadata":{"continue":"x"},"items":[]})")), "kube.nodes",
                    "prod"),
            "unknown");
}

TEST(GpuOperator, TheWorstPolicyThatCountsIsItsState) {
  const auto seen = ParseGpuOperator(Of(
      R"({"items":[{"metadata":{"name":"old"},"status":{"state":"ignored"}},{"metadata":{"name":"p"},"status":{"state":"notReady","conditions":[{"type":"Error","status":"True","reason":"OperandNotReady","message":"state-driver"}]}}]})"));
  EXPECT_EQ(ValueOf(seen, "gpu_operator.state", "prod"), "notReady");
  EXPECT_NE(Find(seen, "gpu_operator.state", "prod")->excerpt.find("state-driver"),
            std::string::npos);
}

TEST(GpuOperator, WithoutAPolicyOrAStateIsUnknown) {
  for (const char* text :
       {R"({"items":[]})", R"({"items":[{"status":{"state":"ignored"}}]})", R"({"items":[{}]})"})
    EXPECT_EQ(ValueOf(ParseGpuOperator(Of(text)), "gpu_operator.state", "prod"), "unknown") << text;
}

TEST(GpuOperands, TheOneThatFailsIsNamed) {
  const auto seen = ParseGpuOperands(Of(
      R"({"items":[{"metadata":{"name":"nvidia-driver-daemonset"},"status":{"desiredNumberScheduled":4,"numberReady":3}},{"metadata":{"name":"nvidia-dcgm"},"status":{"desiredNumberScheduled":4,"numberReady":4}}]})"));
  EXPECT_EQ(ValueOf(seen, "gpu_operator.failed_operands", "prod"),
            "nvidia-driver-daemonset: 3 of 4 ready");
}

TEST(GpuOperands, NoneAtAllAndNoCountsAreUnknown) {
  EXPECT_EQ(
      ValueOf(ParseGpuOperands(Of(R"({"items":[]})")), "gpu_operator.failed_operands", "prod"),
      "unknown");
  EXPECT_EQ(ValueOf(ParseGpuOperands(Of(R"({"items":[{"metadata":{"name":"x"}}]})")),
                    "gpu_operator.failed_operands", "prod"),
            "unknown");
}

TEST(NetworkOperator, TheStateThatFailsIsNamed) {
  const auto seen = ParseNetworkOperator(Of(
      R"({"items":[{"metadata":{"name":"nic-cluster-policy"},"status":{"state":"notReady","appliedStates":[{"name":"state-OFED","state":"ready"},{"name":"state-RDMA-device-plugin","state":"error","message":"no image"},{"name":"state-ib-kubernetes","state":"ignore"}]}}]})"));
  EXPECT_EQ(ValueOf(seen, "network_operator.state", "prod"), "notReady");
  EXPECT_EQ(ValueOf(seen, "network_operator.failed_states", "prod"),
            "state-RDMA-device-plugin: error no image");
}

TEST(Kubelet, ThePolicyIsTheOneThatRuns) {
  const auto seen = ParseKubelet(Of(
      R"({"kubeletconfig":{"topologyManagerPolicy":"restricted","topologyManagerScope":"pod","cpuManagerPolicy":"static"}})",
      "n1"));
  EXPECT_EQ(ValueOf(seen, "kubelet.topology_policy", "n1"), "restricted");
  EXPECT_EQ(ValueOf(ParseKubelet(Of("{}", "n1")), "kubelet.topology_policy", "n1"), "unknown");
}

TEST(Attachments, NameTheirResources) {
  const auto seen = ParseAttachments(Of(
      R"({"items":[{"metadata":{"name":"rail-0","namespace":"ml","annotations":{"k8s.v1.cni.cncf.io/resourceName":"mellanox.com/rail_0"}}}]})"));
  EXPECT_EQ(ValueOf(seen, "attachment.resources", "prod"), "mellanox.com/rail_0");
}

// Every cut of a good document: nothing that the whole did not say may be said as known.
TEST(KubeNodes, ACutDocumentSaysNothing) {
  const std::string whole = kNode;
  for (size_t n = 0; n < whole.size() - 1; ++n) {
    for (const Observation& o : ParseKubeNodes(Of(whole.substr(0, n))))
      EXPECT_EQ(o.value(), nullptr) << n;
  }
}

RC_GTEST_PROP(Kubernetes, NoTextBreaksAParser, (const std::string& text)) {
  for (const Probe& probe : KubernetesProbes()) (void)probe.parse(Of(text));
  for (const char* around :
       {R"({"items":[%]})", R"({"items":[{"status":%}]})", R"({"kubeletconfig":%})"}) {
    std::string made = around;
    made.replace(made.find('%'), 1, text);
    for (const Probe& probe : KubernetesProbes()) (void)probe.parse(Of(made));
  }
}

}  // namespace
}  // namespace muster
