// The scheduler against the API server in memory: every call failing, killed at every write, two
// replicas.
#include "backend/kubernetes/sched/serve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_place.h"
#include "kube/testing/forbids.h"

namespace muster::kubesched {
namespace {

using kube::testing::FakePlace;
using kube::testing::Fault;

constexpr int kSize = 4;

// One scheduler with a client of its own, as a process has it. Its end is a `kill -9`: what was
// sent and not answered may or may not be done.
struct Replica {
  Replica(FakePlace& place, const std::string& identity, size_t writes_at_once = 200)
      : client(place.config, place.api, place.credentials, place.clock, place.random) {
    ServeOptions options;
    options.lease.ns = "kube-system", options.lease.name = "muster-scheduler";
    options.lease.identity = identity;
    options.writes_at_once = writes_at_once;
    serve = std::make_unique<Serve>(client, options,
                                    [this](const std::string& note) { notes += note + "\n"; });
    serve->Start();
  }
  std::string notes;
  kube::Client client;
  std::unique_ptr<Serve> serve;
};

struct Stage {
  explicit Stage(uint64_t seed = 1, int nodes = 2) : place(seed) {
    for (int i = 0; i < nodes; ++i)
      place.api.Put(kube::kNodes, "", fmt::format("n{}", i),
                    R"("status":{"allocatable":{"cpu":"96","pods":"110","nvidia.com/gpu":"8"},)"
                    R"("conditions":[{"type":"Ready","status":"True"}]})");
  }
  void Gang(const std::string& name, int size, int gpus, const std::string& labels = "") {
    for (int i = 0; i < size; ++i)
      place.api.Put(
          kube::kPods, "ml", fmt::format("{}-{}", name, i),
          fmt::format(
              R"("metadata":{{"labels":{{{}"muster.dev/gang":"{}","muster.dev/gang-size":"{}"}}}},)"
              R"("spec":{{"schedulerName":"muster","containers":[{{"name":"c","resources":)"
              R"({{"limits":{{"nvidia.com/gpu":"{}"}},"requests":{{"nvidia.com/gpu":"{}"}}}}}}]}},)"
              R"("status":{{"phase":"Pending"}})",
              labels, name, size, gpus, gpus));
  }
  void Quota(int gpus) {
    const auto put = [&](const char* plural, const char* kind, bool namespaced,
                         const std::string& name, const std::string& spec) {
      place.api.Put({"kueue.x-k8s.io", "v1beta2", plural, kind, namespaced}, namespaced ? "ml" : "",
                    name, R"("spec":{)" + spec + "}");
    };
    put("resourceflavors", "ResourceFlavor", false, "any", "");
    put("localqueues", "LocalQueue", true, "team", R"("clusterQueue":"team")");
    put("clusterqueues", "ClusterQueue", false, "team",
        fmt::format(R"("namespaceSelector":{{}},"resourceGroups":[{{"coveredResources":)"
                    R"(["nvidia.com/gpu"],"flavors":[{{"name":"any","resources":[{{"name":)"
                    R"("nvidia.com/gpu","nominalQuota":{}}}]}}]}}])",
                    gpus));
  }
  // Where the server says that the gang's pods are.
  std::vector<std::string> Nodes(const std::string& gang, int size) {
    std::vector<std::string> nodes;
    for (int i = 0; i < size; ++i) {
      const auto body =
          place.client.Ask(kube::Get(kube::kPods, "ml", fmt::format("{}-{}", gang, i)));
      if (!body.ok()) continue;
      const std::string node = kube::ValueAt(*body, "/spec/nodeName").value_or("");
      if (!node.empty()) nodes.push_back(node);
    }
    return nodes;
  }
  // True when `done` came to be within so many turns.
  static bool Turns(const std::vector<Replica*>& replicas, const std::function<bool()>& done,
                    int turns = 6000) {
    for (int i = 0; i < turns; ++i) {
      if (done()) return true;
      for (Replica* replica : replicas) replica->serve->Turn(std::chrono::milliseconds(200));
    }
    return done();
  }
  size_t Count(const std::string& part) const {
    size_t count = 0;
    for (const std::string& asked : place.api.asked())
      count += asked.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  FakePlace place;
};

TEST(Serve, BindsWholeGangsAndNothingOfTheOthers) {
  Stage stage;
  stage.Gang("fits", kSize, 4);
  stage.Gang("large", 3, 8);
  Replica one(stage.place, "one");
  ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->idle(); })) << one.notes;
  EXPECT_EQ(stage.Nodes("fits", kSize).size(), 4u) << one.notes;
  EXPECT_EQ(stage.Nodes("large", 3).size(), 0u);
  EXPECT_EQ(stage.Count("/binding"), 4u);
  EXPECT_EQ(stage.Count("POST /api/v1/namespaces/ml/events"), 1u) << "one event a gang";
  EXPECT_EQ(stage.Count("/status"), 0u);
}

