#include "kube/core.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::kube {
namespace {

TEST(Quantity, IsReadAsKubernetesReadsIt) {
  const auto milli = [](std::string_view text) {
    const auto parsed = ParseMilli(text);
    return parsed.ok() ? *parsed : -12345;
  };
  EXPECT_EQ(milli("8"), 8000);
  EXPECT_EQ(milli("500m"), 500);
  EXPECT_EQ(milli("1.5"), 1500);
  EXPECT_EQ(milli(".5"), 500);
  EXPECT_EQ(milli("1.5Gi"), 1610612736000);
  EXPECT_EQ(milli("1e3"), 1000000);
  EXPECT_EQ(milli("1E3"), 1000000);
  EXPECT_EQ(milli("12E"), INT64_MAX);
  EXPECT_EQ(milli("100u"), 1) << "finer than a thousandth is rounded up";
  EXPECT_EQ(milli("1n"), 1);
  EXPECT_EQ(milli("0n"), 0);
  EXPECT_EQ(milli("-2"), -2000);
  EXPECT_EQ(milli("1e-2"), 10);
  EXPECT_EQ(milli("16Ei"), INT64_MAX) << "what no 64 bits hold is the largest";
  for (const char* bad : {"", "m", "1x", "1 Gi", "0x10", "1.2.3", "--1", "1e", "1e99", "NaN",
                          "99999999999999999999999999999999999"}) {
    EXPECT_EQ(milli(bad), -12345) << bad;
  }
}

RC_GTEST_PROP(QuantityProperty, WhatIsWrittenIsReadBack, (int64_t value)) {
  RC_PRE(value != INT64_MIN);
  const auto back = ParseMilli(FormatMilli(value));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == value);
}

RC_GTEST_PROP(QuantityProperty, AnyTextIsReadOrRefused, (const std::string& text)) {
  static_cast<void>(ParseMilli(text).ok());
}

constexpr const char* kPod = R"({"metadata":{"name":"w-0","namespace":"train","uid":"u1",
 "resourceVersion":"42","creationTimestamp":"2026-11-20T10:00:00Z","labels":{"a":"b"},
 "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"w","uid":"j","controller":true}],
 "managedFields":[{"manager":"x"}]},
 "spec":{"schedulerName":"muster","priority":-5,"nodeSelector":{"pool":"h100"},
  "overhead":{"cpu":"250m"},
  "initContainers":[{"name":"pull","resources":{"requests":{"cpu":"4"}}},
   {"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
   {"name":"late","resources":{"requests":{"cpu":"3","memory":"1Gi"}}}],
  "containers":[{"name":"c","image":"i","command":["sh","-c","true"],
   "env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{}}}],
   "ports":[{"hostPort":80},{"containerPort":1}],
   "resources":{"requests":{"cpu":"2","nvidia.com/gpu":8,"memory":"512Mi"}}}],
  "tolerations":[{"key":"k","operator":"Exists","tolerationSeconds":30}],
  "affinity":{"nodeAffinity":{}},"schedulingGates":[{"name":"g"}],
  "schedulingGroup":{"podGroupName":"pg"},
  "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}},{"name":"e","emptyDir":{}}]},
 "status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}})";

TEST(Pod, IsReadWithWhatASchedulerNeeds) {
  const auto pod = DecodePod(kPod);
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_EQ(pod->meta.Key(), "train/w-0");
  EXPECT_EQ(pod->meta.owners.at(0).kind, "Job");
  EXPECT_EQ(pod->priority, -5);
  EXPECT_EQ(pod->containers.at(0).env.size(), 1u);
  EXPECT_EQ(pod->containers.at(0).host_ports, std::vector<int32_t>{80});
  EXPECT_EQ(pod->tolerations.at(0).seconds, 30);
  EXPECT_EQ(pod->affinity_json, R"({"nodeAffinity":{}})");
  EXPECT_EQ(pod->scheduling_gates, std::vector<std::string>{"g"});
  EXPECT_EQ(pod->volume_claims, std::vector<std::string>{"data"});
  EXPECT_EQ(pod->pod_group, "pg");
  EXPECT_FALSE(pod->Finished());
}

TEST(Pod, RequestsAreTheLargestMomentPlusOverhead) {
  const auto pod = DecodePod(kPod);
  ASSERT_TRUE(pod.ok());
  const Amounts requests = pod->Requests();
  // pull 4 alone; late 3 + side 1 = 4; running 2 + side 1 = 3. So 4, and 250m of overhead.
  EXPECT_EQ(requests.at("cpu"), 4250);
  EXPECT_EQ(requests.at("memory"), int64_t{1024} * 1024 * 1024 * 1000);
  EXPECT_EQ(requests.at("nvidia.com/gpu"), 8000);
}

TEST(Pod, PodLevelRequestsReplaceTheSum) {
  const auto pod = DecodePod(
      R"({"metadata":{"name":"a"},"spec":{"resources":{"requests":{"cpu":"9"}},"containers":[{"name":"c","resources":{"requests":{"cpu":"1","nvidia.com/gpu":"1"}}}]}})");
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->Requests().at("cpu"), 9000);
  EXPECT_EQ(pod->Requests().at("nvidia.com/gpu"), 1000);
}

TEST(Node, IsReadWithTaintsAndAllocatable) {
  const auto node = DecodeNode(
      R"({"metadata":{"name":"n1","resourceVersion":"7"},"spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},)"
      R"("status":{"allocatable":{"cpu":"96","nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}],)"
      R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"kubeletVersion":"v1.37.1"}}})");
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->unschedulable);
  EXPECT_TRUE(node->Ready());
  EXPECT_EQ(node->allocatable.at("nvidia.com/gpu"), 8000);
  EXPECT_EQ(node->taints.at(0).effect, "NoSchedule");
}

