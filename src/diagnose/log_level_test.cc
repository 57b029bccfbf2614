#include "diagnose/log_level.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/diagnosis.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

TEST(LogLevel, ErrorAndFatalOfKlogAndGlogAreErrors) {
  EXPECT_TRUE(HeaderSaysError("E1113 13:22:22.676030    1979 widget.go:17] the widget is blue"));
  EXPECT_TRUE(HeaderSaysError("Nov 13 13:22:22 n3 kubelet[1]: F1113 13:22:22.6 1 w.go:17] blue"));
  EXPECT_TRUE(HeaderSaysError("[E1113 13:22:22.676030 socket.cpp:697] blue"));
  EXPECT_TRUE(HeaderSaysError("E0000 00:00:1763600000.1 2211 widget.cc:17] blue"));
}

TEST(LogLevel, DebugAndTraceAreWhatALineCallsItself) {
  for (const std::string_view line :
       {"time=\"2026-11-20T10:00:01Z\" level=debug msg=\"failed to get a\"",
        R"({"level":"debug","msg":"failed to get a"})", R"({"ts":1,"level": "TRACE"})",
        "2026-11-20 10:00:01,123 DEBUG: failed to get a", "[DEBUG] failed to get a",
        "DEBUG 11-20 10:00:01 a.py:12] failed to get a"})
    EXPECT_TRUE(CallsItselfDebug(line)) << line;
  for (const std::string_view line :
       {"level=info msg=\"failed to get a\"", "a debug build failed",
        "ERROR cannot read a in DEBUG", "NCCL_DEBUG=INFO", "level=de", ""})
    EXPECT_FALSE(CallsItselfDebug(line)) << line;
}

TEST(LogLevel, WhatADebugMessageComplainsOfIsNoComplaint) {
  const auto complains = [](const std::string& level) {
    const Diagnosis d = testing::DiagnoseText("time=\"2026-11-20T10:00:01Z\" level=" + level +
                                              " msg=\"failed to get the optional label\"\n");
    return std::any_of(d.findings.begin(), d.findings.end(), [](const Finding& finding) {
      return Contains(finding.title, "no rule knows this complaint");
    });
  };
  EXPECT_TRUE(complains("error"));
  EXPECT_FALSE(complains("debug"));
}

TEST(LogLevel, OtherLevelsAndNumbersAreNot) {
  EXPECT_FALSE(HeaderSaysError("I1113 13:22:22.676030    1979 widget.go:17] E113"));
  EXPECT_FALSE(HeaderSaysError("NODE1113 13:22:22 widget.go:17] blue"));
  EXPECT_FALSE(HeaderSaysError("E1113 is a part number"));
  EXPECT_FALSE(HeaderSaysError(""));
}

TEST(LogLevel, AnErrorThatNobodyKnowsIsNoHealth) {
  const Diagnosis d = testing::DiagnoseText(
      "I1113 13:22:20.676030    1979 kubelet.go:17] Starting kubelet\n"
      "E1113 13:22:22.676030    1979 widget.go:17] the widget turned blue\n"
      "Application startup complete\n");
  EXPECT_EQ(d.outcome, Outcome::kNotEnough) << d.summary;
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings[0].cause->kind, CauseKind::kQuestion);
}

}  // namespace
}  // namespace muster::diagnose
