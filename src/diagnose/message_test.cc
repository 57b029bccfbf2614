#include "diagnose/message.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::diagnose {
namespace {

TEST(Message, StructuredLinesSayTheirMessageAndTheirError) {
  EXPECT_EQ(
      MessageOf(R"(time="2026-11-20T10:00:01Z" level=error msg="sync: secrets \"a\" not found")"),
      R"(sync: secrets "a" not found)");
  EXPECT_EQ(
      MessageOf(
          R"(ts=2026-11-20T10:00:01Z level=error msg="scrape failed" err="dial tcp: refused" n=2)"),
      "scrape failed: dial tcp: refused");
  EXPECT_EQ(MessageOf("2026-11-20T10:00:01Z\tERROR\tReconciler error\t"
                      R"({"controller": "job", "error": "no matches for kind \"Job\""})"),
            R"(Reconciler error: no matches for kind "Job")");
  EXPECT_EQ(
      MessageOf(
          R"(E1120 10:00:00.123456    4242 sync.go:88] "Sync failed" err="no such pod" key="a/b")"),
      "Sync failed: no such pod");
}

TEST(Message, TimeAndLevelAreTheFrameOfALine) {
  EXPECT_EQ(MessageOf("2026-11-20 10:00:01,123 [ERROR] cannot read a"), "cannot read a");
  EXPECT_EQ(MessageOf("[Fri Nov 20 10:00:01 2026] cannot read a"),
            "[Fri Nov 20 10:00:01 2026] cannot read a");
  EXPECT_EQ(MessageOf("[  123.456] mlx5_core: cannot read a"), "mlx5_core: cannot read a");
  EXPECT_EQ(MessageOf("Nov 20 10:00:01 gpu07 slurmd[7]: error: a is lost"),
            "gpu07 slurmd[7]: error: a is lost");
  EXPECT_EQ(MessageOf("E1120 10:00:00.123456    4242 sync.go:88] a is lost"), "a is lost");
  EXPECT_EQ(MessageOf("11/20/2026 10:00:01.123456;0100;pbs_mom;Job;12.pbs01;a is lost; b too"),
            "a is lost; b too");
  EXPECT_EQ(MessageOf("a;b;c 10:00:01;d;e;f is lost"), "a;b;c 10:00:01;d;e;f is lost");
}

TEST(Message, NumbersAndAddressesAreNoTimes) {
  for (const char* line : {"3 of 5 GPUs are lost", "0000:41:00.0 link is down",
                           "10.0.0.2:8080 refused us", "1.5 GB are missing", "[0] cannot read a"})
    EXPECT_EQ(MessageOf(line), line);
  EXPECT_EQ(MessageOf("2026/11/20 10:00:01 3 of 5 GPUs are lost"), "3 of 5 GPUs are lost");
}

TEST(Message, WhatIsEscapedInsideOfAValueIsReadable) {
  EXPECT_EQ(MessageOf("level=error msg=\"a\\nb \\\"c\\\" d\""), "a b \"c\" d");
}

TEST(Message, ALineWithoutWordsStaysAsItIs) {
  EXPECT_EQ(MessageOf(""), "");
  EXPECT_EQ(MessageOf("2026-11-20"), "2026-11-20");
  EXPECT_EQ(MessageOf("10:00:01 ERROR"), "10:00:01 ERROR");
  EXPECT_EQ(MessageOf(R"(msg="")"), R"(msg="")");
  EXPECT_EQ(MessageOf(R"(level=error msg="cut off here)"), "cut off here");
}

TEST(Message, ShortenedInTheMiddleKeepsTheBeginningAndTheEnd) {
  EXPECT_EQ(ShortenMiddle("short", 12), "short");
  EXPECT_EQ(ShortenMiddle("failed to get a: failed to read b: c is not there", 40),
            "failed to get a: ... b: c is not there");
  std::string umlauts;
  for (int i = 0; i < 40; ++i) umlauts += "\xc3\xa4";
  for (size_t limit = 12; limit < 80; ++limit) {
    const std::string cut = ShortenMiddle(umlauts, limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_EQ(Printable(cut), cut) << limit;
  }
}

}  // namespace
}  // namespace muster::diagnose
