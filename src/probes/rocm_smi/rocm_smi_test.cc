// The shapes are those of the amd-smi command line documentation (ROCm 6 and 7) and of public
// rocm-smi outputs.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/rocm_smi/probes.h"

namespace muster::rocm_smi {
namespace {

using Facts = std::map<std::pair<std::string, std::string>, std::string>;

Reading Of(std::string text) {
  Reading reading;
  reading.host = "n1";
  reading.text = std::move(text);
  return reading;
}
Facts Read(const std::string& text) {
  Facts facts;
  for (const auto& o : ParseQuery(Of(text)))
    facts[{o.subject.id, o.fact}] =
        o.value() != nullptr ? FormatValue(*o.value(), Unit::kNone) : "?";
  return facts;
}

const std::string kStatic =
    R"([{"gpu":0,"asic":{"market_name":"AMD Instinct MI300X"},"driver":{"name":"amdgpu","version":"6.12.12"}},
{"gpu":1,"asic":{"market_name":"AMD Instinct MI300X"},"driver":{"name":"amdgpu","version":"6.12.12"}}])";
const std::string kMetric =
    R"([{"gpu":0,"temperature":{"edge":"N/A","hotspot":{"value":41,"unit":"C"}},"ecc":{"total_uncorrectable_count":0}},
{"gpu":1,"temperature":{"edge":{"value":39,"unit":"C"},"hotspot":"N/A"},"ecc":{"total_uncorrectable_count":2}}])";

TEST(RocmSmiTest, StaticAndMetricAreJoined) {
  for (const std::string& metric : {kMetric, "{\"gpu_data\":" + kMetric + "}"}) {
    auto facts = Read("WARNING: note\n" + kStatic + "\n" + metric);
    EXPECT_EQ((facts[{"n1", "gpu.count"}]), "2");
    EXPECT_EQ((facts[{"n1", "node.driver_version"}]), "6.12.12");
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.model"}]), "AMD Instinct MI300X");
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.temperature"}]), "41");
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.ecc_uncorrected"}]), "0");
    EXPECT_EQ((facts[{"n1/gpu1", "gpu.temperature"}]), "39");
    EXPECT_EQ((facts[{"n1/gpu1", "gpu.ecc_uncorrected"}]), "2");
  }
}

TEST(RocmSmiTest, OlderToolTellsNoEcc) {
  auto facts = Read(
      R"json({"card0":{"Card Series":"AMD Instinct MI250X","Temperature (Sensor junction) (C)":"60.0"},
"card1":{"Card series":"AMD Instinct MI250X","Temperature (Sensor edge) (C)":"N/A"},"system":{"Driver version":"6.7.0"}})json");
  EXPECT_EQ((facts[{"n1", "gpu.count"}]), "2");
  EXPECT_EQ((facts[{"n1/gpu0", "gpu.temperature"}]), "60");
  EXPECT_EQ((facts[{"n1/gpu1", "gpu.temperature"}]), "?");
  EXPECT_EQ((facts[{"n1/gpu0", "gpu.ecc_uncorrected"}]), "?");
}

TEST(RocmSmiTest, SentinelsAndMissingKeysAreNoValues) {
  for (const char* ecc : {"4294967295", "18446744073709551615", "-1", "\"N/A\"", "null", "0.5"}) {
    auto facts = Read(
        R"([{"gpu":0,"asic":{"market_name":"N/A"}}] [{"gpu":0,"temperature":{"hotspot":{"value":65535,"unit":"C"}},"ecc":{"total_uncorrectable_count":)" +
        std::string(ecc) + "}}]");
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.ecc_uncorrected"}]), "?") << ecc;
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.temperature"}]), "?");
    EXPECT_EQ((facts[{"n1/gpu0", "gpu.present"}]), "?");
    EXPECT_EQ((facts[{"n1", "gpu.count"}]), "?");
  }
}

TEST(RocmSmiTest, DocumentsThatDisagreeOrAreCutGiveNothing) {
  const std::string whole = kStatic + "\n" + kMetric;
  for (size_t at = 0; at < whole.size(); ++at)
    for (const auto& [key, value] : Read(whole.substr(0, at))) ASSERT_EQ(value, "?") << at;
  for (const std::string& text :
       {kStatic, kMetric, kStatic + R"([{"gpu":0,"temperature":{}}])",
        kStatic + R"([{"gpu":0},{"gpu":0}])", std::string("{}"), std::string("[1]")})
    for (const auto& [key, value] : Read(text)) EXPECT_EQ(value, "?") << text;
}

RC_GTEST_PROP(RocmSmiProperty, AnyBytesAreSurvived, (const std::string& bytes)) {
  (void)ParseQuery(Of(bytes));
  (void)ParseQuery(Of("[{\"gpu\":0,\"asic\":" + bytes + "}]"));
}

TEST(RocmSmiTest, EachFactIsSaidEvenOfAnEmptyAnswer) {
  const Probe& probe = RocmSmiProbes()[0];
  const auto all = ParseReading(probe, Of(""));
  for (auto fact : probe.facts)
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& o) {
      return o.fact == fact && o.unobserved() != nullptr;
    })) << fact;
}

}  // namespace
}  // namespace muster::rocm_smi