// The bindings of one gang take a slow server longer than a lease lives.
TEST(Serve, ALongRowOfBindingsDoesNotHoldUpTheLease) {
  constexpr int kNodes = 50, kRanks = 400;
  Stage stage(1, kNodes);
  stage.Gang("long", kRanks, 1);
  stage.place.api.fault = [&](const kube::Exchange&) {
    stage.place.clock.Advance(std::chrono::milliseconds(40));
    return Fault{};
  };
  Replica replica(stage.place, "a", 20);
  const Duration began = stage.place.clock.Monotonic();
  for (int i = 0; i < 100000 && replica.serve->stats().bound < kRanks; ++i)
    replica.serve->Turn(std::chrono::milliseconds(100));
  EXPECT_GT(stage.place.clock.Monotonic() - began, std::chrono::seconds(15));
  EXPECT_EQ(replica.serve->stats().bound, static_cast<uint64_t>(kRanks));
  EXPECT_EQ(replica.serve->stats().failed + replica.serve->stats().conflicts, 0u);
  EXPECT_EQ(replica.notes.find("not leading"), std::string::npos) << replica.notes;
}

// Two writes at once, four gangs decided, and their quota is lowered to what the first one has.
TEST(Serve, WhatWaitsForItsTurnIsDecidedAgainWhenItsQuotaIsLowered) {
  for (const bool lowered : {false, true}) {
    Stage stage(1, 4);
    stage.Quota(32);
    for (const char* name : {"a", "b", "c", "d"})
      stage.Gang(name, kSize, 2, R"("kueue.x-k8s.io/queue-name":"team",)");
    Replica one(stage.place, "one", 2);
    ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->stats().bound > 0; })) << one.notes;
    EXPECT_EQ(one.serve->core()->stats().gangs_placed, 4u) << one.notes;
    if (lowered) stage.Quota(8);
    ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->idle(); })) << one.notes;
    EXPECT_EQ(one.serve->stats().bound, lowered ? 4u : 16u) << one.notes;
    EXPECT_EQ(one.serve->stats().deleted, 0u);
  }
}

// The connection breaks; pods are followed again at once, the queues' watch is refused a while.
TEST(Serve, AQuotaLoweredWhileTheQueuesCannotBeFollowedIsNotOverlooked) {
  for (const int refused_s : {10, 3600}) {
    Stage stage(1, 4);
    stage.Quota(32);
    stage.Gang("a", kSize, 2, R"("kueue.x-k8s.io/queue-name":"team",)");
    Replica one(stage.place, "one");
    ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->idle(); })) << one.notes;
    ASSERT_EQ(one.serve->stats().bound, 4u);
    const Duration broke = stage.place.clock.Monotonic();
    stage.place.api.fault = [&](const kube::Exchange& exchange) {
      const bool queues = exchange.path.find("/clusterqueues") != std::string::npos;
      const bool refused =
          queues && stage.place.clock.Monotonic() - broke < std::chrono::seconds(refused_s);
      return refused ? Fault{Fault::Kind::kRefuse, 503} : Fault{};
    };
    stage.place.api.BreakWatches();
    stage.Quota(8);
    stage.Gang("b", kSize, 2, R"("kueue.x-k8s.io/queue-name":"team",)");
    const auto passed = [&] { return stage.place.clock.Monotonic() - broke; };
    ASSERT_TRUE(Stage::Turns({&one}, [&] { return passed() > std::chrono::seconds(25); }));
    EXPECT_EQ(one.serve->stats().bound, 4u) << one.notes;
    EXPECT_EQ(one.notes.find("deciding by what was known"), std::string::npos) << one.notes;
    ASSERT_TRUE(Stage::Turns({&one}, [&] { return passed() > std::chrono::seconds(90); }));
    const bool heard = refused_s < 30;
    EXPECT_EQ(one.serve->stats().bound, heard ? 4u : 8u) << "a broken kind stops nobody for ever";
    EXPECT_EQ(one.notes.find("clusterqueues.kueue.x-k8s.io cannot be followed for 30") ==
                  std::string::npos,
              heard)
        << one.notes;
  }
}

