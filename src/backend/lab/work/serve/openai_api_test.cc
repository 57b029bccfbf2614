#include "backend/lab/work/serve/openai_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace muster::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kChat =
    R"({"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"}]}],
"max_tokens":5,"temperature":0.5,"seed":9,"stop":["x","yy"],"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true})";

TEST(OpenaiApi, ReadsAChatRequest) {
  const auto parsed = ParseGeneration(true, kChat);
  ASSERT_TRUE(parsed.request) << parsed.error.message;
  EXPECT_EQ(parsed.request->prompt, "be brief\nhi\n");
  EXPECT_EQ(parsed.request->max_tokens, 5);
  EXPECT_EQ(parsed.request->seed, 9u);
  EXPECT_THAT(parsed.request->stop, ElementsAre("x", "yy"));
  EXPECT_TRUE(parsed.request->stream);
  EXPECT_TRUE(parsed.request->include_usage);
}

TEST(OpenaiApi, NamesTheFieldThatIsWrong) {
  const auto param = [](bool chat, const std::string& body) {
    const auto parsed = ParseGeneration(chat, body);
    return parsed.request ? "fine" : parsed.error.param;
  };
  EXPECT_EQ(param(true, R"({})"), "messages");
  EXPECT_EQ(param(true, R"({"messages":[]})"), "messages");
  EXPECT_EQ(param(true, R"({"messages":[{"role":"user"}]})"), "messages");
  EXPECT_EQ(param(true, R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})"),
            "messages");
  EXPECT_EQ(param(false, R"({})"), "prompt");
  EXPECT_EQ(param(false, R"({"prompt":7})"), "prompt");
  EXPECT_EQ(param(false, R"({"prompt":"p","max_tokens":0})"), "max_tokens");
  EXPECT_EQ(param(false, R"({"prompt":"p","max_tokens":18446744073709551615})"), "max_tokens");
  EXPECT_EQ(param(false, R"({"prompt":"p","temperature":3})"), "temperature");
  EXPECT_EQ(param(false, R"({"prompt":"p","n":2})"), "n");
  EXPECT_EQ(param(false, R"({"prompt":"p","stream":"yes"})"), "stream");
  EXPECT_EQ(param(false, R"({"prompt":"p","stop":[""]})"), "stop");
  EXPECT_EQ(param(false, R"({"prompt":"p","stream_options":{"include_usage":1}})"),
            "include_usage");
  EXPECT_EQ(param(false, R"({"prompt":"p","temperature":null})"), "fine");
  EXPECT_EQ(param(false, "{\"prompt\":\"" + std::string(20000, 'p') + "\"}"), "prompt");
}

TEST(OpenaiApi, BodiesThatAreNotJsonAreAnError) {
  for (const char* body : {"", "[]", "7", "{", "hello"}) {
    const auto parsed = ParseGeneration(true, body);
    EXPECT_FALSE(parsed.request) << body;
    const Json error = Json::parse(parsed.error.ToJson())["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_EQ(error["code"], 400);
  }
}

TEST(OpenaiApi, RequestsCutAnywhereAreRefused) {
  const std::string whole = kChat;
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(ParseGeneration(true, whole.substr(0, n)).request) << n;
}

TEST(OpenaiApi, AnyBytesAreSurvived) {
  EXPECT_TRUE(rc::check("any body", [](const std::string& body, bool chat) {
    const auto parsed = ParseGeneration(chat, body);
    RC_ASSERT(parsed.request || Json::parse(parsed.error.ToJson(), nullptr, false).is_object());
  }));
}

Json DataOf(const std::string& event) {
  EXPECT_EQ(event.substr(0, 6), "data: ");
  EXPECT_EQ(event.substr(event.size() - 2), "\n\n");
  return Json::parse(event.substr(6));
}

TEST(OpenaiApi, EventsHaveTheShapeOfChunks) {
  const AnswerHead head{true, "chatcmpl-1", "m", 1700000000};
  EXPECT_EQ(DataOf(RoleEvent(head))["choices"][0]["delta"]["role"], "assistant");
  const Json content = DataOf(ContentEvent(head, "a\n\"b"));
  EXPECT_EQ(content["object"], "chat.completion.chunk");
  EXPECT_EQ(content["choices"][0]["delta"], Json({{"content", "a\n\"b"}}));
  EXPECT_TRUE(content["choices"][0]["finish_reason"].is_null());
  const Json finish = DataOf(FinishEvent(head, "length"));
  EXPECT_EQ(finish["choices"][0]["delta"], Json::object());
  EXPECT_EQ(finish["choices"][0]["finish_reason"], "length");
  const Json usage = DataOf(UsageEvent(head, {3, 4}));
  EXPECT_EQ(usage["choices"], Json::array());
  EXPECT_EQ(usage["usage"]["total_tokens"], 7);
}

TEST(OpenaiApi, WholeAnswersHaveAMessageOrText) {
  const Json chat = Json::parse(WholeAnswer({true, "i", "m", 1}, "hi", "stop", {1, 2}));
  EXPECT_EQ(chat["choices"][0]["message"]["content"], "hi");
  EXPECT_EQ(chat["usage"]["completion_tokens"], 2);
  const Json plain = Json::parse(WholeAnswer({false, "i", "m", 1}, "hi", "stop", {1, 2}));
  EXPECT_EQ(plain["choices"][0]["text"], "hi");
  EXPECT_EQ(plain["object"], "text_completion");
}

}  // namespace
}  // namespace muster::lab
