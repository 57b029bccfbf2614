// Gangs whose output is read, against an API server in memory; this file plays the controller, the
// scheduler and the kubelets.
#include "backend/kubernetes/working_gang.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "kube/testing/fake_place.h"

namespace muster::kubernetes {
namespace {

using kube::testing::FakePlace;
using kube::testing::Fault;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kEnded =
    R"(,"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}])";

struct Stage {
  FakePlace place;
  ClusterJobsOptions options;
  GangSpec spec;
  std::map<std::string, std::string> logs;  // pod -> text; absent: the kubelet does not answer
  std::vector<std::string> bound;           // "w-0 n1"
  std::string may_not;                      // what the API server says of logs, instead
  std::map<int, std::string> stopped;       // pod's index -> its init container's last words
  std::string phase_after = "Succeeded", status_after = kEnded, reason_after;
  bool kubelet = true;  // pods that are bound end

  Stage() {
    options.image = "i@sha256:0";
    options.start_within = std::chrono::seconds(60);
    spec.name = "run-1-sweep";
    spec.nodes = {"n1", "n2"};
    spec.ranks_per_node = 2;
    spec.argv = {"work"};
    spec.pod_a_node = spec.exactly_there = true;
    const std::string name = ProofName(spec.name);
    for (int pod = 0; pod < 2; ++pod) {
      std::string text;
      for (int rank = 2 * pod; rank < 2 * pod + 2; ++rank)
        text += fmt::format(
            "{0} {1} @{0} begin 100.{1}\n{0} {1} busbw {1}\n{0} {1} \n{0} {1} @{0} end 0\n", name,
            rank);
      logs[fmt::format("w-{}", pod)] = text;
    }
    place.api.fault = [this](const kube::Exchange& exchange) { return Answer(exchange); };
  }

  Fault Answer(const kube::Exchange& exchange) {
    const std::string pods = "/api/v1/namespaces/default/pods/";
    if (!StartsWith(exchange.path, pods)) return {};
    const std::string rest = exchange.path.substr(pods.size());
    const std::string pod = rest.substr(0, rest.find('/'));
    if (exchange.method == "POST" && Contains(rest, "/binding")) {
      const std::string node = Json::parse(exchange.body)["target"]["name"];
      bound.push_back(pod + " " + node);
      const int index = pod.back() - '0';
      if (stopped.contains(index)) {
        Rewrite(
            index, node, "Failed",
            fmt::format(R"(,"initContainerStatuses":[{{"name":"wait-for-rank-0","state":)"
                        R"({{"terminated":{{"exitCode":1,"reason":"Error","message":"{}"}}}}}}])",
                        stopped[index]));
      } else if (kubelet) {
        const std::string why = reason_after.empty()
                                    ? ""
                                    : fmt::format(R"(,"reason":"{}","message":"m")", reason_after);
        Rewrite(index, node, phase_after, status_after + why);
      } else {
        Rewrite(index, node, "Pending", status_after);
      }
      return {Fault::Kind::kRefuse, 201, R"({"kind":"Status","status":"Success"})", {}, 0};
    }
    if (exchange.method == "GET" && Contains(rest, "/log")) {
      if (!may_not.empty()) return {Fault::Kind::kRefuse, 403, may_not, {}, 0};
      if (!logs.contains(pod))
        return {Fault::Kind::kRefuse,
                404,
                R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,)"
                R"("message":"pods \"w-1\" not found"})",
                {},
                0};
      return {Fault::Kind::kRefuse, 200, logs[pod], {}, 0};
    }
    return {};
  }
  void Rewrite(int index, const std::string& node, const std::string& phase,
               const std::string& more) {
    place.api.Put(kube::kPods, "default", fmt::format("w-{}", index),
                  fmt::format(R"("spec":{{"nodeName":"{}","containers":[{{"name":"main"}}]}},)"
                              R"("status":{{"phase":"{}"{}}})",
                              node, phase, more));
  }

  Result<GangResult> Watch() {
    const auto request = WorkingRequest(options, spec);
    EXPECT_TRUE(request.ok());
    return WatchWorking(place.client, options, spec, *request);
  }
};

// The index of a pod is told by its name where the annotation is not there, as for Volcano's tasks.
void Make(Stage& stage, const std::string& node = "") {
  for (int i = 0; i < 2; ++i) {
    stage.place.api.Put(
        kube::kPods, "default", fmt::format("w-{}", i),
        fmt::format(
            R"("spec":{{{}"containers":[{{"name":"main"}}]}},"status":{{"phase":"Pending"}})",
            node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node)));
  }
}

TEST(WorkingGang, IsBoundToItsNodesInOrderAndItsOutputComesBack) {
  Stage stage;
  Make(stage);
  const auto result = stage.Watch();
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_THAT(stage.bound, ElementsAre("w-0 n1", "w-1 n2"));
  ASSERT_EQ(result->ranks.size(), 4u);
  EXPECT_TRUE(result->all_started);
  EXPECT_EQ(result->ranks[3].rank, 3);
  EXPECT_EQ(result->ranks[3].node, "n2");
  EXPECT_EQ(result->ranks[3].result.out, "busbw 3\n");
  EXPECT_EQ(result->ranks[3].result.exit_code, 0);
  EXPECT_NEAR(Seconds(result->ranks[3].started_after), 0.3, 1e-6);
}

