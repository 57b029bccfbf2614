#include "diagnose/heading.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

TEST(Prompt, IsSeenBeforeWhatSomebodyTyped) {
  EXPECT_TRUE(IsPrompt("$ sinfo -R"));
  EXPECT_TRUE(IsPrompt("root@gpu07:~# dmesg -T"));
  EXPECT_TRUE(IsPrompt("# dmesg -T | grep -Ei 'nvrm|mismatch'"));
}

TEST(Prompt, IsNotTheSignThatACommentBeginsWith) {
  EXPECT_FALSE(IsPrompt("# Out of bounds values : 4 FAILED"));
  EXPECT_FALSE(IsPrompt("# HELP node_load1 1m load average"));
  EXPECT_FALSE(IsPrompt("cost: 5 $ an hour"));
}

TEST(Heading, APromptNamesItsHost) {
  EXPECT_EQ(HeadingHost("root@gpu07:~# nvidia-smi"), "gpu07");
  EXPECT_EQ(HeadingHost("[op@login1 ~]$ sinfo"), "login1");
  EXPECT_EQ(HeadingHost("me@localhost:~$ ls"), "");
}

TEST(Heading, APieceOfADocumentNamesNone) {
  EXPECT_EQ(HeadingHost(R"(s/Sel/26","@odata.type":"#LogEntry.v1_3_0.LogEntry")"), "");
  EXPECT_EQ(HeadingHost(R"({"a":"b@c\"d","cost":"$7"})"), "");
}

TEST(Heading, ALineOfRulesNamesAHostAndNoProduct) {
  EXPECT_EQ(HeadingHost("==== gpu07 ===="), "gpu07");
  EXPECT_EQ(HeadingHost("==== H100 ===="), "");
}

}  // namespace
}  // namespace muster::diagnose
