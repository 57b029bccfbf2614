#include "render/job_request.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "render/render.h"

namespace muster::render {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JobRequest Small() {
  JobRequest request;
  request.name = "llm";
  request.image = "registry.example/llm@sha256:0";
  Group group;
  group.pods = 2;
  group.gpus = 8;
  group.command = {"train.py"};
  request.groups.push_back(group);
  return request;
}

TEST(Shape, IsPodsTimesGpusTimesModel) {
  const auto shape = ParseShape("2x8xH100");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->pods, 2);
  EXPECT_EQ(shape->gpus, 8);
  EXPECT_EQ(shape->gpu, "H100");
  EXPECT_EQ(ParseShape("4")->gpus, 0);
}

TEST(Shape, OfAnythingElseIsRefused) {
  for (const char* text : {"", "x", "0x8", "2x", "2x8x", "2x8xH100x1", "2x-1", "99999", "2x8x\n"})
    EXPECT_FALSE(ParseShape(text).ok()) << text;
}

TEST(Dialect, NamesAreReadBack) {
  for (const Dialect d :
       {Dialect::kJob, Dialect::kJobSet, Dialect::kVolcano, Dialect::kKueue, Dialect::kSbatch})
    EXPECT_EQ(*ParseDialect(ToString(d)), d);
  EXPECT_FALSE(ParseDialect("slurm").ok());
}

TEST(CheckRequest, NamesEveryMistakeAtOnce) {
  JobRequest request = Small();
  request.name = "Big_Name";
  request.image = "";
  request.labels["bad key"] = "x";
  const Status status = CheckRequest(request);
  ASSERT_FALSE(status.ok());
  for (const char* part : {"Big_Name", "--image", "bad key"})
    EXPECT_NE(status.error().message.find(part), std::string::npos) << part;
}

TEST(CheckRequest, RefusesWhatADialectCannotSay) {
  JobRequest two = Small();
  two.groups.push_back(two.groups[0]);
  two.groups[1].name = "rollout";
  EXPECT_FALSE(CheckRequest(two).ok());
  two.dialect = Dialect::kVolcano;
  EXPECT_TRUE(CheckRequest(two).ok());
  JobRequest kueue = Small();
  kueue.dialect = Dialect::kKueue;
  EXPECT_FALSE(CheckRequest(kueue).ok());
  JobRequest script = Small();
  script.dialect = Dialect::kSbatch;
  EXPECT_FALSE(CheckRequest(script).ok());
}

TEST(CheckRequest, LetsTheTwinOfTheLongestNameThrough) {
  JobRequest request = Small();
  request.name = std::string(35, 'a');
  ASSERT_TRUE(CheckRequest(request).ok());
  EXPECT_TRUE(CheckRequest(CheapTwin(request)).ok());
  request.name += "a";
  EXPECT_FALSE(CheckRequest(request).ok());
}

TEST(Render, GivesTheSameBytesForTheSameRequest) {
  EXPECT_EQ(Render(Small())->Text(), Render(Small())->Text());
}

TEST(Render, PutsTheServiceBeforeTheJobAndNoServiceBesideOnePod) {
  const auto two = Render(Small());
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->objects.size(), 2u);
  EXPECT_EQ(two->objects[0].kind, "Service");
  EXPECT_FALSE(two->objects[0].is_workload);
  EXPECT_TRUE(two->objects[1].is_workload);
  JobRequest one = Small();
  one.groups[0].pods = 1;
  EXPECT_EQ(Render(one)->objects.size(), 1u);
}

TEST(Render, PodsOfAJobAreOneGangToMustersSchedulerByLabelOrByTheirQueue) {
  JobRequest request = Small();
  request.queue.clear();
  const std::string labelled = Render(request)->Text();
  EXPECT_THAT(labelled, HasSubstr("muster.dev/gang: " + request.name));
  EXPECT_THAT(labelled, HasSubstr(fmt::format("muster.dev/gang-size: \"{}\"", request.Pods())));
  request.queue = "research";
  const std::string queued = Render(request)->Text();
  EXPECT_THAT(queued, Not(HasSubstr("muster.dev/gang")));
  EXPECT_THAT(queued, HasSubstr("kueue.x-k8s.io/queue-name: research"));
}

TEST(Render, TheWaitForRankZeroEndsAndTheServicePublishesPodsThatAreNotReady) {
  const std::string text = Render(Small())->Text();
  EXPECT_NE(text.find("publishNotReadyAddresses: true"), std::string::npos);
  EXPECT_NE(text.find("until getent hosts llm-0.llm; do"), std::string::npos);
  EXPECT_NE(text.find("-ge 300 ]"), std::string::npos);
}

TEST(CheapTwin, AsksForTheSameAndRunsOnlyChecks) {
  JobRequest request = Small();
  request.devices = {{"rdma/ib", 1}};
  request.checkpoint_claim = "c";
  request.checkpoint_path = "/c/llm";
  const JobRequest twin = CheapTwin(request);
  EXPECT_EQ(twin.name, "llm-twin");
  EXPECT_EQ(twin.groups[0].gpus, 8);
  EXPECT_EQ(twin.devices, request.devices);
  EXPECT_EQ(*twin.limit_s, 600);
  const std::string& script = twin.groups[0].command[2];
  for (const char* part : {"getent hosts llm-twin-0.llm-twin", "nvidia-smi -L", "/dev/infiniband",
                           "checkpoints can be written"})
    EXPECT_NE(script.find(part), std::string::npos) << part;
}

TEST(Render, ACommandCannotLeaveItsWordInAScript) {
  JobRequest request = Small();
  request.dialect = Dialect::kSbatch;
  request.limit_s = 3600;
  request.groups[0].command = {"train.py", "--note=it's; rm -rf /"};
  const std::string text = Render(request)->Text();
  EXPECT_NE(text.find("'--note=it'\\''s; rm -rf /'"), std::string::npos);
}

}  // namespace
}  // namespace muster::render
