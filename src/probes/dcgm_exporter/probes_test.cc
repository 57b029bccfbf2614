#include "probes/dcgm_exporter/probes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::dcgm_exporter {
namespace {

std::string OnGpu(int gpu, std::string_view value) {
  return fmt::format(
      "DCGM_FI_DEV_GPU_UTIL{{gpu=\"{0}\",UUID=\"GPU-{0}\",device=\"nvidia{0}\",modelName=\"NVIDIA "
      "H100 80GB "
      "HBM3\",hostname=\"node-07\",DCGM_FI_DRIVER_VERSION=\"570.211.01\"}} {1}\n",
      gpu, value);
}

Reading Scraped(std::string text) {
  Reading reading;
  reading.probe = "dcgm_exporter.page";
  reading.host = "node-07";
  reading.text = std::move(text);
  return reading;
}

const Observation* Find(const Observations& all, std::string_view fact) {
  for (const Observation& o : all) {
    if (o.fact == fact) return &o;
  }
  return nullptr;
}

TEST(ExporterProbe, CountsGpusWithData) {
  const Observations seen = ParsePage(Scraped(OnGpu(0, "0") + OnGpu(1, "9223372036854775794")));
  ASSERT_NE(Find(seen, "exporter.gpus"), nullptr);
  EXPECT_EQ(*Find(seen, "exporter.gpus")->value(), Value(int64_t{1}));
  EXPECT_EQ(*Find(seen, "exporter.blank_fields")->value(), Value(int64_t{1}));
}

TEST(ExporterProbe, PageWithoutGpusIsNotObserved) {
  const Observations seen = ParsePage(Scraped("go_goroutines 7\n"));
  ASSERT_NE(Find(seen, "exporter.gpus")->unobserved(), nullptr);
  EXPECT_EQ(Find(seen, "exporter.gpus")->unobserved()->reason, UnknownReason::kNotObserved);
}

TEST(ExporterProbe, CutPageNeverShowsMoreGpusThanTheWholeOne) {
  const std::string text = OnGpu(0, "10") + OnGpu(1, "20") + OnGpu(2, "30");
  for (size_t cut = 0; cut < text.size(); ++cut) {
    const Observations seen = ParsePage(Scraped(text.substr(0, cut)));
    const Observation* gpus = Find(seen, "exporter.gpus");
    ASSERT_NE(gpus, nullptr) << cut;
    if (gpus->value() != nullptr) {
      EXPECT_LT(std::get<int64_t>(*gpus->value()), 3) << cut;
      EXPECT_EQ(text[cut - 1], '\n') << cut;
    }
  }
}

TEST(ExporterProbe, GarbageInThePageIsUnparsable) {
  const Observations seen = ParsePage(Scraped(OnGpu(0, "10") + "<html>\n" + OnGpu(1, "20")));
  ASSERT_NE(Find(seen, "exporter.gpus")->unobserved(), nullptr);
  EXPECT_EQ(Find(seen, "exporter.gpus")->unobserved()->reason, UnknownReason::kUnparsable);
}

}  // namespace
}  // namespace muster::dcgm_exporter
