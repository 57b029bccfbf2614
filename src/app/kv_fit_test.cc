#include "app/kv_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/testing/fake_clock.h"
#include "world/testing/memory_files.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

class KvFitDeployTest : public ::testing::Test {
 protected:
  KvFitDeployTest() : files_(&clock_) {
    files_.Put("config.json",
               R"({"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,
                   "hidden_size":8192,"max_position_embeddings":131072})");
    files_.Put("index.json", R"({"metadata":{"total_size":141107412992}})");
    request_.config_file = "config.json";
    request_.index_file = "index.json";
    request_.gpu = "NVIDIA H100 80GB HBM3";
    request_.deployment.tensor_parallel = 8;
  }
  testing::FakeClock clock_;
  testing::MemoryFiles files_;
  KvFitRequest request_;
};

TEST_F(KvFitDeployTest, EightGpusHoldAModelOfSeventyBillionAndSayWhatWasAssumed) {
  const auto sheet = FitDeploy(files_, request_);
  ASSERT_TRUE(sheet.ok()) << sheet.error().ToString();
  EXPECT_TRUE(sheet->fit.starts);
  EXPECT_EQ(sheet->assumed.size(), 4u);
  EXPECT_GT(sheet->fit.tokens, 1'000'000);
}

TEST_F(KvFitDeployTest, TwoGpusDoNotAtFullLengthAndTheSheetSaysWhichLengthWouldStart) {
  request_.deployment.tensor_parallel = 2;
  const auto sheet = FitDeploy(files_, request_);
  ASSERT_TRUE(sheet.ok());
  EXPECT_FALSE(sheet->fit.starts);
  EXPECT_LT(sheet->fit.longest_model_len, 131072);
}

TEST_F(KvFitDeployTest, WhatIsMissingOrWrongIsNamed) {
  const auto refused = [&](auto change, const char* what) {
    KvFitRequest request = request_;
    change(request);
    const auto sheet = FitDeploy(files_, request);
    ASSERT_FALSE(sheet.ok()) << what;
    EXPECT_THAT(sheet.error().ToString(), HasSubstr(what));
  };
  refused([](auto& r) { r.config_file = "none.json"; }, "none.json");
  refused([](auto& r) { r.index_file = ""; }, "--weights");
  refused([](auto& r) { r.weights = "many"; }, "--weights many");
  refused([](auto& r) { r.gpu = "Voodoo"; }, "--gpu Voodoo");
  refused([](auto& r) { r.gpu = ""; }, "--memory");
  refused([](auto& r) { r.memory = "80 furlongs"; }, "--memory");
  refused([](auto& r) { r.deployment.max_model_len = 1 << 20; }, "131072");
  refused([](auto& r) { r.deployment.tensor_parallel = 3; }, "KV heads");
}

}  // namespace
}  // namespace muster
