#include "api/health_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include "world/testing/fake_clock.h"

namespace muster {
namespace {

TEST(HealthServer, SaysOverHttpWhatTheSchedulerSaysOfItself) {
  testing::FakeClock clock;
  SchedHealth health(clock.Monotonic());
  const auto server = MakeHealthServer(health, clock, {"127.0.0.1", 0});
  ASSERT_TRUE(server.ok()) << server.error().ToString();
  httplib::Client client("127.0.0.1", (*server)->port());
  const auto status = [&](const char* path) {
    const auto answer = client.Get(path);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status("/healthz"), 200);
  EXPECT_EQ(status("/readyz"), 503);
  health.Turned(clock.Monotonic(), {.heard = clock.Monotonic(), .served = {}});
  EXPECT_EQ(status("/readyz"), 200);
  EXPECT_NE(client.Get("/metrics")->body.find("muster_sched_leading 0\n"), std::string::npos);
  EXPECT_EQ(status("/"), 404);
  clock.SleepFor(std::chrono::minutes(2));
  EXPECT_EQ(status("/healthz"), 503);
  EXPECT_NE(client.Get("/healthz")->body.find("has not come round"), std::string::npos);
}

TEST(HealthServer, AnAddressThatIsNotThisMachinesIsSaid) {
  testing::FakeClock clock;
  SchedHealth health(clock.Monotonic());
  const auto server =
      MakeHealthServer(health, clock, {"203.0.113.1", 0});  // of no machine: RFC 5737
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, Code::kConflict);
  EXPECT_NE(server.error().message.find("203.0.113.1"), std::string::npos);
}

}  // namespace
}  // namespace muster
