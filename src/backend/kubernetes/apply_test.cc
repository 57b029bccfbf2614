#include "backend/kubernetes/apply.h"

#include <deque>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "world/random.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::submit {
namespace {

using Json = nlohmann::json;

// An API server of a few lines: objects by path, server-side apply as a replacement, and one write
// that goes wrong in a way of its own.
class SmallCluster final : public kube::Transport {
 public:
  enum class Wrong { kNothing, kForbidden, kSilentBefore, kSilentAfter };
  std::map<std::string, Json> objects;
  int writes = 0, wrong_at = -1;
  Wrong wrong = Wrong::kNothing;

  uint64_t Start(kube::Exchange exchange, kube::ExchangeEvents events) override {
    waiting_.push_back({std::move(exchange), std::move(events)});
    return ++last_;
  }
  void Cancel(uint64_t) override {}
  void UseTls(const kube::TlsIdentity&) override {}
  void Poll(Duration) override {
    if (waiting_.empty()) return;
    auto [exchange, events] = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string path = exchange.path.substr(0, exchange.path.find('?'));
    const bool dry = exchange.path.find("dryRun=All") != std::string::npos;
    const bool write = exchange.method != "GET" && !dry;
    const bool goes_wrong = write && writes++ == wrong_at;
    if (goes_wrong && wrong == Wrong::kSilentBefore) return Silence(events);
    if (goes_wrong && wrong == Wrong::kForbidden) return Say(events, 403, Status(403, "Forbidden"));
    const auto [status, body] = Answer(exchange, path, dry);
    if (goes_wrong && wrong == Wrong::kSilentAfter) return Silence(events);
    Say(events, status, body);
  }

 private:
  static std::string Status(int code, const std::string& reason) {
    return fmt::format(
        R"({{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{}","code":{},"message":"{}"}})",
        reason, code, reason);
  }
  std::pair<int, std::string> Answer(const kube::Exchange& exchange, const std::string& path,
                                     bool dry) {
    const auto found = objects.find(path);
    if (exchange.method == "GET") {
      if (found == objects.end()) return {404, Status(404, "NotFound")};
      return {200, found->second.dump()};
    }
    if (exchange.method == "DELETE") {
      if (found == objects.end()) return {404, Status(404, "NotFound")};
      objects.erase(found);
      return {200, "{}"};
    }
    Json object = Json::parse(exchange.body);
    object["metadata"]["uid"] = found == objects.end()
                                    ? fmt::format("uid-{}", writes)
                                    : found->second["metadata"]["uid"].get<std::string>();
    if (!dry) objects[path] = object;
    return {200, object.dump()};
  }
  static void Say(const kube::ExchangeEvents& events, int status, const std::string& body) {
    events.head({status, {{"content-type", "application/json"}}});
    events.body(body);
    events.end({});
  }
  static void Silence(const kube::ExchangeEvents& events) {
    events.end(Fail(Code::kUnavailable, "the connection ended"));
  }

  std::deque<std::pair<kube::Exchange, kube::ExchangeEvents>> waiting_;
  uint64_t last_ = 0;
};

struct Place {
  Place() : credentials(Config(), clock, files, processes) {}
  static kube::ClusterConfig Config() {
    kube::ClusterConfig config;
    config.server = "https://fake:6443";
    return config;
  }
  muster::testing::FakeClock clock;
  muster::testing::MemoryFiles files;
  muster::testing::ScriptedProcesses processes;
  SeededRandom random{1};
  SmallCluster api;
  kube::ClusterConfig config = Config();
  kube::Credentials credentials;
  kube::Client client{config, api, credentials, clock, random};
};

render::RenderedJob TwoRanks() {
  render::JobRequest request;
  request.name = "llm";
  request.image = "i@sha256:0";
  render::Group group;
  group.pods = 2;
  group.command = {"train.py"};
  request.groups.push_back(group);
  return *render::Render(request);
}

const char* const kService = "/api/v1/namespaces/default/services/llm";
const char* const kJob = "/apis/batch/v1/namespaces/default/jobs/llm";

