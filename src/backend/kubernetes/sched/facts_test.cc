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

TEST(GroupFacts, EachDialectSaysItsMinimum) {
  const std::string meta = R"({"metadata":{"name":"g","namespace":"ml"},"spec":)";
  EXPECT_EQ(DecodeVolcanoGroup(meta + R"({"minMember":3,"queue":"q"}})")->min, 3);
  EXPECT_EQ(DecodeVolcanoGroup(meta + R"({"minMember":3,"queue":"q"}})")->queue, "q");
  EXPECT_EQ(DecodeCoschedulingGroup(meta + R"({"minMember":4}})")->min, 4);
  EXPECT_EQ(DecodeKaiGroup(meta + R"({"minMember":5}})")->min, 5);
  EXPECT_EQ(DecodeNativeGroup(meta + R"({"schedulingPolicy":{"gang":{"minCount":6}}}})")->min, 6);
  EXPECT_EQ(DecodeNativeGroup(meta + R"({"schedulingPolicy":{"basic":{}}}})")->min, 0);
}

TEST(GroupFacts, AJobIsAGangWhereItNamesAQueueOfKueue) {
  const std::string rest =
      R"("spec":{"parallelism":6,"completions":6,"completionMode":"Indexed"}})";
  EXPECT_EQ(DecodeJobGroup(R"({"metadata":{"name":"j","namespace":"ml"},)" + rest)->min, 0);
  const auto group = DecodeJobGroup(
      R"({"metadata":{"name":"j","namespace":"ml","labels":{"kueue.x-k8s.io/queue-name":"q"}},)" +
      rest);
  EXPECT_EQ(group->min, 6);
  EXPECT_EQ(group->queue, "ml/q");
}

}  // namespace
}  // namespace muster::kubesched
