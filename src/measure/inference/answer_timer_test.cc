#include "measure/inference/answer_timer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/strings.h"
#include "world/testing/captures.h"

namespace muster::inference {
namespace {

using std::chrono::milliseconds;

std::string Delta(const std::string& delta) {
  return R"(data: {"choices":[{"index":0,"delta":)" + delta + "}]}\n\n";
}
constexpr const char* kRole = R"({"role":"assistant","content":""})";
constexpr const char* kFinish =
    R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})";
constexpr const char* kUsage =
    R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}})";

TEST(AnswerTimer, TheRoleIsNotTheFirstToken) {
  AnswerTimer timer;
  timer.Feed(Delta(kRole), milliseconds(10));
  EXPECT_EQ(timer.role, milliseconds(10));
  EXPECT_FALSE(timer.first_content);
  timer.Feed(Delta(R"({"content":"a"})"), milliseconds(900));
  timer.Feed(Delta(R"({"content":"b"})"), milliseconds(950));
  EXPECT_EQ(timer.first_byte, milliseconds(10));
  EXPECT_EQ(timer.first_content, milliseconds(900));
  EXPECT_EQ(timer.last_content, milliseconds(950));
}

// llama.cpp: the first message has a role and "content": null.
TEST(AnswerTimer, ANullContentIsNoText) {
  AnswerTimer timer;
  timer.Feed(Delta(R"({"role":"assistant","content":null})"), milliseconds(1));
  EXPECT_FALSE(timer.first_content);
}

TEST(AnswerTimer, ReasoningAndToolCallsAreText) {
  for (const char* delta : {R"({"reasoning_content":"hm"})", R"({"reasoning":"hm"})",
                            R"({"tool_calls":[{"index":0}]})"}) {
    AnswerTimer timer;
    timer.Feed(Delta(delta), milliseconds(1));
    EXPECT_TRUE(timer.first_content) << delta;
  }
}

TEST(AnswerTimer, TokensComeFromUsageAndNotFromMessages) {
  AnswerTimer timer;
  timer.Feed(Delta(R"({"content":"seven tokens in one message"})"), milliseconds(1));
  timer.Feed(std::string(kFinish) + "\n\n" + kUsage + "\n\ndata: [DONE]\n\n", milliseconds(2));
  EXPECT_EQ(timer.messages, 1);
  EXPECT_EQ(timer.completion_tokens, 7);
  EXPECT_EQ(timer.last_content, milliseconds(1));
  EXPECT_TRUE(timer.done);
  EXPECT_TRUE(timer.Complete());
}

TEST(AnswerTimer, AnAnswerWithoutDoneIsWholeWhenItSaysWhyItEnded) {
  AnswerTimer timer;
  timer.Feed(Delta(R"({"content":"a"})"), milliseconds(1));
  EXPECT_FALSE(timer.Complete());
  timer.Feed(std::string(kFinish) + "\n\n", milliseconds(2));
  EXPECT_TRUE(timer.Complete());
}

TEST(AnswerTimer, CompletionsHaveTextWhereChatHasDeltas) {
  AnswerTimer timer;
  timer.Feed("data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n", milliseconds(1));
  EXPECT_TRUE(timer.first_content);
}

TEST(AnswerTimer, AnErrorInTheStreamIsAnError) {
  AnswerTimer timer;
  timer.Feed(Delta(R"({"content":"a"})") +
                 "data: {\"error\":{\"message\":\"out of memory\"}}\n\ndata: [DONE]\n\n",
             milliseconds(1));
  EXPECT_EQ(timer.error, "out of memory");
  EXPECT_FALSE(timer.Complete());
}

TEST(AnswerTimer, MessagesThatAreNotJsonAreAnError) {
  for (const char* data : {"data: {\"choices\":[\n\n", "data: hello\n\n", "data: 7\n\n"}) {
    AnswerTimer timer;
    timer.Feed(std::string(data) + Delta(R"({"content":"a"})") + "data: [DONE]\n\n",
               milliseconds(1));
    EXPECT_FALSE(timer.Complete()) << data;
  }
}

TEST(AnswerTimer, OddShapesGiveNothing) {
  for (const char* data :
       {R"({"choices":{}})", R"({"choices":[7]})", R"({"choices":[{"delta":7}]})",
        R"({"choices":[{"delta":{"content":7}}]})", R"({"usage":7})",
        R"({"usage":{"completion_tokens":-3}})", R"({"usage":{"completion_tokens":1.5}})"}) {
    AnswerTimer timer;
    timer.Feed("data: " + std::string(data) + "\n\n", milliseconds(1));
    EXPECT_FALSE(timer.first_content) << data;
    EXPECT_FALSE(timer.completion_tokens) << data;
  }
}

TEST(AnswerTimer, ReadsWhatTransformersServeSends) {
  const std::string capture =
      testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/inference/transformers-serve-stream.txt");
  AnswerTimer timer;
  timer.Feed(capture.substr(capture.find("data:")), milliseconds(5));
  EXPECT_TRUE(timer.role);
  EXPECT_EQ(timer.messages, 3);
  EXPECT_EQ(timer.completion_tokens, 6);
  EXPECT_FALSE(timer.done);
  EXPECT_TRUE(timer.Complete());
}

TEST(AnswerTimer, AStreamCutAnywhereIsNotWhole) {
  const std::string capture =
      testing::Capture(MUSTER_SOURCE_DIR, "rehearsed/inference/transformers-serve-stream.txt");
  const size_t last = capture.find("data: {\"id\"", capture.find("finish_reason") - 200);
  for (size_t n = capture.find("data:"); n < last; n += 3) {
    AnswerTimer timer;
    timer.Feed(std::string_view(capture).substr(0, n), milliseconds(5));
    EXPECT_FALSE(timer.Complete()) << n;
  }
}

TEST(AnswerTimer, AnyBytesAreSurvived) {
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& bytes) {
    AnswerTimer timer;
    timer.Feed("data: " + bytes + "\n\n", milliseconds(1));
    RC_ASSERT(!timer.Complete() || timer.first_content);
  }));
}

}  // namespace
}  // namespace muster::inference
