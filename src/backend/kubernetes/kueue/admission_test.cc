#include "backend/kubernetes/kueue/admission.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_place.h"

namespace muster::kueue {
namespace {

using kube::testing::FakePlace;
using kube::testing::Fault;

kube::Resource Kueue(const std::string& plural, const std::string& kind, bool namespaced,
                     const std::string& version = "v1beta2") {
  return {"kueue.x-k8s.io", version, plural, kind, namespaced};
}
const kube::Resource kWorkloads = Kueue("workloads", "Workload", true);

struct Cluster {
  FakePlace place;
  bool leads = true;
  std::vector<std::string> notes;
  std::unique_ptr<Admission> admission;

  explicit Cluster(uint64_t seed = 1) : place(seed) {
    place.api.Put(Kueue("resourceflavors", "ResourceFlavor", false), "", "f");
    ClusterQueue(R"("namespaceSelector":{})");
    place.api.Put(
        Kueue("localqueues", "LocalQueue", true), "ml", "q",
        R"("apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","spec":{"clusterQueue":"cq"})");
  }
  void ClusterQueue(const std::string& fields) {
    place.api.Put(
        Kueue("clusterqueues", "ClusterQueue", false), "", "cq",
        R"("apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","spec":{)" + fields +
            R"(,"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":4}]}]}]})");
  }
  void Begin() {
    admission = std::make_unique<Admission>(
        place.client, [this] { return leads; },
        [this](const std::string& note) { notes.push_back(note); });
    admission->Start();
  }
  bool Until(const std::function<bool()>& done, int polls = 20000) {
    return place.Until(
        [&] {
          admission->Turn();
          return done();
        },
        polls);
  }
  void Workload(const std::string& name, int cpus) {
    place.api.Put(
        kWorkloads, "ml", name,
        R"("apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","spec":{"queueName":"q","podSets":[{"name":"main","count":1,)"
        R"("template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
            std::to_string(cpus) + R"("}}}]}}}]})");
  }
  void Job(const std::string& name, int pods, bool suspended) {
    place.api.Put(
        kube::kJobs, "ml", name,
        R"("metadata":{"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":)" +
            std::string(suspended ? "true" : "false") + R"(,"parallelism":)" +
            std::to_string(pods) +
            R"(,"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}})");
  }
  std::string At(const kube::Resource& resource, const std::string& name, const char* pointer) {
    const auto body = place.client.Ask(kube::Get(resource, "ml", name));
    return body.ok() ? kube::ValueAt(*body, pointer).value_or("") : "";
  }
  size_t Patches() const {
    size_t count = 0;
    for (const std::string& asked : place.api.asked()) count += asked.starts_with("PATCH") ? 1 : 0;
    return count;
  }
};

TEST(Admission, OneWriteLetsAWorkloadIn) {
  Cluster cluster;
  cluster.Workload("w", 3);
  cluster.Begin();
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->stats().admitted == 1; }));
  EXPECT_EQ(cluster.At(kWorkloads, "w", "/status/admission/clusterQueue"), "cq");
  EXPECT_EQ(cluster.Patches(), 1u);
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->idle(); }));
  EXPECT_EQ(cluster.Patches(), 1u);
}

TEST(Admission, OneWriteLetsAJobInAndOneThatRunsUnaskedIsHeld) {
  Cluster cluster;
  cluster.Job("fits", 2, true);
  cluster.Job("large", 6, false);
  cluster.Begin();
  ASSERT_TRUE(cluster.Until([&] {
    return cluster.admission->stats().admitted == 1 && cluster.admission->stats().held == 1 &&
           cluster.admission->idle();
  }));
  EXPECT_EQ(cluster.At(kube::kJobs, "fits", "/spec/suspend"), "false");
  EXPECT_EQ(cluster.At(kube::kJobs, "large", "/spec/suspend"), "true");
  EXPECT_EQ(cluster.Patches(), 2u);
}

TEST(Admission, NothingIsWrittenByOneWhoDoesNotLead) {
  Cluster cluster;
  cluster.leads = false;
  cluster.Workload("w", 1);
  cluster.Begin();
  cluster.Until([] { return false; }, 300);
  EXPECT_EQ(cluster.Patches(), 0u);
}

TEST(Admission, AnotherThatIsStartedAfterAKillCountsWhatWasLetIn) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(seed);
    for (const char* name : {"a", "b", "c", "d"}) cluster.Workload(name, 2);
    cluster.Begin();
    // Killed at any moment: with writes under way whose answers nobody reads.
    cluster.Until([] { return false; }, static_cast<int>(seed) * 4);
    cluster.Begin();
    ASSERT_TRUE(cluster.Until([&] { return cluster.admission->idle(); }));
    int in = 0;
    for (const char* name : {"a", "b", "c", "d"})
      in += cluster.At(kWorkloads, name, "/status/admission/clusterQueue") == "cq" ? 1 : 0;
    EXPECT_EQ(in, 2) << seed;
  }
}

