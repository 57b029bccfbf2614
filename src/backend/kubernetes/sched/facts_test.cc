#include "backend/kubernetes/sched/facts.h"

#include <gtest/gtest.h>

namespace muster::kubesched {
namespace {

PodFacts FactsOf(const std::string& meta, const std::string& spec) {
  const auto seen = DecodePodSeen(R"({"metadata":{"name":"p","namespace":"ml","uid":"u")" + meta +
                                  R"(},"spec":{"schedulerName":"muster")" + spec + "}}");
  EXPECT_TRUE(seen.ok());
  return *seen->facts;
}

TEST(PodFacts, EveryDialectNamesItsGroup) {
  const auto dialect = [](const std::string& meta, const std::string& spec = "") {
    return FactsOf(meta, spec).dialect;
  };
  EXPECT_EQ(dialect(R"(,"labels":{"muster.dev/gang":"g"})"), Dialect::kMuster);
  EXPECT_EQ(dialect(R"(,"annotations":{"scheduling.k8s.io/group-name":"g"})"), Dialect::kVolcano);
  EXPECT_EQ(dialect(R"(,"annotations":{"scheduling.volcano.sh/group-name":"g"})"),
            Dialect::kVolcano);
  EXPECT_EQ(dialect(R"(,"labels":{"scheduling.x-k8s.io/pod-group":"g"})"), Dialect::kCoscheduling);
  EXPECT_EQ(dialect(R"(,"annotations":{"pod-group-name":"g"})"), Dialect::kKai);
  EXPECT_EQ(dialect("", R"(,"schedulingGroup":{"podGroupName":"g"})"), Dialect::kNative);
  EXPECT_EQ(dialect(R"(,"labels":{"kueue.x-k8s.io/pod-group-name":"g"})"), Dialect::kKueue);
  EXPECT_EQ(dialect(R"(,"labels":{"jobset.sigs.k8s.io/jobset-name":"g"})"), Dialect::kJobSet);
  EXPECT_EQ(dialect(""), Dialect::kNone);
}

TEST(PodFacts, AmountsAreInTheUnitsOfTheModel) {
  const PodFacts facts = FactsOf(
      "", R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m","memory":"1Gi",)"
          R"("nvidia.com/gpu":"2"}}}])");
  EXPECT_EQ(facts.shape.at("cpu"), 1500);
  EXPECT_EQ(facts.shape.at("memory"), int64_t{1} << 30);
  EXPECT_EQ(facts.shape.at("nvidia.com/gpu"), 2);
  EXPECT_EQ(facts.shape.at("pods"), 1);
}

TEST(PodFacts, RulesThatAreNotModelledAreNamed) {
  EXPECT_EQ(FactsOf("", "").unsupported, "");
  EXPECT_NE(FactsOf("", R"(,"affinity":{"podAntiAffinity":)"
                        R"({"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})")
                .unsupported,
            "");
  EXPECT_EQ(FactsOf("", R"(,"affinity":{"nodeAffinity":)"
                        R"({"preferredDuringSchedulingIgnoredDuringExecution":[{}]}})")
                .unsupported,
            "")
      << "a preference is no rule";
}

TEST(PodFacts, SizesThatAreNoNumbersAreNone) {
  EXPECT_EQ(
      FactsOf(R"(,"labels":{"muster.dev/gang":"g","muster.dev/gang-size":"-3"})", "").group_size,
      0);
  EXPECT_EQ(
      FactsOf(R"(,"labels":{"muster.dev/gang":"g","muster.dev/gang-size":"8"})", "").group_size, 8);
}

TEST(NodeFacts, ACordonIsNoTaintAndZonesAreRead) {
  const auto seen = DecodeNodeSeen(
      R"({"metadata":{"name":"n","annotations":{"muster.dev/topology-manager-policy":"restricted",)"
      R"("muster.dev/numa-zones":"[{\"amounts\":{\"cpu\":48000},\"devices\":{\"nvidia.com/gpu\":[0,1]}}]"}},)"
      R"("spec":{"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable",)"
      R"("effect":"NoSchedule"},{"key":"team","value":"a","effect":"NoSchedule"}]},)"
      R"("status":{"allocatable":{"cpu":"96"},"conditions":[{"type":"Ready","status":"True"}]}})");
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(seen->facts->usable);
  ASSERT_EQ(seen->facts->spec.taints.size(), 1u);
  EXPECT_EQ(seen->facts->spec.taints[0].key, "team");
  ASSERT_EQ(seen->facts->spec.numa.size(), 1u);
  EXPECT_EQ(seen->facts->spec.topology_manager.policy, "restricted");
}

TEST(NodeFacts, ZonesThatCannotBeReadAreNone) {
  for (const std::string zones : {"nonsense", "{}", "[1]", R"([{\"devices\":{\"a/b\":[99]}}])"}) {
    const auto seen = DecodeNodeSeen(
        R"({"metadata":{"name":"n","annotations":{"muster.dev/numa-zones":")" + zones + R"("}}})");
    ASSERT_TRUE(seen.ok()) << zones;
    EXPECT_TRUE(seen->facts->spec.numa.empty()) << zones;
  }
}

TEST(PodFacts, WishesThatAreNotActedOnAreNamed) {
  EXPECT_EQ(FactsOf("", "").ignored, "");
  EXPECT_NE(FactsOf("", R"(,"affinity":{"nodeAffinity":)"
                        R"({"preferredDuringSchedulingIgnoredDuringExecution":[{}]}})")
                .ignored,
            "");
  const std::string ray =
      R"(,"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"r","uid":"1",)"
      R"("controller":true}])";
  EXPECT_NE(FactsOf(ray, "").ignored.find("one by one"), std::string::npos);
  EXPECT_EQ(FactsOf(ray + R"(,"annotations":{"scheduling.k8s.io/group-name":"g"})", "").ignored,
            "");
}

TEST(PodFacts, WhatWouldBePlacedWronglyIsNotPlaced) {
  EXPECT_NE(FactsOf("", R"(,"workloadRef":{"name":"w","podGroup":"g"})").unsupported, "");
  EXPECT_NE(FactsOf(R"(,"annotations":{"gpu-fraction":"0.5"})", "").unsupported, "");
  EXPECT_NE(FactsOf(R"(,"labels":{"pod-group.scheduling.sigs.k8s.io":"g"})", "").unsupported, "");
}

TEST(PodFacts, QueuesAreKnownByWhoseTheyAre) {
  const PodFacts kai = FactsOf(R"(,"labels":{"kai.scheduler/queue":"q"})", "");
  EXPECT_EQ(kai.queue, "q");
  EXPECT_EQ(kai.queue_of, Dialect::kKai);
  EXPECT_EQ(FactsOf(R"(,"labels":{"kueue.x-k8s.io/queue-name":"q"})", "").queue, "ml/q");
}

}  // namespace
}  // namespace muster::kubesched
