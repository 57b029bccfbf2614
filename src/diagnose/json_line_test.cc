#include "diagnose/json_line.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

std::string Plain(std::string_view line) {
  std::string out;
  return UnwrapJsonLine(line, out) ? out : "(no)";
}

TEST(JsonLine, GivesWhatTheProgramSaid) {
  EXPECT_EQ(Plain(R"({"log":"a \u003cb\u003e\n","stream":"stderr","time":"2026-11-18T02:11:09Z"})"),
            "2026-11-18T02:11:09Z a <b>");
  EXPECT_EQ(
      Plain(R"({"_HOSTNAME":"n7","SYSLOG_IDENTIFIER":"kernel","PRIORITY":"6","MESSAGE":"up"})"),
      "n7 kernel: up");
  EXPECT_EQ(Plain(R"({"level":"error","ts":1763.2,"msg":"no such device","err":"x"})"),
            "error: no such device: x");
  EXPECT_EQ(Plain(R"({"level":"error","ts":1763.2,"msg":"failed to open"})"), "failed to open");
  EXPECT_EQ(Plain(R"({"level":"warn","ts":1763.2,"msg":"slow","took":"1.2s"})"), "slow (1.2s)");
}

TEST(JsonLine, SaysWhyAsTheRecordDoes) {
  EXPECT_EQ(
      Plain(
          R"({"level":"info","ts":1763.2,"msg":"publishing event","reason":"RegistrationError","message":"no answer"})"),
      "publishing event: RegistrationError: no answer");
  EXPECT_EQ(
      Plain(
          R"({"level":"error","time":"2026-11-18T02:11:09Z","msg":"it failed","error":{"code":7,"message":"no space"}})"),
      "2026-11-18T02:11:09Z it failed: no space");
  EXPECT_EQ(
      Plain(
          R"({"level":"error","ts":1763.2,"msg":"failed: no space","error":"no space","stderr":" "})"),
      "failed: no space");
}

TEST(JsonLine, LeavesDocumentsAndDamageAlone) {
  EXPECT_EQ(Plain(R"({"apiVersion":"v1","kind":"Event","message":"m","time":"t"})"), "(no)");
  EXPECT_EQ(Plain(R"({"message":"a field of something"})"), "(no)");
  EXPECT_EQ(Plain(R"({"log":"cut off","stream":"std)"), "(no)");
  EXPECT_EQ(Plain(R"({"log":7,"stream":"stdout"})"), "(no)");
  EXPECT_EQ(Plain("plain text"), "(no)");
  EXPECT_EQ(Plain(""), "(no)");
}

}  // namespace
}  // namespace muster::diagnose