TEST(Admission, WritesThatFailOrAreLostAreMadeUpFor) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Cluster cluster(seed);
    SeededRandom chance(seed);
    cluster.place.api.fault = [&](const kube::Exchange& exchange) {
      Fault fault;
      if (exchange.method != "PATCH" || chance.Below(3) == 0) return fault;
      fault.kind = chance.Below(2) == 0 ? Fault::Kind::kBreak : Fault::Kind::kRefuse;
      fault.status = chance.Below(2) == 0 ? 409 : 500;
      return fault;
    };
    for (const char* name : {"a", "b", "c"}) cluster.Workload(name, 2);
    cluster.Begin();
    ASSERT_TRUE(cluster.Until([&] {
      return cluster.admission->core().admitted() == 2 && cluster.admission->idle();
    })) << seed;
    int in = 0;
    for (const char* name : {"a", "b", "c"})
      in += cluster.At(kWorkloads, name, "/status/admission/clusterQueue") == "cq" ? 1 : 0;
    EXPECT_EQ(in, 2) << seed;
  }
}

TEST(Admission, ANamespaceThatIsNotSelectedIsToldAndLetInWhenItsLabelsChange) {
  Cluster cluster;
  cluster.place.api.Put(kube::kNamespaces, "", "ml");
  cluster.ClusterQueue(R"("namespaceSelector":{"matchLabels":{"team":"ml"}})");
  cluster.Workload("w", 1);
  cluster.Begin();
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->stats().said == 1; }));
  EXPECT_NE(cluster.At(kWorkloads, "w", "/status/conditions/0/message").find("does not match"),
            std::string::npos);
  cluster.place.api.Put(kube::kNamespaces, "", "ml", R"("metadata":{"labels":{"team":"ml"}})");
  EXPECT_TRUE(cluster.Until([&] { return cluster.admission->stats().admitted == 1; }));
}

TEST(Admission, HoldAndDrainIsHeededWhenTheObjectSaysIt) {
  Cluster cluster;
  cluster.Workload("w", 1);
  cluster.Begin();
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->stats().admitted == 1; }));
  cluster.ClusterQueue(R"("namespaceSelector":{},"stopPolicy":"HoldAndDrain")");
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->stats().evicted == 1; }));
  EXPECT_EQ(cluster.At(kWorkloads, "w", "/status/admission"), "");
}

TEST(Admission, AWorkloadOfAFlavorWithATopologyIsToldItsNodes) {
  Cluster cluster;
  cluster.place.api.Put(
      Kueue("topologies", "Topology", false), "", "default",
      R"("apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Topology","spec":{)"
      R"("levels":[{"nodeLabel":"rack"},{"nodeLabel":"kubernetes.io/hostname"}]})");
  cluster.place.api.Put(
      Kueue("resourceflavors", "ResourceFlavor", false), "", "f",
      R"("apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","spec":{"topologyName":"default"})");
  for (const std::string name : {"n1", "n2"})
    cluster.place.api.Put(kube::kNodes, "", name,
                          R"("metadata":{"labels":{"rack":"r1","kubernetes.io/hostname":")" + name +
                              R"("}},"status":{"allocatable":{"cpu":"2","pods":"10"},)"
                              R"("conditions":[{"type":"Ready","status":"True"}]})");
  cluster.place.api.Put(kube::kPods, "ml", "theirs",
                        R"("spec":{"nodeName":"n1","containers":[{"name":"c","resources":)"
                        R"({"requests":{"cpu":"1"}}}]},"status":{"phase":"Running"})");
  cluster.Workload("w", 2);
  cluster.Begin();
  ASSERT_TRUE(cluster.Until([&] { return cluster.admission->stats().admitted == 1; }));
  const std::string at = "/status/admission/podSetAssignments/0/topologyAssignment";
  EXPECT_EQ(cluster.At(kWorkloads, "w", (at + "/levels/0").c_str()), "kubernetes.io/hostname");
  EXPECT_EQ(cluster.At(kWorkloads, "w", (at + "/slices/0/valuesPerLevel/0/universalValue").c_str()),
            "n2")
      << "the other has one CPU left";
}

// Kueue 0.10 and 0.11: everything else is v1beta1 there.
TEST(Admission, ACohortOfTheFirstVersionCounts) {
  for (const int quota : {0, 4}) {
    Cluster c;
    c.ClusterQueue(R"("namespaceSelector":{},"cohort":"team")");
    c.place.api.Put(
        Kueue("cohorts", "Cohort", false, "v1alpha1"), "", "team",
        R"("apiVersion":"kueue.x-k8s.io/v1alpha1","kind":"Cohort","spec":{"resourceGroups":[{)"
        R"("coveredResources":["cpu"],"flavors":[{"name":"f","resources":[{"name":"cpu",)"
        R"("nominalQuota":)" +
            std::to_string(quota) + "}]}]}]}");
    c.Workload("w", 6);
    c.place.api.fault = [](const kube::Exchange& exchange) {
      Fault fault;
      if (exchange.path.find("beta") == std::string::npos ||
          exchange.path.find("/cohorts") == std::string::npos)
        return fault;
      fault.kind = Fault::Kind::kRefuse, fault.status = 404;
      return fault;
    };
    c.Begin();
    ASSERT_TRUE(c.Until([&] { return c.admission->idle(); }));
    EXPECT_EQ(c.admission->stats().admitted, quota == 4 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace muster::kueue
