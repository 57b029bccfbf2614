#include "sched/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/timeline/svg.h"

namespace muster::timeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kScript = R"(# two nodes, three jobs
{"t":0,"op":"topology","levels":["spine","leaf","node"]}
{"t":0,"op":"node.add","name":"b","at":["s0","l1"],"capacity":{"cpu":"8","nvidia.com/gpu":"4"}}
{"t":0,"op":"node.add","name":"a","at":["s0","l0"],"capacity":{"cpu":"8","nvidia.com/gpu":"4"}}
{"t":0,"op":"job.submit","name":"x","queue":"q1","tasks":[{"name":"w","count":2,"shape":{"nvidia.com/gpu":"2"}}],"duration":100}
{"t":10,"op":"job.submit","name":"<y>","tasks":[{"name":"w","count":1,"shape":{"nvidia.com/gpu":"4"}}]}
{"t":20,"op":"job.submit","name":"z","queue":"q1","tasks":[{"name":"w","count":1,"shape":{"gpu_milli":"500"}}]}
{"t":60,"op":"node.fail","name":"b"}
{"t":200,"op":"end"}
)";
const std::string kDecisions =
    R"({"t":0,"do":"bind","job":"x","task":"w","rank":0,"node":"a","devices":{"nvidia.com/gpu":[0,1]}}
{"t":0,"do":"bind","job":"x","task":"w","rank":1,"node":"b","devices":{"nvidia.com/gpu":[0,1]}}
{"t":10,"do":"pending","job":"<y>","because":[{"code":"GANG"}]}
{"t":20,"do":"bind","job":"z","task":"w","rank":0,"node":"b","devices":{"nvidia.com/gpu":[3]}}
{"t":60,"do":"evict","job":"x","why":{"code":"HEALTH"}}
{"t":60,"do":"evict","job":"z","why":{"code":"HEALTH"}}
{"t":60,"do":"bind","job":"<y>","task":"w","rank":0,"node":"a","devices":{"nvidia.com/gpu":[0,1,2,3]}}
{"t":200,"do":"summary","decisions_sha256":"","bound":1,"pending":2}
)";

Timeline Both() {
  auto timeline = ReadTimeline(kScript, kDecisions);
  EXPECT_TRUE(timeline.ok());
  return std::move(*timeline);
}

TEST(Timeline, NodesStandByTheirPlaceInTheFabric) {
  const Timeline timeline = Both();
  ASSERT_EQ(timeline.nodes.size(), 2u);
  EXPECT_EQ(timeline.nodes[0].name, "a");
  EXPECT_EQ(timeline.nodes[1].path, (std::vector<std::string>{"s0", "l1"}));
}
TEST(Timeline, ARankStaysFromItsBindToItsEviction) {
  const Timeline timeline = Both();
  ASSERT_EQ(timeline.stays.size(), 4u);
  EXPECT_EQ(timeline.stays[0].start, 0);
  EXPECT_EQ(timeline.stays[0].end, 60);
  EXPECT_EQ(timeline.stays.back().end, 200);  // y, to the end
  EXPECT_EQ(timeline.jobs[0].evictions, 1);
}
TEST(Timeline, WaitsAreBeforeTheStartAndAfterAnEviction) {
  const Timeline timeline = Both();
  using Spans = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(timeline.jobs[0].waits, (Spans{{60, 200}}));
  EXPECT_EQ(timeline.jobs[1].waits, (Spans{{10, 60}}));
  EXPECT_EQ(timeline.jobs[1].first_start, 60);
}
TEST(Timeline, AMomentCountsUseQueuesAndStrandedGpus) {
  const Timeline timeline = Both();
  EXPECT_EQ(Queues(timeline), (std::vector<std::string>{"default", "q1"}));
  const Moment early = At(timeline, 30);
  EXPECT_DOUBLE_EQ(early.used, 4.5);
  EXPECT_DOUBLE_EQ(early.gpus, 8);
  EXPECT_DOUBLE_EQ(early.stranded, 3.5);
  EXPECT_EQ(early.running, 2);
  EXPECT_EQ(early.waiting, 1);
  EXPECT_DOUBLE_EQ(early.gpus_waited_for, 4);
  const Moment late = At(timeline, 200);
  EXPECT_DOUBLE_EQ(late.used, 4);
  EXPECT_DOUBLE_EQ(late.used_by_queue[0], 4);
  EXPECT_EQ(late.waiting, 2);
}
TEST(Timeline, EachDeviceKnowsWhoSitsOnIt) {
  const Timeline timeline = Both();
  const auto early = SeatsAt(timeline, 30);
  ASSERT_EQ(early.size(), 2u);
  EXPECT_EQ(early[0].jobs, (std::vector<int>{0, 0, -1, -1}));
  EXPECT_EQ(early[1].jobs, (std::vector<int>{0, 0, -1, 2}));
  EXPECT_EQ(SeatsAt(timeline, 200)[0].jobs, (std::vector<int>{1, 1, 1, 1}));
}
TEST(Timeline, MomentsAreAtEachChangeUnlessThereAreTooMany) {
  const Timeline timeline = Both();
  EXPECT_EQ(Moments(timeline, 100).size(), 5u);  // 0, 10, 20, 60, 200
  const auto few = Moments(timeline, 3);
  ASSERT_EQ(few.size(), 3u);
  EXPECT_EQ(few[1].t, 100);
  EXPECT_EQ(few[2].t, 200);
}
TEST(Timeline, SaysWhichLineOfWhichFileIsWrong) {
  const auto error = [](const std::string& script, const std::string& decisions) {
    const auto timeline = ReadTimeline(script, decisions);
    return timeline.ok() ? std::string("none") : timeline.error().message;
  };
  EXPECT_THAT(error("{}\n", ""), HasSubstr("script line 1"));
  EXPECT_THAT(error(kScript, "\n{\n"), HasSubstr("decisions line 2"));
  EXPECT_THAT(error(kScript, R"({"t":0,"do":"finish","job":"nobody"})"),
              HasSubstr("no job nobody"));
  EXPECT_THAT(error(kScript, R"({"t":0,"do":"bind","job":"x","task":"w","rank":0,"node":"c"})"),
              HasSubstr("no node c"));
  EXPECT_THAT(error(R"({"t":0,"op":"node.add","name":3})", ""), HasSubstr("script line 1"));
  EXPECT_THAT(error(R"({"t":-1,"op":"end"})", ""), HasSubstr("t is not from 0"));
}
TEST(Timeline, AnEmptyScriptIsAnEmptyTimeline) {
  const auto timeline = ReadTimeline("", "");
  ASSERT_TRUE(timeline.ok());
  EXPECT_THAT(ToSvg(*timeline, "nothing"), HasSubstr("</svg>"));
}

TEST(Svg, HasABlockForEachRankAndEscapesNames) {
  const std::string svg = ToSvg(Both(), "a & b");
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr("<title>x on a</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;y&gt; on a</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<y>")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}
TEST(Svg, TimesAreReadable) {
  EXPECT_EQ(SpanText(20), "20 ms");
  EXPECT_EQ(SpanText(90'000), "90 s");
  EXPECT_EQ(SpanText(150'000), "2.5 min");
  EXPECT_EQ(SpanText(7'200'000), "2 h");
  EXPECT_EQ(SpanText(86'400'000 * 3ll), "3 d");
}

}  // namespace
}  // namespace muster::timeline
