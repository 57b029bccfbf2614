#include "backend/lab/work/serve/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/lab/work/serve/serve_metrics.h"

namespace muster::lab {
namespace {

using ::testing::HasSubstr;

constexpr ModelShape kShape{4, 3, 8};

std::string All(Generator& generator) {
  std::string text;
  while (const auto piece = generator.Next()) text += *piece;
  return text;
}

GenerationRequest Request(int max_tokens, std::vector<std::string> stop = {}) {
  GenerationRequest request;
  request.prompt = "hello";
  request.max_tokens = max_tokens;
  request.seed = 4;
  request.stop = std::move(stop);
  return request;
}

TEST(Generator, GivesAsManyTokensAsAsked) {
  const CharModel model(kShape, 1);
  Generator generator(model, Request(50), 1);
  EXPECT_EQ(All(generator).size(), 50u);
  EXPECT_EQ(generator.usage().prompt_tokens, 5);
  EXPECT_EQ(generator.usage().completion_tokens, 50);
  EXPECT_EQ(generator.finish_reason(), "length");
}

TEST(Generator, TheSameSeedGivesTheSameText) {
  const CharModel model(kShape, 1);
  Generator one(model, Request(40), 1), two(model, Request(40), 2);
  EXPECT_EQ(All(one), All(two));
}

TEST(Generator, StopsBeforeTheStopStringHoweverItIsCut) {
  const CharModel model(kShape, 1);
  Generator free(model, Request(200), 1);
  const std::string text = All(free);
  for (const size_t length : {1u, 2u, 5u}) {
    const std::string stop = text.substr(60, length);
    Generator generator(model, Request(200, {stop}), 1);
    EXPECT_EQ(All(generator), text.substr(0, text.find(stop)));
    EXPECT_EQ(generator.finish_reason(), "stop");
  }
}

TEST(Generator, NothingIsHeldBackAtTheEnd) {
  const CharModel model(kShape, 1);
  Generator generator(model, Request(30, {std::string(20, '\x01')}), 1);
  EXPECT_EQ(All(generator).size(), 30u);
}

TEST(ServeMetrics, CountUnderVllmsNames) {
  ServeMetrics metrics("m\"x");
  metrics.Began();
  metrics.Began();
  metrics.Ended({"length", 10, 5, std::chrono::milliseconds(20), std::chrono::milliseconds(100)});
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{model_name=\"m\\\"x\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total{model_name=\"m\\\"x\"} 5\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "vllm:request_success_total{finished_reason=\"length\",model_name=\"m\\\"x\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("vllm:time_to_first_token_seconds_bucket{model_name=\"m\\\"x\",le=\"0.025\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("vllm:time_to_first_token_seconds_bucket{model_name=\"m\\\"x\",le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("vllm:e2e_request_latency_seconds_count{model_name=\"m\\\"x\"} 1\n"));
}

}  // namespace
}  // namespace muster::lab