TEST(Node, UnknownIsNotReady) {
  const auto node = DecodeNode(
      R"({"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  EXPECT_FALSE(node->Ready());
}

TEST(CoreObjects, OtherKindsAreRead) {
  const auto lease = DecodeLease(
      R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":"2026-11-20T10:00:00.123456Z"}})");
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->holder, "a");
  EXPECT_TRUE(lease->renewed.has_value());
  const auto budget = DecodeDisruptionBudget(
      R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"minAvailable":"50%"},"status":{"disruptionsAllowed":1}})");
  EXPECT_EQ(budget->max_unavailable, "1");
  EXPECT_EQ(budget->min_available, "50%");
  const auto job = DecodeJob(
      R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed","completions":4},"status":{"succeeded":3}})");
  EXPECT_EQ(job->completions, 4);
  EXPECT_EQ(job->succeeded, 3);
  const auto event = DecodeEvent(
      R"({"metadata":{"name":"e"},"reason":"FailedScheduling","involvedObject":{"kind":"Pod","name":"p"},"eventTime":"2026-11-20T10:00:00Z"})");
  EXPECT_EQ(event->about_name, "p");
  EXPECT_TRUE(event->last.has_value());
}

TEST(CoreObjects, AnyKindIsAnObjectWithItsText) {
  const std::string json =
      R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"q"},"spec":{"weight":4,"a/b":"x"}})";
  const auto object = DecodeObject(json);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->kind, "Queue");
  EXPECT_EQ(ValueAt(object->json, "/spec/weight"), "4");
  EXPECT_EQ(ValueAt(object->json, "/spec/a~1b"), "x");
  EXPECT_EQ(ValueAt(object->json, "/spec/none"), std::nullopt);
}

TEST(CoreObjects, WhatIsNoObjectIsRefused) {
  for (const char* bad : {"", "[]", "null", "{", R"({"metadata":{}})", R"({"metadata":[]})",
                          R"({"metadata":{"name":3}})", "{\"metadata\":{\"name\":\"\xff\"}}"}) {
    EXPECT_FALSE(DecodePod(bad).ok()) << bad;
    EXPECT_FALSE(ReadIdent(bad).ok()) << bad;
  }
}

TEST(CoreObjects, EveryCutOfAPodIsRefused) {
  const std::string whole = kPod;
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(DecodePod(std::string_view(whole).substr(0, at)).ok()) << at;
  }
}

TEST(VersionNumber, IsZeroForOtherText) {
  EXPECT_EQ(VersionNumber("18446744073709551609"), 18446744073709551609u);
  EXPECT_EQ(VersionNumber("99999999999999999999999"), 0u);
  EXPECT_EQ(VersionNumber("1-2"), 0u);
}

}  // namespace
}  // namespace muster::kube