TEST(ApplyAll, MakesTheServiceThenTheJobAndTiesThem) {
  Place place;
  const auto applied = ApplyAll(place.client, TwoRanks());
  ASSERT_TRUE(applied.ok()) << applied.error().ToString();
  EXPECT_EQ(applied->done.size(), 2u);
  EXPECT_EQ(place.api.objects[kService]["metadata"]["ownerReferences"][0]["uid"],
            place.api.objects[kJob]["metadata"]["uid"]);
}

TEST(ApplyAll, ARefusalAtAnyWriteLeavesNothingHalfMade) {
  for (int n = 0; n < 2; ++n) {
    Place place;
    place.api.wrong = SmallCluster::Wrong::kForbidden;
    place.api.wrong_at = n;
    const auto applied = ApplyAll(place.client, TwoRanks());
    ASSERT_FALSE(applied.ok());
    EXPECT_TRUE(place.api.objects.empty()) << "write " << n;
  }
}

TEST(ApplyAll, WithoutAnAnswerTheNextTryFinishesWhateverHappened) {
  for (const auto wrong : {SmallCluster::Wrong::kSilentBefore, SmallCluster::Wrong::kSilentAfter}) {
    for (int n = 0; n < 3; ++n) {
      Place place;
      place.api.wrong = wrong;
      place.api.wrong_at = n;
      const auto first = ApplyAll(place.client, TwoRanks());
      ASSERT_FALSE(first.ok());
      EXPECT_NE(first.error().ToString().find("llm"), std::string::npos);
      const auto again = ApplyAll(place.client, TwoRanks());
      ASSERT_TRUE(again.ok()) << again.error().ToString();
      EXPECT_EQ(place.api.objects.size(), 2u);
      EXPECT_TRUE(place.api.objects[kService]["metadata"].contains("ownerReferences"));
    }
  }
}

TEST(ApplyAll, WhatWasThereBeforeIsNotTakenAway) {
  Place place;
  place.api.objects[kService] = {{"metadata", {{"name", "llm"}, {"uid", "old"}}}};
  place.api.wrong = SmallCluster::Wrong::kForbidden;
  place.api.wrong_at = 1;
  ASSERT_FALSE(ApplyAll(place.client, TwoRanks()).ok());
  EXPECT_EQ(place.api.objects.count(kService), 1u);
}

TEST(ApplyAll, AJobOfThatNameThatHasEndedIsAConflict) {
  Place place;
  place.api.objects[kJob] = Json::parse(
      R"({"metadata":{"uid":"old"},"status":{"conditions":[{"type":"Complete","status":"True"}]}})");
  const auto applied = ApplyAll(place.client, TwoRanks());
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().code, Code::kConflict);
  EXPECT_EQ(place.api.objects.count(kService), 0u);
}

TEST(Preview, ShowsNewAndChangedObjectsAndWritesNothing) {
  Place place;
  const auto before = Preview(place.client, TwoRanks());
  ASSERT_TRUE(before.ok()) << before.error().ToString();
  ASSERT_EQ(before->size(), 2u);
  EXPECT_FALSE((*before)[1].exists);
  EXPECT_NE((*before)[1].diff.find("+  completions: 2"), std::string::npos);
  EXPECT_TRUE(place.api.objects.empty());
  ASSERT_TRUE(ApplyAll(place.client, TwoRanks()).ok());
  const auto after = Preview(place.client, TwoRanks());
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE((*after)[0].exists);
  EXPECT_EQ((*after)[0].diff, "");
  EXPECT_EQ((*after)[1].diff, "");
}

TEST(RemoveAll, LooksUntilItIsGone) {
  Place place;
  ASSERT_TRUE(ApplyAll(place.client, TwoRanks()).ok());
  EXPECT_TRUE(RemoveAll(place.client, TwoRanks(), std::chrono::seconds(5)).ok());
  EXPECT_TRUE(place.api.objects.empty());
  EXPECT_TRUE(RemoveAll(place.client, TwoRanks(), std::chrono::seconds(5)).ok());
}

TEST(Look, OfAJobThatIsGoneIsNotFound) {
  Place place;
  const auto job = TwoRanks();
  const auto standing = Look(place.client, job.objects[1]);
  ASSERT_FALSE(standing.ok());
  EXPECT_EQ(standing.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace muster::submit