TEST(WorkingGang, ALogThatIsCutOrMissingIsNoEvidence) {
  for (const bool missing : {true, false}) {
    Stage stage;
    Make(stage);
    std::string& text = stage.logs["w-1"];
    text.resize(text.size() - 5);
    if (missing) stage.logs.erase("w-1");
    const auto result = stage.Watch();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kUnavailable);
    EXPECT_THAT(result.error().ToString(), HasSubstr("w-1"));
    EXPECT_THAT(result.error().ToString(), HasSubstr(missing ? "not whole" : "the end of rank 3"));
  }
}

TEST(WorkingGang, ARankThatFailedExplainsTheOthersSilence) {
  Stage stage;
  Make(stage);
  const std::string name = ProofName(stage.spec.name);
  std::string& text = stage.logs["w-0"];
  text.replace(text.rfind("end 0"), 5, "end 7");
  stage.logs.erase("w-1");
  const auto result = stage.Watch();
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_FALSE(result->all_started) << "two ranks said nothing";
  ASSERT_EQ(result->ranks.size(), 2u);
  EXPECT_EQ(result->ranks[1].result.exit_code, 7);
}

TEST(WorkingGang, WhoMayNotReadLogsIsToldAtOnce) {
  Stage stage;
  Make(stage);
  stage.may_not =
      R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":)"
      R"("pods \"w-0\" is forbidden: User \"u\" cannot get resource \"pods/log\""})";
  const auto began = stage.place.client.clock().Monotonic();
  const auto result = stage.Watch();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kPermission);
  EXPECT_THAT(result.error().ToString(), HasSubstr("the output of pod w-0"));
  EXPECT_LT(stage.place.client.clock().Monotonic() - began, std::chrono::seconds(10));
}

TEST(WorkingGang, APodThatNeverFoundRankZeroSaysSo) {
  for (const int code : {0, 7}) {
    Stage stage;
    Make(stage);
    stage.stopped[1] = "w-0.w has no address after 120 s";
    std::string& text = stage.logs["w-0"];
    text.replace(text.rfind("end 0"), 5, fmt::format("end {}", code));
    const auto result = stage.Watch();
    if (code == 0) {
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code, Code::kUnavailable);
      EXPECT_THAT(result.error().ToString(),
                  HasSubstr("w-1 on n2 is not whole: its container wait-for-rank-0 ended with exit "
                            "code 1: w-0.w has no address after 120 s"));
      continue;
    }
    ASSERT_TRUE(result.ok()) << "rank 0's failure says why: " << result.error().ToString();
    EXPECT_FALSE(result->all_started);
    EXPECT_EQ(result->ranks.back().result.exit_code, 7);
  }
}

TEST(WorkingGang, AKubeletsRefusalIsNamed) {
  Stage stage;
  Make(stage);
  stage.phase_after = "Failed";
  stage.status_after = "";
  stage.reason_after = "TopologyAffinityError";
  const auto result = stage.Watch();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kRefused);
  EXPECT_THAT(result.error().ToString(), HasSubstr("refused by n1: TopologyAffinityError"));
}

TEST(WorkingGang, WhatItsContainerWaitsForIsNamed) {
  Stage stage;
  Make(stage);
  stage.kubelet = false;
  stage.status_after =
      R"(,"containerStatuses":[{"name":"main","state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}])";
  const auto result = stage.Watch();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kTimeout);
  EXPECT_THAT(result.error().ToString(), HasSubstr("ImagePullBackOff: no such image"));
}

TEST(WorkingGang, ThatNobodyPlacesIsRefusedWithTheSchedulersWord) {
  Stage stage;
  stage.spec.exactly_there = false;
  for (int i = 0; i < 2; ++i) {
    stage.place.api.Put(
        kube::kPods, "default", fmt::format("w-{}", i),
        R"("spec":{"containers":[{"name":"main"}]},"status":{"phase":"Pending","conditions":)"
        R"([{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/2 nodes"}]})");
  }
  const auto result = stage.Watch();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kRefused);
  EXPECT_THAT(result.error().ToString(), HasSubstr("0 of 2 pods were bound"));
  EXPECT_THAT(result.error().ToString(), HasSubstr("0/2 nodes"));
}

TEST(WorkingGang, OnANodeOfNoScopeMeasuresNothing) {
  Stage stage;
  stage.spec.exactly_there = false;
  Make(stage, "elsewhere");
  const auto result = stage.Watch();
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().ToString(), HasSubstr("not of the scope"));
}

TEST(WorkingRequest, ThatIsMeasuredIsNoSchedulers) {
  Stage stage;
  stage.options.dialect = render::Dialect::kVolcano;
  stage.options.queue = "q";
  stage.options.devices = {{"rdma/ib", 8}};
  const auto measured = WorkingRequest(stage.options, stage.spec);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->dialect, render::Dialect::kJob);
  EXPECT_EQ(measured->queue, "");
  EXPECT_EQ(measured->groups[0].pods, 2);
  EXPECT_EQ(measured->groups[0].gpus, 2) << "all of a node's ranks are one pod's";
  EXPECT_EQ(measured->devices.size(), 1u);
  stage.spec.exactly_there = false;
  EXPECT_EQ(WorkingRequest(stage.options, stage.spec)->dialect, render::Dialect::kVolcano);
}

}  // namespace
}  // namespace muster::kubernetes
