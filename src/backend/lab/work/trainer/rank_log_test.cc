#include "backend/lab/work/trainer/rank_log.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

// measure/training reads these lines by their beginning.
TEST(RankLog, EveryLineBeginsWithItsEvent) {
  const RankIdentity identity;
  const ShardRecord shard;
  const Error error{Code::kTimeout, "late", {}};
  for (const std::string& line :
       {StartLine(identity, {}), ConfigLine({}, 512, "avx2+fma"), StepLine({}),
        CheckpointLine("/ck", shard), CheckpointErrorLine("/ck", "f", error),
        ManifestLine("/ck", {}), ErrorLine(error), EndLine({})}) {
    EXPECT_THAT(line, StartsWith("{\"event\":\""));
    EXPECT_EQ(line.back(), '\n');
    EXPECT_TRUE(Json::parse(line, nullptr, false).is_object()) << line;
  }
}

TEST(RankLog, WritesWhatIsNoNumberAsText) {
  StepRecord step;
  step.loss = std::nan("");
  step.local_loss = INFINITY;
  const Json json = Json::parse(StepLine(step));
  EXPECT_EQ(json["loss"], "nan");
  EXPECT_EQ(json["local_loss"], "inf");
}

TEST(RankLog, SurvivesTextThatIsNotUtf8) {
  RankIdentity identity;
  identity.node = "n\xff\"\n";
  EXPECT_TRUE(Json::parse(StartLine(identity, {}), nullptr, false).is_object());
}

TEST(RankLog, SummaryIsWrittenAsTorchTitanWritesIt) {
  EndRecord end;
  end.steps = 60;
  end.loss = 1.5;
  end.grad_norm = 0.25;
  end.tokens_per_s = 1234567;
  end.flops = 5e10;
  end.mfu = 0.231;
  end.resident_bytes = 1u << 30;
  end.memory_bytes = 4ull << 30;
  EXPECT_EQ(
      TitanLine(end),
      "step: 60  loss:  1.5000  grad_norm:  0.2500  memory:  1.00GiB(25.00%)  tps: 1,234,567  "
      "tflops: 0.0500  mfu: 23.10%\n");
}

}  // namespace
}  // namespace muster::lab
