#include "probes/dcgm_exporter/gpu_page.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::dcgm_exporter {
namespace {

std::string OfGpu(int gpu, std::string_view value, std::string_view host_label = "hostname") {
  return fmt::format(
      "DCGM_FI_DEV_GPU_UTIL{{gpu=\"{0}\",UUID=\"GPU-{0}\",device=\"nvidia{0}\",modelName=\"NVIDIA "
      "H100 80GB "
      "HBM3\",{2}=\"node-07\",DCGM_FI_DRIVER_VERSION=\"570.211.01\"}} {1}\n",
      gpu, value, host_label);
}

GpuPage Parse(const std::string& text) { return ParseGpuPage(text, Dialect::kText004); }

TEST(GpuPage, ReadsBothSpellingsOfTheHostLabel) {
  for (const char* label : {"hostname", "Hostname"}) {
    const GpuPage page = Parse(OfGpu(3, "97", label));
    ASSERT_EQ(page.gpus.size(), 1u) << label;
    EXPECT_EQ(page.gpus[0].hostname, "node-07") << label;
    EXPECT_EQ(page.gpus[0].index, 3);
    EXPECT_EQ(page.gpus[0].uuid, "GPU-3");
    EXPECT_EQ(page.gpus[0].Field(kGpuUtil), 97);
    EXPECT_EQ(page.driver_version, "570.211.01");
  }
}

// The value stands in the exporter's own README as if it were a reading.
TEST(GpuPage, BlankValuesAreNoData) {
  for (const char* blank : {"9223372036854775794", "9223372036854775792", "9223372036854775807",
                            "NaN", "2147483632", "140737488355330.000000"}) {
    const GpuPage page =
        Parse("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" + OfGpu(0, blank) + OfGpu(1, "0"));
    EXPECT_EQ(page.GpusWithData(), 1u) << blank;
    EXPECT_EQ(page.BlankFields(), std::vector<std::string>{"DCGM_FI_DEV_GPU_UTIL"}) << blank;
  }
}

TEST(GpuPage, CountersMayCountPastThe32BitBlank) {
  EXPECT_FALSE(IsNoData(2147483640.0, true));
  EXPECT_TRUE(IsNoData(2147483640.0, false));
  EXPECT_FALSE(IsNoData(2147483648.0, false));
  EXPECT_TRUE(IsNoData(9223372036854775794.0, true));
}

TEST(GpuPage, MigInstancesAreOneGpu) {
  const GpuPage page = Parse(
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\",hostname=\"n\"} 1\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"8\",hostname=\"n\"} "
      "2\n");
  EXPECT_EQ(page.gpus.size(), 2u);
  EXPECT_EQ(page.GpusWithData(), 1u);
}

TEST(GpuPage, LinkRowsAreNotGpus) {
  EXPECT_TRUE(Parse("DCGM_FI_DEV_NVLINK_COUNT{nvlink=\"0\",gpu=\"0\",gpu_uuid=\"GPU-0\"} 1\n")
                  .gpus.empty());
}

TEST(GpuPage, ReadsTheNamesOfExporter490) {
  EXPECT_EQ(Parse("DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\",hostname=\"n\"} 0.97\n").GpusWithData(),
            1u);
}

}  // namespace
}  // namespace muster::dcgm_exporter
