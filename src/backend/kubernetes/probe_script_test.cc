#include "backend/kubernetes/probe_script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "kube/base64.h"

namespace muster::kubernetes {
namespace {

struct Said {
  std::string out, err;
  int exit_code = 0;
};

// As the pod's script writes it: base64 in lines of 76, then the end with the counts.
std::string LogOf(const std::vector<Said>& all) {
  std::string text;
  for (size_t n = 0; n < all.size(); ++n) {
    for (const auto& [name, bytes] : {std::pair{"out", &all[n].out}, {"err", &all[n].err}}) {
      const std::string digits = kube::ToBase64(*bytes);
      for (size_t at = 0; at < digits.size(); at += 76)
        text += fmt::format("@m {} {} {}\n", n, name, digits.substr(at, 76));
    }
    text += fmt::format("@m {} end {} {} {}\n", n, all[n].exit_code, all[n].out.size(),
                        all[n].err.size());
  }
  return text + fmt::format("@m all {}\n", all.size());
}
std::vector<Command> Commands(size_t count) {
  return std::vector<Command>(count, Command{{"ibstat"}});
}

TEST(ProbeScript, NoWordOfACommandIsThereForAKubeletToExpand) {
  Command command{{"echo", "$(MUSTER_NODE)", "$$", "it's"}};
  command.env["A"] = "$(HOME)";
  command.stdin_text = "$(B)";
  const auto words = ProbeCommand("@m", {command}, 5);
  ASSERT_EQ(words.size(), 8u + 4u);
  for (size_t i = 4; i < words.size(); ++i) EXPECT_FALSE(Contains(words[i], "$")) << words[i];
  EXPECT_FALSE(Contains(words[2], "$(") || Contains(words[2], "$$")) << words[2];
  EXPECT_EQ(kube::FromBase64(words[10]),
            "exec env 'A=$(HOME)' echo '$(MUSTER_NODE)' '$$' 'it'\\''s'");
  EXPECT_EQ(kube::FromBase64(words[11]), "$(B)");
}

TEST(ProbeScript, ACommandMayTakeASecondAtLeast) {
  Command command{{"true"}};
  command.timeout = std::chrono::milliseconds(10);
  EXPECT_EQ(ProbeCommand("@m", {command}, 0)[8], "1");
}

TEST(ProbeScript, WhatAPodCannotGiveIsRefused) {
  Command command{{"true"}};
  EXPECT_TRUE(CanRunInPod(command).ok());
  command.folder = "/tmp";
  EXPECT_FALSE(CanRunInPod(command).ok());
  EXPECT_FALSE(CanRunInPod(Command{}).ok());
}

TEST(ProbeLog, AnAnswerIsItsBytesAndItsEnd) {
  const std::string text = "noise\n" + LogOf({{"a\nb\0c", "", 0}, {"", "no such device", 255}});
  const ProbeLog log = ParseProbeLog(text, "@m", Commands(2));
  ASSERT_TRUE(log.done && log.answers[0] && log.answers[1]);
  EXPECT_EQ(log.answers[1]->exit_code, 255);
  EXPECT_EQ(log.answers[1]->err, "no such device");
}

TEST(ProbeLog, WhatTimeoutEndedHasTimedOut) {
  const ProbeLog log = ParseProbeLog(LogOf({{"half", "", 124}, {"", "", 137}}), "@m", Commands(2));
  EXPECT_TRUE(log.answers[0]->timed_out && log.answers[1]->timed_out);
}

TEST(ProbeLog, MoreThanWasAskedForIsCutAndSaysSo) {
  std::vector<Command> one = Commands(1);
  one[0].max_output = 3;
  const ProbeLog log = ParseProbeLog(LogOf({{"abcdef", "", 0}}), "@m", one);
  EXPECT_TRUE(log.answers[0]->truncated);
  EXPECT_EQ(log.answers[0]->out, "abc");
}

TEST(ProbeLog, WhyNothingRanIsSaid) {
  const ProbeLog log = ParseProbeLog("@m trouble nsenter is not in the image\n", "@m", Commands(1));
  EXPECT_EQ(log.trouble, "nsenter is not in the image");
  EXPECT_FALSE(log.answers[0]);
}

TEST(ProbeLog, TheLastWholeLineTellsTheTime) {
  EXPECT_EQ(LastTick("@m tick 1.5\n@m tick 2.5\n", "@m"), "2.5");
  EXPECT_EQ(LastTick("@m tick 1.5\n@m tick 2.", "@m"), "1.5");
  for (const char* none : {"", "@m tick 1", "@m tick \n", "@m tick 1\n@m over\n", "@x tick 1\n"})
    EXPECT_EQ(LastTick(none, "@m"), std::nullopt) << none;
}

RC_GTEST_PROP(ProbeLog, AnyBytesComeBackAsTheyWere,
              (const std::vector<std::pair<std::string, std::string>>& texts)) {
  std::vector<Said> said;
  for (const auto& [out, err] : texts) said.push_back({out, err, 1});
  const ProbeLog log = ParseProbeLog(LogOf(said), "@m", Commands(said.size()));
  for (size_t i = 0; i < said.size(); ++i) {
    RC_ASSERT(log.answers[i].has_value());
    RC_ASSERT(log.answers[i]->out == said[i].out && log.answers[i]->err == said[i].err);
  }
}

TEST(ProbeLog, ALineThatIsMissingOrCutIsNeverAnotherAnswer) {
  const std::string bytes(200, 'x');
  const std::string text = LogOf({{bytes, "e", 0}, {"b", "", 1}});
  for (size_t at = 0; at < text.size(); ++at) {  // the end is cut off
    const ProbeLog log = ParseProbeLog(text.substr(0, at), "@m", Commands(2));
    if (log.answers[0]) {
      ASSERT_EQ(log.answers[0]->out, bytes) << at;
    }
    if (log.answers[1]) {
      ASSERT_EQ(log.answers[1]->out, "b") << at;
    }
  }
  for (size_t at = 0; at < text.size(); ++at) {  // the beginning is rotated away
    const ProbeLog log = ParseProbeLog(text.substr(at), "@m", Commands(2));
    if (log.answers[0]) {
      ASSERT_EQ(log.answers[0]->out, bytes) << at;
    }
    if (log.answers[1]) {
      ASSERT_EQ(log.answers[1]->out, "b") << at;
    }
  }
}

RC_GTEST_PROP(ProbeLog, AnyTextIsSurvived, (const std::string& text)) {
  (void)ParseProbeLog(text, "@m", Commands(2));
  (void)ParseProbeLog("@m 0 end 0 0 0\n@m 0 out " + text + "\n", "@m", Commands(1));
  (void)LastTick(text, "@m");
}

}  // namespace
}  // namespace muster::kubernetes
