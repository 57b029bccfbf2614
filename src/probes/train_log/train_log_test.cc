#include "probes/train_log/train_log.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "world/testing/captures.h"

namespace muster::train_log {
namespace {

// Lines as the trainers print them; formats and their places in the sources: train_log.cc.
constexpr const char* kTitan =
    "[titan] 2026-01-01 00:00:00,000 - root - INFO - \x1b[31mstep: 50  \x1b[32mloss:  2.1234  "
    "\x1b[38;2;180;60;0mgrad_norm:  0.9876  \x1b[38;2;54;234;195mmemory: 39.12GiB(49.48%)  "
    "\x1b[34mtps: 1,444  \x1b[36mtflops: 300.32  \x1b[35mmfu: 23.10%\x1b[39m\n";
constexpr const char* kMegatron =
    " [2025-03-01 10:00:00] iteration       43/     100 | consumed samples:        44032 | elapsed "
    "time per "
    "iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | learning rate: 1.5E-04 | "
    "global batch "
    "size:  1024 | lm loss: 6.513110E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped "
    "iterations:   0 | "
    "number of nan iterations:   0 |\n";
constexpr const char* kMegatronNew =
    " iteration       12/      50 | consumed samples:         1536 | elapsed time per iteration "
    "(ms): 3399.1 | "
    "compute per GPU (TFLOP/s/GPU): 496.3 (avg 496.1) | tokens/s/GPU inst/harmonic mean: "
    "9640.7/9629.8 | lm loss: "
    "9.1E+00 | number of nan iterations:   2 |\n";
constexpr const char* kNanotron =
    "06/02/2025 10:00:00 [INFO|DP=0|PP=0|TP=0|node]: iteration: 327281 / 378950 | consumed_tokens: "
    "1.37T | "
    "elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 365K | tokens_per_sec_per_gpu: 11.4K | "
    "global_batch_size: 4.19M | lm_loss: 2.03 | lr: 3e-05 | model_tflops_per_gpu: 38.3 | "
    "grad_norm: 0.2\n";
constexpr const char* kNanoGpt =
    "iter 0: loss 10.9886, time 49553.89ms, mfu -100.00%\niter 10: loss 9.4321, time 127.45ms, mfu "
    "29.10%\n";

TEST(TrainLog, ReadsTorchTitanThroughItsColours) {
  const TrainLog log = ParseTrainLog(kTitan);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.framework, Framework::kTorchTitan);
  EXPECT_EQ(log.steps[0].step, 50);
  EXPECT_DOUBLE_EQ(*log.steps[0].loss, 2.1234);
  EXPECT_DOUBLE_EQ(*log.steps[0].tokens_per_s_gpu, 1444);
  EXPECT_DOUBLE_EQ(*log.steps[0].tflops_gpu, 300.32);
  EXPECT_NEAR(*log.steps[0].mfu, 0.231, 1e-12);
  EXPECT_FALSE(log.steps[0].step_time_s);
}

TEST(TrainLog, ReadsMegatronsWallTimeAndThroughput) {
  const TrainLog log = ParseTrainLog(kMegatron);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.framework, Framework::kMegatron);
  EXPECT_EQ(log.steps[0].step, 43);
  EXPECT_NEAR(*log.steps[0].step_time_s, 5.4449, 1e-12);
  EXPECT_DOUBLE_EQ(*log.steps[0].tflops_gpu, 239.8);
  EXPECT_DOUBLE_EQ(*log.steps[0].loss, 6.51311);
  EXPECT_EQ(log.steps[0].nan_iterations, 0);
}

TEST(TrainLog, NeverTakesKernelTimeForThroughput) {
  const TrainLog log = ParseTrainLog(kMegatronNew);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_FALSE(log.steps[0].tflops_gpu);
  EXPECT_DOUBLE_EQ(*log.steps[0].kernel_tflops_gpu, 496.3);
  EXPECT_DOUBLE_EQ(*log.steps[0].tokens_per_s_gpu, 9640.7);
  EXPECT_EQ(log.steps[0].nan_iterations, 2);
}

TEST(TrainLog, ReadsNanotronsSuffixes) {
  const TrainLog log = ParseTrainLog(kNanotron);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.framework, Framework::kNanotron);
  EXPECT_EQ(log.steps[0].step, 327281);
  EXPECT_DOUBLE_EQ(*log.steps[0].step_time_s, 11.5);
  EXPECT_DOUBLE_EQ(*log.steps[0].tokens_per_s_gpu, 11400);
  EXPECT_EQ(log.steps[0].consumed_tokens, 1'370'000'000'000);
}

TEST(TrainLog, ReadsNanoGptAndDropsItsFirstMfu) {
  const TrainLog log = ParseTrainLog(kNanoGpt);
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_FALSE(log.steps[0].mfu);
  EXPECT_NEAR(*log.steps[1].mfu, 0.291, 1e-12);
  EXPECT_NEAR(*log.steps[1].step_time_s, 0.12745, 1e-12);
}

