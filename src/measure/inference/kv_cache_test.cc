#include "measure/inference/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

constexpr double kGiB = 1024.0 * 1024 * 1024;

// The published shape of a model of 8 billion parameters with grouped heads.
constexpr const char* kGrouped =
    R"({"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,
        "max_position_embeddings":8192,"torch_dtype":"bfloat16"})";

Deployment OnOneGpu() {
  Deployment d;
  d.gpu_memory_bytes = 39.50 * kGiB;
  d.weights_bytes = 14.96 * kGiB;
  d.overhead_bytes = (9.37 + 0.10) * kGiB;
  d.max_model_len = 8192;
  return d;
}

TEST(KvCache, FiguresOfAPublishedStartOfVllmComeOut) {
  // vllm-project/vllm issue 12330: 5691 blocks of 16 tokens, concurrency 11.12 at 8192 tokens.
  const auto fit = FitKvCache(ParseModelConfig(kGrouped, "config.json").value(), OnOneGpu());
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->bytes_per_token, 131072);
  EXPECT_NEAR(static_cast<double>(fit->tokens), 5691 * 16, 16 * 6);
  EXPECT_NEAR(fit->concurrency_at_max, 11.12, 0.02);
  EXPECT_TRUE(fit->starts);
  EXPECT_FALSE(fit->no_preemption) << "256 sequences of 8192 tokens do not fit";
}

TEST(KvCache, ModelLongerThanTheCacheDoesNotStart) {
  Deployment d = OnOneGpu();
  d.overhead_bytes += 11 * kGiB;
  const auto fit = FitKvCache(ParseModelConfig(kGrouped, "c").value(), d);
  EXPECT_FALSE(fit->starts);
  EXPECT_LT(fit->longest_model_len, 8192);
  d.weights_bytes = 100 * kGiB;
  EXPECT_EQ(FitKvCache(ParseModelConfig(kGrouped, "c").value(), d)->tokens, 0);
}

TEST(KvCache, TensorRanksShareHeadsUntilThereAreNone) {
  const ModelShape shape = ParseModelConfig(kGrouped, "c").value();
  Deployment d = OnOneGpu();
  d.tensor_parallel = 8;
  EXPECT_EQ(FitKvCache(shape, d)->bytes_per_token, 131072 / 8);
  d.tensor_parallel = 16;
  EXPECT_EQ(FitKvCache(shape, d)->bytes_per_token, 131072 / 8) << "heads are copied";
  d.tensor_parallel = 3;
  EXPECT_THAT(FitKvCache(shape, d).error().message, HasSubstr("8 KV heads"));
}

TEST(KvCache, LatentCacheIsCopiedToEveryTensorRank) {
  const auto shape = ParseModelConfig(
      R"({"num_hidden_layers":61,"num_attention_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64})",
      "c");
  Deployment d = OnOneGpu();
  const double alone = FitKvCache(*shape, d)->bytes_per_token;
  EXPECT_EQ(alone, 61.0 * 576 * 2);
  d.tensor_parallel = 8;
  EXPECT_EQ(FitKvCache(*shape, d)->bytes_per_token, alone);
}

TEST(KvCache, ConfigsThatCannotBeJudgedAreRefusedByKey) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "no JSON"},
           {"{}", "num_hidden_layers"},
           {R"({"num_hidden_layers":-1})", "num_hidden_layers"},
           {R"({"num_hidden_layers":2})", "num_attention_heads"},
           {R"({"num_hidden_layers":2,"num_attention_heads":3,"hidden_size":10})", "hidden_size"},
           {R"({"num_hidden_layers":2,"num_attention_heads":2,"mamba_d_state":4})",
            "mamba_d_state"}}) {
    const auto shape = ParseModelConfig(text, "config.json");
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_THAT(shape.error().message, HasSubstr(what));
  }
}

RC_GTEST_PROP(KvCache, MoreMemoryNeverHoldsLess, ()) {
  const ModelShape shape = ParseModelConfig(kGrouped, "c").value();
  Deployment d = OnOneGpu();
  d.gpu_memory_bytes = *rc::gen::inRange<int>(1, 200) * kGiB;
  d.weights_bytes = *rc::gen::inRange<int>(1, 100) * kGiB;
  const auto less = FitKvCache(shape, d);
  d.gpu_memory_bytes += kGiB;
  RC_ASSERT(FitKvCache(shape, d)->tokens >= less->tokens);
  RC_ASSERT(less->starts == (less->concurrency_at_max >= 1));
}

}  // namespace
}  // namespace muster
