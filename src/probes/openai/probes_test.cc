#include "probes/openai/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::openai {
namespace {

// As vLLM lists its models (docs.vllm.ai, OpenAI-Compatible Server), shortened.
constexpr const char* kModels =
    R"({"object":"list","data":[{"id":"llama-70b","object":"model","owned_by":"vllm","root":"/m"},{"id":"lora-a","object":"model"}]})";

class OpenaiProbe : public ::testing::Test {
 protected:
  HostPorts At(std::string host) {
    return {std::move(host), {clock_, files_, processes_, http_, random_}, Origin::kRehearsed};
  }
  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  testing::ScriptedProcesses processes_;
  testing::ScriptedHttp http_;
  SeededRandom random_{1};
};

std::optional<bool> Seen(const Observations& observations) {
  if (observations.size() != 1 || observations[0].value() == nullptr) return std::nullopt;
  return std::get<bool>(*observations[0].value());
}

Reading ModelsReading(std::string text) {
  Reading reading;
  reading.host = "openai";
  reading.text = std::move(text);
  return reading;
}

TEST_F(OpenaiProbe, BaseUrlTakesNamesAddressesAndUrls) {
  EXPECT_EQ(BaseUrl("openai"), "http://openai");
  EXPECT_EQ(BaseUrl("127.0.0.1:8000"), "http://127.0.0.1:8000");
  EXPECT_EQ(BaseUrl("https://models.example/base/"), "https://models.example/base");
  EXPECT_EQ(EndpointSubject("http://127.0.0.1:8000/").ToString(), "endpoint 127.0.0.1:8000");
}

TEST_F(OpenaiProbe, AnEndpointThatAnswers200IsHealthy) {
  http_.Serves("http://127.0.0.1:8000/health", R"({"status":"ok"})");
  const auto observations = ParseHealth(CollectHealth(At("127.0.0.1:8000")));
  EXPECT_EQ(Seen(observations), true);
  EXPECT_EQ(observations[0].subject.id, "127.0.0.1:8000");
  EXPECT_EQ(observations[0].origin, Origin::kRehearsed);
}

TEST_F(OpenaiProbe, NobodyListeningIsNotHealthyRatherThanUnknown) {
  const auto observations = ParseReading(OpenaiProbes()[0], CollectHealth(At("127.0.0.1:8000")));
  EXPECT_EQ(Seen(observations), false);
  EXPECT_THAT(observations[0].excerpt, ::testing::HasSubstr("refused"));
}

TEST_F(OpenaiProbe, AnEndpointThatStillLoadsIsNotHealthy) {
  HttpResponse loading;
  loading.status = 503;
  loading.body = R"({"error":{"message":"Loading model"}})";
  http_.On("http://e/health", loading);
  EXPECT_EQ(Seen(ParseReading(OpenaiProbes()[0], CollectHealth(At("e")))), false);
}

TEST_F(OpenaiProbe, TimeOutsRefusalsAndWrongNamesAreUnknown) {
  const auto reason = [&](const char* host, HttpResponse response) {
    http_.On(std::string("http://") + host + "/health", std::move(response));
    return ParseReading(OpenaiProbes()[0], CollectHealth(At(host)))[0].unobserved()->reason;
  };
  HttpResponse secret, wrong_path;
  secret.status = 401;
  wrong_path.status = 404;
  EXPECT_EQ(reason("secret", secret), UnknownReason::kNotPermitted);
  EXPECT_EQ(reason("wrong-path", wrong_path), UnknownReason::kToolFault);
  http_.On("http://slow/health", Error{Code::kTimeout, "timed out", {}});
  http_.On("http://typo/health", Error{Code::kUnavailable, "Could not resolve host: typo", {}});
  for (const char* host : {"slow", "typo"}) {
    EXPECT_NE(ParseReading(OpenaiProbes()[0], CollectHealth(At(host)))[0].unobserved(), nullptr);
  }
}

TEST_F(OpenaiProbe, ModelIsListedByItsWholeName) {
  EXPECT_EQ(Seen(ParseModels(ModelsReading(kModels), "llama-70b")), true);
  EXPECT_EQ(Seen(ParseModels(ModelsReading(kModels), "llama")), false);
  EXPECT_EQ(Seen(ParseModels(ModelsReading(kModels), "")), true);
  EXPECT_EQ(Seen(ParseModels(ModelsReading(R"({"data":[]})"), "")), false);
}

TEST_F(OpenaiProbe, ListsWithoutFormAreUnknown) {
  for (const char* text :
       {"", "[]", "{}", R"({"data":{}})", R"({"data":[{}]})", R"({"data":[{"id":7}]})", "<html>"}) {
    EXPECT_EQ(Seen(ParseModels(ModelsReading(text), "m")), std::nullopt) << text;
  }
}

TEST_F(OpenaiProbe, ModelsCutAnywhereNeverListAModel) {
  const std::string whole = kModels;
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(Seen(ParseModels(ModelsReading(whole.substr(0, n)), "lora-a")), std::nullopt) << n;
}

TEST_F(OpenaiProbe, AnyBytesAreSurvived) {
  EXPECT_TRUE(rc::check("any answer", [](const std::string& text) {
    const auto observations = ParseModels(ModelsReading(text), "m");
    RC_ASSERT(observations.size() == 1u);
  }));
}

}  // namespace
}  // namespace muster::openai
