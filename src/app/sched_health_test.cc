#include "app/sched_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

SchedState Heard(Duration at, bool leading, bool known) {
  return {.leading = leading, .known = known, .heard = at, .served = {}};
}

TEST(SchedHealth, IsAliveWhileItsLoopComesRoundAndNotAMinuteLater) {
  SchedHealth health(seconds(10));
  EXPECT_EQ(health.WhyNotAlive(seconds(69)), "") << "it has just begun";
  EXPECT_THAT(health.WhyNotAlive(seconds(70)), HasSubstr("has not come round for 1m"));
  health.Turned(seconds(80), {});
  EXPECT_EQ(health.WhyNotAlive(seconds(81)), "");
}

TEST(SchedHealth, IsReadyWhenTheServerAnswersAndAnyoneWhoLeadsKnowsTheCluster) {
  SchedHealth health(seconds(0));
  EXPECT_THAT(health.WhyNotReady(seconds(1)), HasSubstr("has not answered"));
  health.Turned(seconds(1), {});
  EXPECT_THAT(health.WhyNotReady(seconds(1)), HasSubstr("has not answered"));
  health.Turned(seconds(2), Heard(seconds(2), false, false));
  EXPECT_EQ(health.WhyNotReady(seconds(3)), "") << "it stands by";
  health.Turned(seconds(4), Heard(seconds(4), true, false));
  EXPECT_THAT(health.WhyNotReady(seconds(4)), HasSubstr("being read"));
  health.Turned(seconds(5), Heard(seconds(4), true, true));
  EXPECT_EQ(health.WhyNotReady(seconds(5)), "");
  EXPECT_THAT(health.WhyNotReady(seconds(34)), HasSubstr("for 30s"));
}

TEST(SchedHealth, IsToldOnceASecond) {
  SchedHealth health(seconds(0));
  EXPECT_TRUE(health.WantsToHear(seconds(0)));
  health.Turned(seconds(0), {});
  EXPECT_FALSE(health.WantsToHear(std::chrono::milliseconds(999)));
  EXPECT_TRUE(health.WantsToHear(seconds(1)));
}

TEST(SchedHealth, ItsFiguresAreOfPrometheussForm) {
  SchedHealth health(seconds(0));
  SchedState state = Heard(seconds(1), true, true);
  state.served.bound = 8000, state.served.waiting = 3, state.served.longest_turn_ms = 248;
  health.Turned(seconds(1), state);
  const std::string text = health.Metrics();
  EXPECT_THAT(text, HasSubstr("# TYPE muster_sched_pods_bound_total counter\n"
                              "muster_sched_pods_bound_total 8000\n"));
  EXPECT_THAT(text, HasSubstr("\nmuster_sched_leading 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmuster_sched_gangs_waiting 3\n"));
  EXPECT_THAT(text, HasSubstr("\nmuster_sched_longest_turn_seconds 0.248\n"));
}

}  // namespace
}  // namespace muster
