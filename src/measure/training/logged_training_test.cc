#include "measure/training/logged_training.h"

#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace muster::training {
namespace {

class LoggedTraining : public ::testing::Test {
 protected:
  LoggedTraining() {
    run_.gang = "g";
    run_.nodes = {"a", "b"};
    run_.ranks_per_node = 2;
    run_.exit_codes = {0, 0, 0, 0};
    for (int i = 1; i <= 40; ++i) {
      LoggedStep step;
      step.step = i;
      step.loss = 4.0 - i * 0.05;
      step.step_time_s = 2.0;
      step.tokens_per_s_gpu = 1000.0;
      step.tflops_gpu = 400.0;
      step.mfu = 0.30;
      run_.steps.push_back(step);
    }
  }
  const Observation& Of(const std::string& fact, const std::string& id = "g") {
    seen_ = ObserveLoggedTraining(run_, Reading{});
    for (const Observation& o : seen_)
      if (o.fact == fact && o.subject.id == id) return o;
    throw std::runtime_error(fact);
  }
  double Real(const std::string& fact) { return std::get<double>(*Of(fact).value()); }
  void Each(const std::function<void(LoggedStep&)>& change) {
    for (LoggedStep& step : run_.steps) change(step);
  }

  LoggedRun run_;
  Observations seen_;
};

TEST_F(LoggedTraining, MfuPrefersWorkOverTheGivenPeak) {
  EXPECT_DOUBLE_EQ(Real("train.mfu"), 0.30);
  run_.peak_flops = 989.4e12;
  EXPECT_NEAR(Real("train.mfu"), 400 / 989.4, 1e-9);
  Each([](LoggedStep& s) { s.tflops_gpu.reset(); });
  EXPECT_DOUBLE_EQ(Real("train.mfu"), 0.30);  // FLOPs per token are not known
  run_.flops_per_token = 4e11;
  EXPECT_NEAR(Real("train.mfu"), 400 / 989.4, 1e-9);
}

TEST_F(LoggedTraining, ASparsePeakTakenForDenseIsNotBelievedTheOtherWayRound) {
  run_.peak_flops = 100e12;
  EXPECT_EQ(Of("train.mfu").unobserved()->reason, UnknownReason::kToolFault);
}

TEST_F(LoggedTraining, SpreadComesFromTokensWhereNoTimeIsPrinted) {
  EXPECT_DOUBLE_EQ(Real("train.step_time"), 2);
  Each([](LoggedStep& s) { s.step_time_s.reset(); });
  EXPECT_DOUBLE_EQ(Real("train.step_time_spread"), 1);
  EXPECT_NE(Of("train.step_time").unobserved(), nullptr);
}

TEST_F(LoggedTraining, ALossThatIsNoNumberCountsAlsoInAFailedRun) {
  run_.steps[20].loss = NAN;
  run_.exit_codes = {0, 0, 1, 0};
  EXPECT_EQ(std::get<int64_t>(*Of("train.nan_steps").value()), 1);
  EXPECT_NE(Of("train.mfu").unobserved(), nullptr);
}

TEST_F(LoggedTraining, WhatALogDoesNotSayIsUnknown) {
  for (const char* fact : {"train.start_spread", "train.checkpoint_written"})
    EXPECT_NE(Of(fact).unobserved(), nullptr) << fact;
  for (const char* fact : {"train.rank_lag", "train.checkpoint_of_node"})
    EXPECT_NE(Of(fact, "a").unobserved(), nullptr) << fact;
  Each([](LoggedStep& s) { s.loss.reset(); });
  EXPECT_NE(Of("train.nan_steps").unobserved(), nullptr);
  EXPECT_NE(Of("train.loss_drop").unobserved(), nullptr);
}

TEST_F(LoggedTraining, FailedMissingAndCutRunsGiveNoFigure) {
  const LoggedRun whole = run_;
  for (const auto& damage : std::vector<std::function<void()>>{
           [&] { run_.exit_codes[3] = 1; }, [&] { run_.exit_codes.pop_back(); },
           [&] { run_.cut = true; }, [&] { run_.steps.clear(); }, [&] { run_.nodes.clear(); }}) {
    run_ = whole;
    damage();
    for (const char* fact : {"train.mfu", "train.step_time", "train.step_time_spread",
                             "train.nan_steps", "train.loss_drop"})
      EXPECT_NE(Of(fact).unobserved(), nullptr) << fact;
  }
  run_ = whole;
  run_.exit_codes[3] = 1;
  EXPECT_NE(Of("train.rank_started", "b").unobserved(), nullptr);
  EXPECT_NE(Of("train.rank_started", "a").value(), nullptr);
  EXPECT_EQ(std::get<int64_t>(*Of("train.ranks_started").value()), 3);
}

TEST_F(LoggedTraining, TooFewStepsGiveNoFigure) {
  run_.steps.resize(29);
  EXPECT_EQ(Of("train.mfu").unobserved()->reason, UnknownReason::kTooFewSamples);
}

}  // namespace
}  // namespace muster::training
