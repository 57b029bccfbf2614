#include "measure/inference/load.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "measure/inference/inference.h"
#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::inference {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// A server in simulated time: the clock moves as the answer comes, and nothing else moves it.
class FakeServer final : public Http {
 public:
  explicit FakeServer(testing::FakeClock& clock) : clock_(clock) {}

  Duration before_first = milliseconds(100), between = milliseconds(10);
  int tokens = 11;
  bool usage = true;
  std::set<int> fails, hangs, breaks_off;  // by order of arrival
  std::vector<std::string> bodies;

  Result<HttpResponse> Do(const HttpRequest& request) override {
    Duration sent{};
    return Stream(request, [](std::string_view, Duration) { return true; }, sent);
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    HttpResponse response;
    response.status = 200;
    sent_at = clock_.Monotonic();
    if (request.method == "GET") {
      on_bytes("{}", sent_at);
      return response;
    }
    const int n = static_cast<int>(bodies.size());
    bodies.push_back(request.body);
    if (fails.contains(n)) {
      response.status = 500;
      on_bytes("{\"error\":{\"message\":\"the engine has failed\"}}", clock_.Monotonic());
      return response;
    }
    if (hangs.contains(n)) {
      clock_.Advance(request.timeout);
      return Fail(Code::kTimeout, "timed out");
    }
    const auto say = [&](const std::string& data) {
      on_bytes("data: " + data + "\n\n", clock_.Monotonic());
    };
    say(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})");
    clock_.Advance(before_first);
    for (int i = 0; i < tokens; ++i) {
      if (i > 0) clock_.Advance(between);
      say(R"({"choices":[{"delta":{"content":"x"}}]})");
      if (breaks_off.contains(n)) return response;
    }
    say(R"({"choices":[{"delta":{},"finish_reason":"length"}]})");
    if (usage) say(fmt::format(R"({{"choices":[],"usage":{{"completion_tokens":{}}}}})", tokens));
    say("[DONE]");
    return response;
  }

 private:
  testing::FakeClock& clock_;
};

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() {
    files_.Put("/proc/self/stat",
               "1 (a b) c) S 1 1 1 0 -1 4194560 1 1 1 1 100 50 0 0 20 0 1 0 1 1 1");
    plan_.url = "http://e";
    plan_.model = "m";
    plan_.requests = 30;
    plan_.requests_per_s = 2;
    plan_.workers = 1;
  }
  LoadResult Run() { return RunLoad(world_, plan_).value(); }
  std::map<std::string, Observation> Observe(const LoadResult& result) {
    std::map<std::string, Observation> by_fact;
    for (Observation& o : ObserveLoad(result, limits_, {SubjectKind::kEndpoint, "e"}, Reading{}))
      by_fact[o.fact] = std::move(o);
    return by_fact;
  }
  static double Real(const Observation& o) { return std::get<double>(*o.value()); }

  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  FakeServer server_{clock_};
  SeededRandom random_{1};
  World world_{clock_, files_, processes_, server_, random_};
  LoadPlan plan_;
  Limits limits_;
};

TEST_F(LoadTest, MeasuresTimesExactly) {
  const LoadResult result = Run();
  ASSERT_EQ(result.requests.size(), 30u);
  for (const RequestOutcome& r : result.requests) {
    EXPECT_TRUE(r.ok()) << r.error;
    EXPECT_NEAR(*r.ttft_s(), 0.1, 1e-9);
    EXPECT_NEAR(*r.tpot_s(), 0.01, 1e-9);
    EXPECT_EQ(*r.role, r.sent);
  }
  const auto seen = Observe(result);
  EXPECT_NEAR(Real(seen.at("serve.ttft_p99")), 0.1, 1e-9);
  EXPECT_NEAR(Real(seen.at("serve.tpot_p99")), 0.01, 1e-9);
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.goodput")), 1);
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.errors")), 0);
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.client_cpu")), 0);
  EXPECT_EQ(std::get<int64_t>(*seen.at("serve.requests").value()), 27);
}

TEST_F(LoadTest, ASlowServerMissesTheLimits) {
  server_.before_first = std::chrono::seconds(3);
  const auto seen = Observe(Run());
  EXPECT_NEAR(Real(seen.at("serve.ttft_p99")), 3, 1e-9);
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.goodput")), 0);
}

TEST_F(LoadTest, RequestsThatFailOrTimeOutAreMisses) {
  server_.fails = {5, 6};
  server_.hangs = {7};
  server_.breaks_off = {8};
  const LoadResult result = Run();
  EXPECT_THAT(result.requests[5].error, HasSubstr("HTTP 500: {\"error\""));
  EXPECT_TRUE(result.requests[7].timed_out);
  EXPECT_THAT(result.requests[8].error, HasSubstr("middle of the answer"));
  const auto seen = Observe(result);
  EXPECT_NEAR(Real(seen.at("serve.errors")), 4.0 / 27, 1e-9);
  EXPECT_NEAR(Real(seen.at("serve.goodput")), 23.0 / 27, 1e-9);
  // The one that hung had waited 30 s when it was given up.
  EXPECT_NEAR(Real(seen.at("serve.ttft_p99")), 30, 1e-9);
}

TEST_F(LoadTest, TheFirstTenthDoesNotCount) {
  server_.hangs = {0, 1, 2};
  EXPECT_DOUBLE_EQ(Real(Observe(Run()).at("serve.goodput")), 1);
}

