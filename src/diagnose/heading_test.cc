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

}  // namespace
}  // namespace muster::diagnose
