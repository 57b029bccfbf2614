#include "diagnose/log_level.h"

#include <gtest/gtest.h>

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