TEST(Serve, WhatComesLaterIsPlacedToo) {
  Stage stage;
  Replica one(stage.place, "one");
  ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->idle(); }));
  stage.Gang("a", kSize, 4);
  ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->stats().bound == 4; })) << one.notes;
}

TEST(Serve, EveryCallMayFailAndTheGangIsWholeInTheEnd) {
  const auto lose = [](Fault::Kind kind, int nth) {
    Stage stage(static_cast<uint64_t>(nth) + 1);
    stage.Gang("a", kSize, 4);
    int seen = 0;
    stage.place.api.fault = [&](const kube::Exchange&) {
      Fault fault;
      if (++seen != nth) return fault;
      fault.kind = kind;
      fault.status = 500;
      return fault;
    };
    Replica one(stage.place, "one");
    const bool ended = Stage::Turns({&one}, [&] {
      return one.serve->stats().bound == kSize || (one.serve->idle() && seen > nth);
    });
    EXPECT_TRUE(ended) << nth << " " << one.notes;
    Stage::Turns({&one}, [&] { return one.serve->idle(); }, 200);
    EXPECT_EQ(stage.Nodes("a", kSize).size(), 4u) << nth << " " << one.notes;
    return seen >= nth;
  };
  for (const Fault::Kind kind : {Fault::Kind::kRefuse, Fault::Kind::kBreak}) {
    int nth = 1;
    while (nth < 60 && lose(kind, nth)) ++nth;
    EXPECT_GT(nth, 15) << "so many calls there are at least";
  }
}

TEST(Serve, KilledAtEveryWriteNoGangStaysHalfBound) {
  for (int kill_at = 1; kill_at <= 2 * kSize + 2; ++kill_at) {
    Stage stage(static_cast<uint64_t>(kill_at) + 100, 3);
    stage.Gang("a", kSize, 4);
    stage.Gang("b", 2, 4);
    stage.Gang("never", 7, 8);
    int writes = 0;
    stage.place.api.fault = [&](const kube::Exchange& exchange) {
      writes += exchange.method != "GET" ? 1 : 0;
      return Fault{};
    };
    {
      Replica first(stage.place, "first");
      Stage::Turns({&first}, [&] { return writes >= kill_at || first.serve->idle(); });
    }
    Replica second(stage.place, "second");
    ASSERT_TRUE(Stage::Turns({&second}, [&] { return second.serve->idle(); })) << second.notes;
    EXPECT_EQ(stage.Nodes("a", kSize).size(), 4u) << kill_at;
    EXPECT_EQ(stage.Nodes("b", 2).size(), 2u) << kill_at;
    EXPECT_EQ(stage.Nodes("never", 7).size(), 0u) << kill_at;
    std::map<std::string, int> used;
    for (const std::string& gang : {std::string("a"), std::string("b")}) {
      for (const std::string& node : stage.Nodes(gang, kSize)) used[node] += 4;
    }
    for (const auto& [node, gpus] : used) EXPECT_LE(gpus, 8) << node << " " << kill_at;
  }
}

// Half of it is bound and the rest has no room: it leaves whole, wherever that is broken off.
TEST(Serve, KilledAtEveryRemovalAGangThatCannotBeWholeLeavesWhole) {
  for (int kill_at = 1; kill_at <= 4; ++kill_at) {
    Stage stage(static_cast<uint64_t>(kill_at) + 200, 2);
    const auto put = [&](const std::string& name, const std::string& labels,
                         const std::string& node) {
      stage.place.api.Put(
          kube::kPods, "ml", name,
          fmt::format(
              R"("metadata":{{"labels":{{{}}}}},"spec":{{"schedulerName":"{}","nodeName":"{}",)"
              R"("containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"4"}},)"
              R"("requests":{{"nvidia.com/gpu":"4"}}}}}}]}},"status":{{"phase":"Pending"}})",
              labels, labels.empty() ? "other" : "muster", node));
    };
    const std::string torn = R"("muster.dev/gang":"torn","muster.dev/gang-size":"4")";
    for (int i = 0; i < 4; ++i) put(fmt::format("torn-{}", i), torn, i < 2 ? "n0" : "");
    put("thief", "", "n1");
    int writes = 0;
    stage.place.api.fault = [&](const kube::Exchange& exchange) {
      writes += exchange.method != "GET" ? 1 : 0;
      return Fault{};
    };
    {
      Replica first(stage.place, "first");
      Stage::Turns({&first}, [&] { return writes >= kill_at || first.serve->idle(); });
    }
    Replica second(stage.place, "second");
    ASSERT_TRUE(Stage::Turns({&second}, [&] { return second.serve->idle(); })) << second.notes;
    EXPECT_EQ(stage.Nodes("torn", 4).size(), 0u) << kill_at << " " << second.notes;
  }
}

