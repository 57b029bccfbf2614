#include "backend/lab/telemetry/monitor_config.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::lab {
namespace {

const TimePoint kRendered{std::chrono::seconds(1'795'219'200)};
LabState Lab(int nodes) {
  ClusterSpec spec;
  spec.nodes = nodes;
  return MakeLab(spec, 3, kRendered);
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(MonitorConfig, HasOneTargetForEachNodeUnderItsOwnName) {
  const std::string text = PrometheusConfig(Lab(4), 1111, 2222);
  EXPECT_EQ(Count(text, "__metrics_path__"), 4u);
  EXPECT_TRUE(Contains(text, "__metrics_path__: '/node003/metrics', instance: 'node003:9400'"));
  EXPECT_TRUE(Contains(text, "127.0.0.1:2222"));
}

TEST(MonitorConfig, LargeLabsAreScrapedLessOften) {
  EXPECT_EQ(LabScrapeSeconds(Lab(64)), 1);
  EXPECT_EQ(LabScrapeSeconds(Lab(65)), 5);
}

TEST(MonitorConfig, SlowScrapeIsOfThatNodeAlone) {
  LabState state = Lab(4);
  ASSERT_TRUE(Inject(state, "scrape_too_slow", "node002", kRendered).ok());
  const std::string text = PrometheusConfig(state, 1111, 2222);
  EXPECT_EQ(Count(text, "__scrape_interval__"), 1u);
  EXPECT_TRUE(Contains(text, "instance: 'node002:9400', __scrape_interval__: '60s'"));
}

TEST(MonitorConfig, BrokenRouteSendsAlertsNowhere) {
  LabState state = Lab(2);
  ASSERT_TRUE(Inject(state, "alert_route_broken", "", kRendered).ok());
  EXPECT_FALSE(Contains(PrometheusConfig(state, 1111, 2222), "2222"));
}

}  // namespace
}  // namespace muster::lab
