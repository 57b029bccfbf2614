#include <algorithm>

#include <gtest/gtest.h>

#include "backend/lab/state/truth.h"
#include "backend/lab/telemetry/exporter.h"
#include "base/strings.h"
#include "probes/dcgm_exporter/gpu_page.h"

namespace muster::lab {
namespace {

using dcgm_exporter::Dialect;
using dcgm_exporter::GpuPage;
using dcgm_exporter::ParseGpuPage;

const TimePoint kNow{std::chrono::seconds(1'795'219'200)};

LabState TwoNodes() {
  return MakeLab(*ParseClusterSpec("nodes=2,gpus=8,numa=2,rails=8,leaves=2,spines=2,rate=400"), 3,
                 kNow - std::chrono::hours(1));
}
GpuPage PageOf(const LabState& state, size_t node = 0) {
  const auto page = ExporterPage(state, state.cluster.nodes[node], kNow);
  EXPECT_TRUE(page.ok());
  return ParseGpuPage(page.value_or(""), Dialect::kText004);
}

TEST(ExporterPage, HasEveryFieldOfTheDefaultListForEachGpu) {
  const LabState state = TwoNodes();
  const GpuPage page = PageOf(state);
  EXPECT_TRUE(page.text.whole());
  EXPECT_EQ(page.text.families.size(), 25u);
  ASSERT_EQ(page.gpus.size(), 8u);
  EXPECT_EQ(page.GpusWithData(), 8u);
  EXPECT_EQ(page.text.samples, 25u * 8u);
  EXPECT_TRUE(page.BlankFields().empty());
  EXPECT_EQ(page.gpus[3].hostname, "node000");
  EXPECT_EQ(page.gpus[3].uuid, state.cluster.nodes[0].gpus[3].uuid);
  EXPECT_EQ(page.driver_version, NodeNow(state, state.cluster.nodes[0], kNow).driver_version);
}

// Prometheus refuses a page with two equal rows, and joins rows of one metric only when they stand
// together.
TEST(ExporterPage, KeepsTheRowsOfAMetricTogetherInTheOrderOfTheFieldNumbers) {
  const auto page = ExporterPage(TwoNodes(), TwoNodes().cluster.nodes[0], kNow);
  const std::string_view text = *page;
  size_t last = 0;
  for (const char* name : {"SM_CLOCK", "GPU_TEMP", "POWER_USAGE", "GPU_UTIL", "XID_ERRORS",
                           "FB_FREE", "ROW_REMAP_FAILURE"}) {
    const size_t at = text.find(std::string("# TYPE DCGM_FI_DEV_") + name + " ");
    ASSERT_NE(at, std::string_view::npos) << name;
    EXPECT_GE(at, last) << name;
    last = at;
  }
}

TEST(ExporterPage, TellsTheStoryOfTheTruth) {
  LabState state = TwoNodes();
  ASSERT_TRUE(Inject(state, "remap_failed", "node000/gpu2", kNow).ok());
  const GpuPage page = PageOf(state);
  EXPECT_EQ(page.gpus[2].Field("DCGM_FI_DEV_ROW_REMAP_FAILURE"), 1);
  EXPECT_EQ(page.gpus[1].Field("DCGM_FI_DEV_ROW_REMAP_FAILURE"), 0);
  for (int gpu = 0; gpu < 8; ++gpu) {
    const GpuTruth truth = GpuNow(state, state.cluster.nodes[0], gpu, kNow);
    EXPECT_NEAR(*page.gpus[static_cast<size_t>(gpu)].Field("DCGM_FI_DEV_POWER_USAGE"),
                truth.power_watt, 1e-3);
  }
}

TEST(ExporterPage, MissingGpuHasNoRows) {
  LabState state = TwoNodes();
  ASSERT_TRUE(Inject(state, "gpu_missing", "node000/gpu5", kNow).ok());
  const GpuPage page = PageOf(state);
  EXPECT_EQ(page.GpusWithData(), 7u);
  EXPECT_TRUE(std::none_of(page.gpus.begin(), page.gpus.end(),
                           [](const auto& gpu) { return gpu.index == 5; }));
}

TEST(ExporterPage, SilentExporterAndDeadHostDoNotAnswer) {
  for (const char* fault : {"exporter_silent", "unreachable"}) {
    LabState state = TwoNodes();
    ASSERT_TRUE(Inject(state, fault, "node001", kNow).ok());
    const auto page = ExporterPage(state, state.cluster.nodes[1], kNow);
    ASSERT_FALSE(page.ok()) << fault;
    EXPECT_EQ(page.error().code, Code::kUnavailable) << fault;
    EXPECT_TRUE(ExporterPage(state, state.cluster.nodes[0], kNow).ok()) << fault;
  }
}

}  // namespace
}  // namespace muster::lab