TEST(Serve, OfTwoReplicasOnlyOneWrites) {
  Stage stage;
  Replica one(stage.place, "one"), two(stage.place, "two");
  stage.Gang("a", kSize, 4);
  ASSERT_TRUE(Stage::Turns(
      {&one, &two}, [&] { return one.serve->stats().bound + two.serve->stats().bound == kSize; }));
  EXPECT_NE(one.serve->leading(), two.serve->leading());
  EXPECT_EQ(stage.Count("/binding"), static_cast<size_t>(kSize));
  EXPECT_EQ((one.serve->leading() ? two : one).serve->stats().bound, 0u);
}

TEST(Serve, TheOtherReplicaGoesOnWhereTheLeaderDied) {
  Stage stage;
  auto one = std::make_unique<Replica>(stage.place, "one");
  ASSERT_TRUE(Stage::Turns({one.get()}, [&] { return one->serve->idle(); }));
  Replica two(stage.place, "two");
  stage.Gang("a", kSize, 4);
  one.reset();
  ASSERT_TRUE(Stage::Turns({&two}, [&] { return two.serve->stats().bound == kSize; })) << two.notes;
  EXPECT_EQ(stage.Nodes("a", kSize).size(), 4u);
}

TEST(Serve, WhoMayNotReadPodsSaysSoAndEnds) {
  Stage stage;
  stage.place.api.fault = kube::testing::Forbids("/pods");
  Replica one(stage.place, "one");
  ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->fatal().has_value(); }));
  EXPECT_EQ(one.serve->fatal()->code, Code::kPermission);
}

TEST(Serve, NothingIsWrittenWhileNothingHappens) {
  Stage stage;
  stage.Gang("large", 3, 8);
  Replica one(stage.place, "one");
  ASSERT_TRUE(Stage::Turns({&one}, [&] { return one.serve->idle(); }));
  Stage::Turns({&one}, [] { return false; }, 600);
  size_t writes = 0, leases = 0;
  for (const std::string& asked : stage.place.api.asked()) {
    if (asked.starts_with("GET")) continue;
    ++(asked.find("/leases") != std::string::npos ? leases : writes);
  }
  EXPECT_EQ(writes, 1u) << "that it waits, and why, is said once";
  EXPECT_GT(leases, 0u);
}

TEST(GangEvent, UntrustedTextsStayInsideTheirStrings) {
  SayGang say;
  say.about = {"ml", "p", "u", "1"};
  say.gang = "ml/a\"},{\"x";
  say.reason = "GangWaiting";
  say.message = "\x1b[31m\xff";
  const std::string body = kube::CreateEvent(SayingOf(say), "e", {}).body;
  EXPECT_EQ(kube::ValueAt(body, "/involvedObject/name"), "p");
  EXPECT_TRUE(kube::ValueAt(body, "/message")->starts_with("ml/a\"},{\"x: "));
}

TEST(GroupStatus, EachDialectHasItsOwnWords) {
  SayGang say;
  say.is_pod = false;
  say.reason = "GangScheduled";
  say.dialect = Dialect::kNative;
  EXPECT_EQ(kube::ValueAt(GroupStatusBody(say, "t"), "/status/conditions/0/type"),
            "PodGroupInitiallyScheduled");
  say.dialect = Dialect::kVolcano;
  EXPECT_EQ(kube::ValueAt(GroupStatusBody(say, "t"), "/status/phase"), "Running");
  say.dialect = Dialect::kCoscheduling;
  EXPECT_EQ(kube::ValueAt(GroupStatusBody(say, "t"), "/status/phase"), "Scheduled");
  say.dialect = Dialect::kJob;
  EXPECT_EQ(GroupStatusBody(say, "t"), "");
}

}  // namespace
}  // namespace muster::kubesched
