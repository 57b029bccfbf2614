#include "kube/client.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_place.h"

namespace muster::kube {
namespace {

using testing::FakePlace;
using testing::Fault;
using ::testing::HasSubstr;

AuthConfig TokenFile() {
  AuthConfig auth;
  auth.token_file = "/token";
  return auth;
}

Fault Refuse(int status, std::string body = {}, std::map<std::string, std::string> headers = {}) {
  Fault fault;
  fault.kind = Fault::Kind::kRefuse;
  fault.status = status;
  fault.body = std::move(body);
  fault.headers = std::move(headers);
  return fault;
}

Fault Break(size_t bytes) {
  Fault fault;
  fault.kind = Fault::Kind::kBreak;
  fault.bytes = bytes;
  return fault;
}

TEST(Client, ReadsWhatItCreates) {
  FakePlace place;
  const auto made = place.client.Ask(Create(kPods, "a", R"({"metadata":{"name":"p"}})"));
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const auto read = place.client.Ask(Get(kPods, "a", "p"));
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(*read, HasSubstr(R"("name":"p")"));
}

TEST(Client, ACallbackNeverComesBeforeAPoll) {
  FakePlace place(1, TokenFile());  // there is no such file
  bool ended = false;
  place.client.Start(Get(kPods, "a", "p"), [&](const Answer& answer) {
    ended = true;
    EXPECT_FALSE(answer.ok());
    EXPECT_THAT(answer.error->ToString(), HasSubstr("/token"));
  });
  EXPECT_FALSE(ended);
  EXPECT_TRUE(place.Until([&] { return ended; }, 5));
}

TEST(Client, A401RenewsTheTokenOnce) {
  FakePlace place(1, TokenFile());
  ASSERT_TRUE(place.files.WriteAtomic("/token", "old").has_value());
  place.api.Put(kPods, "a", "p");
  place.api.fault = [&](const Exchange& exchange) {
    if (exchange.headers.at("Authorization") != "Bearer old") return Fault{};
    EXPECT_TRUE(place.files.WriteAtomic("/token", "new").has_value());
    return Refuse(401, R"({"kind":"Status","message":"Unauthorized"})");
  };
  EXPECT_TRUE(place.client.Ask(Get(kPods, "a", "p")).ok());
  EXPECT_EQ(place.client.stats().token_renewals, 1u);
}

TEST(Client, WhileAnExecPluginRunsTimersAndTheLoopGoOn) {
  AuthConfig auth;
  auth.exec.emplace();
  auth.exec->api_version = "client.authentication.k8s.io/v1";
  auth.exec->argv = {"plugin"};
  FakePlace place(1, auth);
  place.api.Put(kPods, "a", "p");
  std::promise<void> gate;
  place.processes.On("plugin", [&](const Command&) -> Result<CommandResult> {
    gate.get_future().wait();
    CommandResult result;
    result.out = R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t"}})";
    return result;
  });
  bool rang = false, ended = false;
  place.client.Start(Get(kPods, "a", "p"), [&](const Answer& answer) {
    ended = true;
    EXPECT_TRUE(answer.ok());
  });
  place.client.After(std::chrono::seconds(1), [&] { rang = true; });
  EXPECT_TRUE(place.Until([&] { return rang; }));
  EXPECT_FALSE(ended);
  gate.set_value();
  EXPECT_TRUE(place.Until([&] { return ended; }));
  EXPECT_EQ(place.api.Token(0), "Bearer t");
}

TEST(Client, A401ThatStaysIsAnErrorWithItsFix) {
  FakePlace place(1, TokenFile());
  ASSERT_TRUE(place.files.WriteAtomic("/token", "old").has_value());
  place.api.fault = [](const Exchange&) { return Refuse(401); };
  const auto read = place.client.Ask(Get(kPods, "a", "p"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kPermission);
  EXPECT_THAT(read.error().message, HasSubstr("token file /token"));
  EXPECT_EQ(place.api.asked().size(), 1u) << "the same token is not tried again";
}

TEST(Client, A429WaitsAsLongAsTheServerSaysAndNarrowsTheWindow) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  place.clock.Advance(std::chrono::minutes(1));
  int refusals = 2;
  place.api.fault = [&](const Exchange&) {
    return refusals-- > 0 ? Refuse(429, "", {{"retry-after", "3"}}) : Fault{};
  };
  const Duration began = place.clock.Monotonic();
  const double window = place.client.window();
  EXPECT_TRUE(place.client.Ask(Bind("a", "p", "", "n")).ok()) << "a write too: it was not executed";
  EXPECT_GE(place.clock.Monotonic() - began, std::chrono::seconds(6));
  EXPECT_LT(place.client.window(), window);
  EXPECT_EQ(place.client.stats().throttled, 2u);
}

TEST(Client, PatienceEndsA429) {
  FakePlace place;
  place.api.fault = [](const Exchange&) { return Refuse(429, "", {{"retry-after", "30"}}); };
  const auto read = place.client.Ask(Get(kPods, "a", "p"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kUnavailable);
  EXPECT_LE(place.clock.slept(), std::chrono::seconds(70));
}

TEST(Client, ADisruptionBudgetsAnswerIsNotLoad) {
  FakePlace place;
  place.api.fault = [](const Exchange&) {
    return Refuse(
        429,
        R"({"kind":"Status","message":"Cannot evict pod as it would violate the pod's disruption budget.","code":429})");
  };
  const Answer answer = place.client.Await(Evict("a", "p"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.error->message, HasSubstr("disruption budget"));
  EXPECT_EQ(place.api.asked().size(), 1u);
}

TEST(Client, ABrokenReadIsRepeatedAndABrokenWriteIsNot) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  int breaks = 2;
  place.api.fault = [&](const Exchange&) { return breaks-- > 0 ? Break(3) : Fault{}; };
  EXPECT_TRUE(place.client.Ask(Get(kPods, "a", "p")).ok());
  breaks = 1;
  const auto bound = place.client.Ask(Bind("a", "p", "", "n"));
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().ToString(), HasSubstr("whether it was done is not known"));
  EXPECT_FALSE(bound.error().retryable);
}

TEST(Client, AServerErrorIsRepeatedForReadsOnly) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  int errors = 1;
  place.api.fault = [&](const Exchange&) { return errors-- > 0 ? Refuse(500, "etcd") : Fault{}; };
  EXPECT_TRUE(place.client.Ask(Get(kPods, "a", "p")).ok());
  errors = 1;
  EXPECT_FALSE(place.client.Ask(Bind("a", "p", "", "n")).ok());
}

TEST(Client, AMissingCrdAndAnUnknownVersionAreToldApart) {
  FakePlace place;
  const Resource queue{"scheduling.volcano.sh", "v1beta1", "queues", "Queue", false};
  std::string groups;
  place.api.fault = [&](const Exchange& exchange) {
    if (exchange.path == "/apis/scheduling.volcano.sh") {
      return groups.empty() ? Refuse(404, "404 page not found") : Refuse(200, groups);
    }
    return Refuse(404, "404 page not found\n");
  };
  EXPECT_THAT(place.client.Ask(List(queue, "")).error().message,
              HasSubstr("CRDs are not installed"));
  groups = R"({"kind":"APIGroup","versions":[{"groupVersion":"x/v2","version":"v2"}]})";
  EXPECT_THAT(place.client.Ask(List(queue, "")).error().message,
              HasSubstr("as v2, not as v1beta1"));
}

TEST(Client, AMissingObjectIsNoMissingApi) {
  FakePlace place;
  const Answer answer = place.client.Await(Get(kPods, "a", "nobody"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.reason, "NotFound");
  EXPECT_EQ(place.api.asked().size(), 1u) << "no discovery";
}

TEST(Client, NoMoreThanTheWindowIsUnderWay) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  int ended = 0;
  for (int i = 0; i < 1000; ++i) {
    place.client.Start(Get(kPods, "a", "p"), [&](const Answer&) { ++ended; });
  }
  EXPECT_LE(place.api.asked().size(), 256u);
  EXPECT_TRUE(place.Until([&] { return ended == 1000; }));
  EXPECT_EQ(place.client.open_calls(), 0u);
}

TEST(Client, AnUrgentCallWaitsForNobody) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  for (int i = 0; i < 1000; ++i) place.client.Start(Get(kPods, "a", "p"), [](const Answer&) {});
  Request urgent = Get(kLeases, "a", "lease");
  urgent.urgent = true;
  place.client.Start(urgent, [](const Answer&) {});
  EXPECT_THAT(place.api.asked().back(), HasSubstr("leases"));
}

TEST(Client, WhatWaitedForItsTurnBeyondItsTimeIsNotSent) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  place.api.fault = [&](const Exchange&) {
    place.clock.Advance(std::chrono::milliseconds(100));
    return Fault{};
  };
  int done = 0, unsent = 0;
  const Duration began = place.clock.Monotonic();
  for (int i = 0; i < 1000; ++i) {
    Request bind = Bind("a", "p", "", "n");
    bind.EndWithin(std::chrono::seconds(4));
    place.client.Start(bind, [&](const Answer& answer) {
      ++done;
      if (answer.ok() || answer.error->message.find("not sent") == std::string::npos) return;
      ++unsent;
      EXPECT_EQ(answer.status, 0);
      EXPECT_GE(place.clock.Monotonic() - began, std::chrono::seconds(4));
    });
  }
  EXPECT_TRUE(place.Until([&] { return done == 1000; }));
  EXPECT_GT(unsent, 600);
  EXPECT_EQ(place.api.asked().size(), static_cast<size_t>(1000 - unsent));
}

TEST(Client, CancelledCallsEndSilentlyAndFreeTheirPlace) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  std::vector<uint64_t> calls;
  for (int i = 0; i < 600; ++i) {
    calls.push_back(place.client.Start(Get(kPods, "a", "p"), [](const Answer&) { FAIL(); }));
  }
  for (const uint64_t call : calls) place.client.Cancel(call);
  EXPECT_TRUE(place.client.Ask(Get(kPods, "a", "p")).ok());
}

TEST(Client, ACallbackMayStartAndCancelOthers) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  bool second = false;
  uint64_t victim = 0;
  place.client.Start(Get(kPods, "a", "p"), [&](const Answer&) {
    place.client.Cancel(victim);
    place.client.Start(Get(kPods, "a", "p"), [&](const Answer&) { second = true; });
  });
  place.api.fault = [&](const Exchange& exchange) {
    if (exchange.path.find("slow") == std::string::npos) return Fault{};
    Fault silence;
    silence.kind = Fault::Kind::kSilence;
    return silence;
  };
  victim = place.client.Start(Get(kPods, "a", "slow"), [](const Answer&) { FAIL(); });
  EXPECT_TRUE(place.Until([&] { return second; }));
}

}  // namespace
}  // namespace muster::kube
