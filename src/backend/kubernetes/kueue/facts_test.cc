#include <gtest/gtest.h>

#include "backend/kubernetes/kueue/bodies.h"
#include "kube/object.h"

namespace muster::kueue {
namespace {

std::string At(const std::string& body, const char* pointer) {
  return kube::ValueAt(body, pointer).value_or("(nothing)");
}

const char* const kWorkload = R"({
  "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
  "metadata": {"name": "w", "namespace": "ml", "uid": "u", "resourceVersion": "7", "generation": 3,
               "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "ju"}]},
  "spec": {"queueName": "q", "priority": 5, "podSets": [
    {"name": "main", "count": 3, "template": {"spec": {"containers": [
      {"name": "c", "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}}],
      "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}}}]},
  "status": {"conditions": [{"type": "PodsReady", "status": "False", "reason": "r", "message": "m",
                             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})";

TEST(Workloads, AreReadWithWhatTheyAskFor) {
  const auto ask = DecodeWorkload(kWorkload);
  ASSERT_TRUE(ask.ok()) << ask.error().ToString();
  EXPECT_EQ(ask->queue, "ml/q");
  EXPECT_EQ(ask->priority, 5);
  EXPECT_EQ(ask->owner_job, "ju");
  ASSERT_EQ(ask->sets.size(), 1u);
  EXPECT_EQ(ask->sets[0].count, 3);
  EXPECT_EQ(ask->sets[0].shape.at("cpu"), 500);
  EXPECT_EQ(ask->sets[0].shape.at("memory"), 1 << 30) << "limits stand in for requests";
  EXPECT_EQ(ask->sets[0].select.at("a"), "b");
  EXPECT_FALSE(ask->reserved || ask->finished || !ask->active);
}

TEST(Workloads, BrokenOnesAreRefusedOrEmptyButNeverReadWrong) {
  EXPECT_FALSE(DecodeWorkload("").ok());
  EXPECT_FALSE(DecodeWorkload("[]").ok());
  const auto odd = DecodeWorkload(
      R"({"metadata":{"name":"w"},"spec":{"podSets":[7,{"count":"x","template":[]}],"priority":"high"},"status":{"conditions":{"a":1},"admission":3}})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->priority, 0);
  EXPECT_FALSE(odd->reserved);
}

TEST(Workloads, AnAdmissionSaysItsFlavorsAndKeepsOthersConditions) {
  const Ask ask = *DecodeWorkload(kWorkload);
  const std::string body = AdmitWorkloadBody(ask, "cq", {{"main", {{"cpu", "f"}, {"memory", "f"}}}},
                                             {}, {}, false, "2026-02-02T00:00:00Z");
  EXPECT_EQ(At(body, "/metadata/uid"), "u");
  EXPECT_EQ(At(body, "/metadata/resourceVersion"), "7");
  EXPECT_EQ(At(body, "/status/admission/clusterQueue"), "cq");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/flavors/cpu"), "f");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/resourceUsage/cpu"), "1500m");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/resourceUsage/memory"), "3221225472");
  EXPECT_EQ(At(body, "/status/admission/podSetAssignments/0/count"), "3");
  EXPECT_EQ(At(body, "/status/conditions/0/type"), "PodsReady");
  EXPECT_EQ(At(body, "/status/conditions/1/type"), "QuotaReserved");
  EXPECT_EQ(At(body, "/status/conditions/1/observedGeneration"), "3");
  EXPECT_EQ(At(body, "/status/conditions/2/type"), "Admitted");
  const std::string checked =
      AdmitWorkloadBody(ask, "cq", {}, {}, {}, true, "2026-02-02T00:00:00Z");
  EXPECT_EQ(At(checked, "/status/conditions/2/type"), "(nothing)");
}

TEST(Workloads, WhatWasAdmittedIsReadBackAndAnEvictionTakesItAway) {
  Ask ask = *DecodeWorkload(kWorkload);
  const std::string now = "2026-02-02T00:00:00Z";
  const std::string admitted =
      AdmitWorkloadBody(ask, "cq", {{"main", {{"cpu", "f"}}}}, {}, {}, false, now);
  const auto with_status = [&](const std::string& body) {
    return R"({"apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"name":"w","namespace":"ml","uid":"u"},"spec":{},"status":)" +
           At(body, "/status") + "}";
  };
  const auto back = DecodeWorkload(with_status(admitted));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->reserved && back->admitted);
  EXPECT_EQ(back->cluster_queue, "cq");
  EXPECT_EQ(back->flavors.at("main").at("cpu"), "f");
  const std::string evicted =
      EvictWorkloadBody(*back, "Preempted", "why", {}, *ParseTime("2026-02-03T00:00:00Z"));
  EXPECT_EQ(At(evicted, "/status/admission"), "null");
  const auto out = DecodeWorkload(with_status(evicted));
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(out->reserved || out->admitted);
  EXPECT_NE(evicted.find(R"("type":"Evicted")"), std::string::npos);
  EXPECT_NE(evicted.find(R"("lastTransitionTime":"2026-01-01T00:00:00Z")"), std::string::npos)
      << "what did not change keeps its time";
  const auto finished =
      DecodeWorkload(with_status(FinishedWorkloadBody(*back, true, "2026-02-04T00:00:00Z")));
  EXPECT_TRUE(finished->finished);
}

TEST(Workloads, APlaceIsAskedForWrittenAndReadBackInBothVersions) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const auto text = [&](const std::string& status) {
      return R"({"apiVersion":"kueue.x-k8s.io/)" + version +
             R"(","metadata":{"name":"w","uid":"u"},"spec":{"podSets":[{"name":"main","count":2,)"
             R"("topologyRequest":{"required":"rack","podSetSliceRequiredTopology":"host",)"
             R"("podSetSliceSize":2},"template":{}}]},"status":)" +
             status + "}";
    };
    const Ask ask = *DecodeWorkload(text("{}"));
    EXPECT_EQ(ask.sets[0].topology.required, "rack");
    EXPECT_EQ(ask.sets[0].topology.slice_size, 2);
    EXPECT_TRUE(ask.sets[0].asks_for_topology);
    const Places places = {{"main", {{"rack"}, {{{"r1"}, 2}}}}};
    const std::string body =
        AdmitWorkloadBody(ask, "cq", {}, {}, places, false, "2026-02-02T00:00:00Z");
    const std::string at = "/status/admission/podSetAssignments/0/topologyAssignment";
    EXPECT_EQ(
        At(body, (at + (version == "v1beta1" ? "/domains/0/count" : "/slices/0/universalPodCount"))
                     .c_str()),
        "2");
    EXPECT_EQ(DecodeWorkload(text(At(body, "/status")))->places, places);
  }
}

TEST(QueuedJobs, RememberWithWhatTheyWereLetIn) {
  const std::string job =
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"ml","uid":"u",)"
      R"("resourceVersion":"9","labels":{"kueue.x-k8s.io/queue-name":"q"}},)"
      R"("spec":{"suspend":true,"parallelism":6,"completions":4,"template":{"spec":{"containers":[)"
      R"({"name":"c","resources":{"requests":{"cpu":"1"}}}],"priorityClassName":"high"}}}})";
  const auto ask = DecodeQueuedJob(job);
  ASSERT_TRUE(ask.ok()) << ask.error().ToString();
  EXPECT_EQ(ask->queue, "ml/q");
  EXPECT_EQ(ask->sets[0].count, 4);
  EXPECT_EQ(ask->priority_class, "pod/high");
  EXPECT_FALSE(ask->runs || ask->reserved);
  const std::string body =
      AdmitJobBody(*ask, "cq", {{"main", {{"cpu", "f"}}}}, {{{"gpu", "h100"}}, {}});
  EXPECT_EQ(At(body, "/spec/suspend"), "false");
  EXPECT_EQ(At(body, "/spec/template/spec/nodeSelector/gpu"), "h100");
  const std::string note = At(body, "/metadata/annotations/muster.dev~1admission");
  EXPECT_EQ(At(note, "/flavors/cpu"), "f");
  Ask running = *ask;
  const auto read_back = DecodeQueuedJob(
      R"({"metadata":{"name":"j","namespace":"ml","uid":"u","annotations":)" +
      At(body, "/metadata/annotations") + R"(},"spec":{"suspend":false,"template":{}}})");
  ASSERT_TRUE(read_back.ok());
  EXPECT_TRUE(read_back->reserved && read_back->runs);
  EXPECT_EQ(read_back->flavors.at("main").at("cpu"), "f");
  EXPECT_EQ(At(HoldJobBody(*read_back), "/metadata/annotations/muster.dev~1admission"), "null");
  EXPECT_EQ(At(HoldJobBody(*ask), "/spec/suspend"), "true");
}

TEST(QueuedJobs, WhatAFlavorGaveThePodsGoesWithTheNextFlavorAndTheirOwnStays) {
  const auto job = [](const std::string& annotations, const std::string& select) {
    return *DecodeQueuedJob(
        R"({"metadata":{"name":"j","namespace":"ml","uid":"u","annotations":{)" + annotations +
        R"(},"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":true,"template":{"spec":)"
        R"({"tolerations":[{"key":"own","operator":"Exists"}],"nodeSelector":{)" +
        select + "}}}}}");
  };
  const PodUpdate h100 = {{{"gpu", "h100"}}, {{"spot", "Exists", "", "NoSchedule"}}};
  const std::string first = AdmitJobBody(job("", R"("disk":"ssd")"), "cq", {}, h100);
  EXPECT_EQ(At(first, "/spec/template/spec/nodeSelector/gpu"), "h100");
  EXPECT_EQ(At(first, "/spec/template/spec/tolerations/0/key"), "own");
  EXPECT_EQ(At(first, "/spec/template/spec/tolerations/1/key"), "spot");
  EXPECT_EQ(At(first, "/metadata/annotations/muster.dev~1given-node-labels"), R"({"gpu":"h100"})");
  const Ask evicted =
      job(R"("muster.dev/given-node-labels":"{\"gpu\":\"h100\"}")", R"("disk":"ssd","gpu":"h100")");
  EXPECT_EQ(evicted.sets[0].select, (std::map<std::string, std::string>{{"disk", "ssd"}}));
  const std::string second = AdmitJobBody(evicted, "cq", {}, {{{"zone", "b"}}, {}});
  EXPECT_EQ(At(second, "/spec/template/spec/nodeSelector/gpu"), "null");
  EXPECT_EQ(At(second, "/spec/template/spec/nodeSelector/zone"), "b");
  EXPECT_EQ(AdmitJobBody(job("", ""), "cq", {}, {}).find("template"), std::string::npos);
}

}  // namespace
}  // namespace muster::kueue