TEST_F(LoadTest, EveryRequestFailingLeavesTimesUnknownAndGoodputZero) {
  for (int i = 0; i < 30; ++i) server_.fails.insert(i);
  const auto seen = Observe(Run());
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.errors")), 1);
  EXPECT_DOUBLE_EQ(Real(seen.at("serve.goodput")), 0);
  EXPECT_NE(seen.at("serve.ttft_p99").unobserved(), nullptr);
  EXPECT_NE(seen.at("serve.tpot_p99").unobserved(), nullptr);
}

TEST_F(LoadTest, WithoutUsageTokensAreNotGuessed) {
  server_.usage = false;
  const auto seen = Observe(Run());
  EXPECT_NE(seen.at("serve.ttft_p99").value(), nullptr);
  EXPECT_NE(seen.at("serve.tpot_p99").unobserved(), nullptr);
  EXPECT_NE(seen.at("serve.goodput").unobserved(), nullptr);
}

TEST_F(LoadTest, ABusyClientMeasuresItself) {
  LoadResult result = Run();
  for (const std::optional<double> cpu : {std::optional(0.8), std::optional<double>()}) {
    result.client_cpu = cpu;
    const auto seen = Observe(result);
    for (const char* fact : {"serve.ttft_p99", "serve.tpot_p99", "serve.goodput"})
      EXPECT_EQ(seen.at(fact).unobserved()->reason, UnknownReason::kToolFault) << fact;
  }
}

TEST_F(LoadTest, TooFewRequestsGiveNoPercentile) {
  plan_.requests = 21;  // 18 count
  const auto seen = Observe(Run());
  EXPECT_EQ(seen.at("serve.ttft_p99").unobserved()->reason, UnknownReason::kTooFewSamples);
  EXPECT_EQ(seen.at("serve.goodput").unobserved()->reason, UnknownReason::kTooFewSamples);
}

TEST_F(LoadTest, LatenessBehindThePlanIsShown) {
  server_.before_first = std::chrono::seconds(1);  // one worker cannot send two a second
  const LoadResult result = Run();
  EXPECT_GT(Summarise(result, limits_).lag_p99_s, 5);
  EXPECT_THAT(Observe(result).at("serve.ttft_p99").excerpt, HasSubstr("late by p99"));
}

TEST_F(LoadTest, PromptsAreUniqueAndTheBodyAsksForUsage) {
  Run();
  EXPECT_EQ(std::set<std::string>(server_.bodies.begin(), server_.bodies.end()).size(), 30u);
  EXPECT_THAT(server_.bodies[0], HasSubstr(R"("messages":[{"content":)"));
  EXPECT_THAT(server_.bodies[0], HasSubstr(R"("stream_options":{"include_usage":true})"));
}

TEST_F(LoadTest, TheSameSeedGivesTheSameLoad) {
  const LoadResult one = Run();
  const auto bodies = server_.bodies;
  server_.bodies.clear();
  const LoadResult two = Run();
  EXPECT_EQ(bodies, server_.bodies);
  for (size_t i = 0; i < one.requests.size(); ++i)
    EXPECT_EQ(one.requests[i].planned, two.requests[i].planned);
}

TEST_F(LoadTest, ManyWorkersAnswerEveryRequestOnce) {
  plan_.workers = 8;
  plan_.requests_per_s = 1000;
  class Instant final : public Http {
   public:
    Result<HttpResponse> Do(const HttpRequest&) override { return HttpResponse{}; }
    Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                                Duration&) override {
      HttpResponse response;
      response.status = 200;
      on_bytes(
          request.method == "GET"
              ? "{}"
              : "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],"
                "\"usage\":{\"completion_tokens\":1}}\n\n",
          milliseconds(1));
      return response;
    }
  } instant;
  World world{clock_, files_, processes_, instant, random_};
  int done = 0;
  const LoadResult result = RunLoad(world, plan_, [&](int n) { done = n; }).value();
  EXPECT_EQ(done, 30);
  for (const RequestOutcome& r : result.requests) EXPECT_TRUE(r.ok()) << r.error;
}

TEST_F(LoadTest, ATableHasALineARequest) { EXPECT_EQ(Lines(LoadTable(Run())).size(), 31u); }

TEST_F(LoadTest, PlansThatCannotBeMeantAreRefused) {
  for (auto change : std::vector<std::function<void(LoadPlan&)>>{
           [](LoadPlan& p) { p.url = ""; }, [](LoadPlan& p) { p.requests = 0; },
           [](LoadPlan& p) { p.requests_per_s = 0; }, [](LoadPlan& p) { p.workers = 0; }}) {
    LoadPlan plan = plan_;
    change(plan);
    EXPECT_EQ(RunLoad(world_, plan).error().code, Code::kInvalid);
  }
}

TEST(PoissonArrivals, HaveTheRateThatWasAskedFor) {
  const auto arrivals = PoissonArrivals(20000, 50, 7);
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  EXPECT_NEAR(20000 / Seconds(arrivals.back()), 50, 1.5);
  // The gaps of a Poisson process vary as much as they are long.
  double sum = 0, squares = 0;
  for (size_t i = 1; i < arrivals.size(); ++i) {
    const double gap = Seconds(arrivals[i] - arrivals[i - 1]);
    sum += gap;
    squares += gap * gap;
  }
  const double n = static_cast<double>(arrivals.size() - 1), mean = sum / n;
  EXPECT_NEAR(squares / n / (mean * mean), 2, 0.15);
}

}  // namespace
}  // namespace muster::inference
