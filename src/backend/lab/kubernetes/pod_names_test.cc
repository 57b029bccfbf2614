#include "backend/lab/kubernetes/pod_names.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::lab {
namespace {

constexpr Duration kMoment = std::chrono::seconds(1), kLater = std::chrono::seconds(2);
const char* const kFirst = "ddp-0.ddp.ml.svc.cluster.local";
const char* const kAll = "ddp.ml.svc.cluster.local";

NamedService Service(const std::string& name = "ddp") {
  NamedService service;
  service.meta.ns = "ml", service.meta.name = name;
  service.headless = true;
  service.selector = {{"job-name", "ddp"}};
  return service;
}
kube::Pod Rank(int index, bool ready = true, const std::string& ip = "") {
  kube::Pod pod;
  pod.meta.ns = "ml", pod.meta.name = "ddp-" + std::to_string(index) + "-x7k2p";
  pod.meta.uid = "uid-" + std::to_string(index);
  pod.meta.labels = {{"job-name", "ddp"}, {"other", "label"}};
  pod.hostname = "ddp-" + std::to_string(index), pod.subdomain = "ddp";
  pod.phase = "Running";
  pod.pod_ip = ip.empty() ? "127.64.1." + std::to_string(index + 1) : ip;
  pod.conditions.push_back({"Ready", ready ? "True" : "False", "", "", {}});
  return pod;
}
struct Records {
  DnsZone zone{{Duration::zero(), Duration::zero()}};
  PodNamesOfCluster names{zone};
  size_t Count(const std::string& name) { return zone.Find(name, kLater).addresses.size(); }
};

TEST(ClusterNames, APodBehindAHeadlessServiceHasItsOwnNameAndTheServices) {
  for (const bool service_first : {true, false}) {
    Records records;
    if (service_first) records.names.SetService(Service(), kMoment);
    records.names.SetPod(Rank(0), kMoment);
    records.names.SetPod(Rank(1), kMoment);
    if (!service_first) records.names.SetService(Service(), kMoment);
    ASSERT_EQ(records.Count(kFirst), 1u);
    EXPECT_EQ(records.zone.Find(kFirst, kLater).addresses[0], ParseIpv4("127.64.1.1"));
    EXPECT_EQ(records.Count(kAll), 2u);
  }
}

TEST(ClusterNames, APodThatIsNotReadyHasNoneUnlessItsServicePublishesIt) {
  Records records;
  records.names.SetService(Service(), kMoment);
  records.names.SetPod(Rank(0, false), kMoment);
  EXPECT_EQ(records.Count(kFirst), 0u);
  NamedService open = Service();
  open.publish_not_ready = true;
  records.names.SetService(open, kMoment);
  EXPECT_EQ(records.Count(kFirst), 1u);
  records.names.SetService(Service(), kMoment);
  EXPECT_EQ(records.Count(kFirst), 0u);
  records.names.SetPod(Rank(0), kMoment);
  EXPECT_EQ(records.Count(kFirst), 1u);
}

TEST(ClusterNames, OnlyItsSubdomainsServiceKnowsItsHostName) {
  Records records;
  records.names.SetService(Service("another"), kMoment);
  records.names.SetPod(Rank(0), kMoment);
  EXPECT_EQ(records.Count("ddp-0.another.ml.svc.cluster.local"), 0u);
  EXPECT_EQ(records.Count("127-64-1-1.another.ml.svc.cluster.local"), 1u);
  kube::Pod nameless = Rank(1);
  nameless.hostname.clear();
  records.names.SetService(Service(), kMoment);
  records.names.SetPod(nameless, kMoment);
  EXPECT_EQ(records.Count("ddp-1.ddp.ml.svc.cluster.local"), 0u);
  EXPECT_EQ(records.Count("127-64-1-2.ddp.ml.svc.cluster.local"), 1u);
}

TEST(ClusterNames, AServiceWithAnAddressOrOfOtherPodsOrWithoutASelectorNamesNobody) {
  for (int kind = 0; kind < 4; ++kind) {
    Records records;
    NamedService service = Service();
    if (kind == 0) service.headless = false;
    if (kind == 1) service.selector = {{"job-name", "other"}};
    if (kind == 2) service.selector.clear();
    if (kind == 3) service.meta.ns = "elsewhere";
    records.names.SetService(service, kMoment);
    records.names.SetPod(Rank(0), kMoment);
    EXPECT_EQ(records.zone.size(), 0u) << kind;
  }
}

TEST(ClusterNames, WhatEndsOrLeavesOrMovesIsNamedNoMore) {
  Records records;
  records.names.SetService(Service(), kMoment);
  records.names.SetPod(Rank(0), kMoment);
  records.names.SetPod(Rank(0, true, "127.64.9.9"), kMoment);
  ASSERT_EQ(records.Count(kFirst), 1u);
  EXPECT_EQ(records.zone.Find(kFirst, kLater).addresses[0], ParseIpv4("127.64.9.9"));
  kube::Pod leaving = Rank(0);
  leaving.meta.deleted = TimePoint{};
  records.names.SetPod(leaving, kMoment);
  EXPECT_EQ(records.Count(kFirst), 0u);
  kube::Pod over = Rank(1);
  over.phase = "Succeeded";
  records.names.SetPod(over, kMoment);
  records.names.SetPod(Rank(2), kMoment);
  records.names.RemovePod("uid-2", kMoment);
  records.names.RemovePod("uid-unknown", kMoment);
  EXPECT_EQ(records.zone.size(), 0u);
  records.names.SetPod(Rank(0), kMoment);
  records.names.RemoveService("ml/ddp", kMoment);
  EXPECT_EQ(records.zone.size(), 0u);
}

// Whatever the order in which Services and pods come and go, the records are those of what is there
// in the end.
RC_GTEST_PROP(ClusterNames, TheEndDoesNotDependOnTheWay, (const std::vector<uint8_t>& steps)) {
  Records records;
  std::map<int, bool> pods;
  bool service = false;
  for (const uint8_t step : steps) {
    const int index = step >> 3 & 3;
    switch (step & 7) {
      case 0:
        records.names.SetService(Service(), kMoment), service = true;
        break;
      case 1:
        records.names.RemoveService("ml/ddp", kMoment), service = false;
        break;
      case 2:
        records.names.RemovePod("uid-" + std::to_string(index), kMoment), pods.erase(index);
        break;
      default:
        pods[index] = (step & 1) != 0;
        records.names.SetPod(Rank(index, pods[index]), kMoment);
    }
  }
  size_t ready = 0;
  for (const auto& [index, is_ready] : pods) ready += is_ready ? 1 : 0;
  RC_ASSERT(records.Count(kAll) == (service ? ready : 0));
  RC_ASSERT(records.zone.size() == (service && ready > 0 ? ready + 1 : 0));
}

TEST(NamedServices, AreReadAsTheApiHasThem) {
  const auto service = DecodeNamedService(
      R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"s","namespace":"ml","uid":"u","resourceVersion":"1"},)"
      R"("spec":{"clusterIP":"None","selector":{"a":"b"},"publishNotReadyAddresses":true}})");
  ASSERT_TRUE(service.ok());
  EXPECT_TRUE(service->headless && service->publish_not_ready);
  EXPECT_EQ(service->selector.at("a"), "b");
  const auto plain = DecodeNamedService(
      R"({"metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.1","selector":7}})");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->headless || plain->publish_not_ready);
  EXPECT_TRUE(plain->selector.empty());
  EXPECT_FALSE(DecodeNamedService("no JSON").ok());
}

}  // namespace
}  // namespace muster::lab