TEST(TrainLog, SaysWhenALossIsNotANumber) {
  const TrainLog log = ParseTrainLog(
      "step:  7  loss:      nan  grad_norm:     nan  memory:  1.0GiB(1.0%)  tps: 10  tflops: 1.0  "
      "mfu: 1.0%\n");
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_TRUE(std::isnan(*log.steps[0].loss));
}

TEST(TrainLog, FiguresAreReadWhole) {
  EXPECT_DOUBLE_EQ(*ParseFigure("1,234,567.5"), 1234567.5);
  EXPECT_DOUBLE_EQ(*ParseFigure("11.5K"), 11500);
  EXPECT_DOUBLE_EQ(*ParseFigure("6.5E+00"), 6.5);
  for (const char* text :
       {"", "K", "1,44", "1,4444", ",144", "12x", "1.2.3", "0x10", "1,234,56", "1.234,567", "--1"})
    EXPECT_FALSE(ParseFigure(text)) << text;
}

TEST(TrainLog, ALastLineWithoutItsEndIsNeverUsed) {
  for (const std::string whole : {kTitan, kMegatron, kMegatronNew, kNanotron}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      const TrainLog log = ParseTrainLog(whole.substr(0, n));
      EXPECT_TRUE(log.steps.empty()) << n;
    }
    EXPECT_TRUE(ParseTrainLog(whole.substr(0, whole.size() - 1)).cut);
  }
}

// A line that lost its tail but not its end of line must not say what the whole line did not say.
TEST(TrainLog, ALineThatLostItsTailGivesNoWrongFigure) {
  for (const std::string whole : {kMegatron, kMegatronNew}) {
    const Step intact = ParseTrainLog(whole).steps.at(0);
    for (size_t n = 0; n < whole.size(); ++n) {
      for (const Step& step : ParseTrainLog(whole.substr(0, n) + "\n").steps) {
        EXPECT_EQ(step.step, intact.step);
        EXPECT_EQ(step.step_time_s, intact.step_time_s);
        EXPECT_TRUE(!step.tflops_gpu || step.tflops_gpu == intact.tflops_gpu);
        EXPECT_TRUE(!step.nan_iterations || step.nan_iterations == intact.nan_iterations);
      }
    }
  }
}

TEST(TrainLog, AStepLineWithAMissingFieldIsCountedAsUnread) {
  const TrainLog log = ParseTrainLog("step: 5  loss: 1.0  tps:\nstep: x  loss: 1.0  tps: 12\n");
  EXPECT_TRUE(log.steps.empty());
  EXPECT_EQ(log.unread, 2);
}

TEST(TrainLog, OtherLinesAreNoSteps) {
  const TrainLog log = ParseTrainLog(
      "saving checkpoint at iteration 100\nsetting training iterations to 5\nstep: 3 of the "
      "installation\n"
      "validation loss at iteration 10 | lm loss value: 5.5 | lm loss PPL: 200 |\n");
  EXPECT_TRUE(log.steps.empty());
  EXPECT_EQ(log.unread, 0);
}

TEST(TrainLog, ReadsARealMegatronDeepSpeedLog) {
  const auto text = testing::SharedCapture(MUSTER_SOURCE_DIR,
                                           "third_party/superbenchmark/megatron_deepspeed.log");
  if (!text) GTEST_SKIP() << "third_party/superbenchmark/megatron_deepspeed.log is not here";
  const TrainLog log = ParseTrainLog(*text);
  ASSERT_EQ(log.steps.size(), 5u);
  EXPECT_EQ(log.framework, Framework::kMegatron);
  EXPECT_NEAR(*log.steps[0].step_time_s, 76.0153, 1e-9);
  EXPECT_DOUBLE_EQ(*log.steps[1].tflops_gpu, 149.10);
  EXPECT_DOUBLE_EQ(*log.steps[0].loss, 11.00492);
  EXPECT_EQ(log.steps[0].consumed_tokens, 4194304);
  EXPECT_EQ(log.steps[4].nan_iterations, 0);
}

TEST(TrainLog, AnyBytesAreSurvived) {
  EXPECT_TRUE(rc::check("any text", [](const std::string& text) {
    RC_ASSERT(ParseTrainLog(text).steps.size() <= text.size());
  }));
  EXPECT_TRUE(rc::check("any change of one byte", [](uint8_t byte) {
    const std::string whole = std::string(kTitan) + kMegatron + kNanotron + kNanoGpt;
    const size_t at = *rc::gen::inRange<size_t>(0, whole.size());
    std::string damaged = whole;
    damaged[at] = static_cast<char>(byte);
    RC_ASSERT(ParseTrainLog(damaged).steps.size() <= 6u);
  }));
}

}  // namespace
}  // namespace muster::train_log
