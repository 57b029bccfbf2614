#include "diagnose/line_damage.h"

#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

TEST(LineDamage, IsSeenWhereAKeyIsGone) {
  EXPECT_TRUE(LostItsKey(": 7"));
  EXPECT_TRUE(LostItsKey("[ 812.3] : GPU has fallen"));
  EXPECT_TRUE(LostItsKey("Nov 20 04:10:07 h kernel: ice 0000:17:00.0 : NIC Link is Down"));
  EXPECT_FALSE(LostItsKey("Nov 20 04:10:07 h kernel: ice 0000:17:00.0 ens1: NIC Link is Down"));
  EXPECT_FALSE(LostItsKey("took 1.0 : 2.0 of it"));
}

TEST(LineDamage, IsSeenWhereADocumentLostItsBeginning) {
  EXPECT_TRUE(PieceOfJson("  },"));
  EXPECT_TRUE(PieceOfJson("\"Health\": \"OK\","));
  EXPECT_FALSE(PieceOfJson("a line of a log"));
}

TEST(LineDamage, IsSeenWhereARowStandsAboveItsHeading) {
  EXPECT_TRUE(SameShape("NAME   READY   NODE SELECTOR   AGE", "a      1       x=true          9d"));
  EXPECT_TRUE(SameShape("a, b, c", "1, 2, 3"));
  EXPECT_FALSE(SameShape("NAME   READY   NODE SELECTOR   AGE", "what I saw on the node"));
  EXPECT_FALSE(SameShape("NAME READY", ""));
  EXPECT_FALSE(SameShape("NAME READY STATUS RESTARTS AGE", "kubectl get pods -n kube-system"));
  EXPECT_FALSE(SameShape("REASON USER TIMESTAMP STATE NODELIST", "Mon Nov 23 05:48:51 2026"));
}

}  // namespace
}  // namespace muster::diagnose
