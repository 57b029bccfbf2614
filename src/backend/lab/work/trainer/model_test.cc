#include "backend/lab/work/trainer/model.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "backend/lab/work/trainer/text.h"

namespace muster::lab {
namespace {

constexpr ModelShape kSmall{4, 3, 8};

Batch Example(const ModelShape& shape, size_t size) {
  SeededRandom random(3);
  return SampleBatch(Encode(TrainingText()), shape, size, random);
}

TEST(CharModel, GradientIsTheSlopeOfTheLoss) {
  CharModel model(kSmall, 1);
  const Batch batch = Example(kSmall, 16);
  std::vector<float> gradient(kSmall.Parameters()), scratch(kSmall.Parameters());
  model.LossAndGradient(batch, gradient);
  int checked = 0;
  for (size_t i = 0; i < gradient.size(); i += 13) {
    constexpr float kStep = 1e-2f;
    const float at = model.parameters()[i];
    model.parameters()[i] = at + kStep;
    const double up = model.LossAndGradient(batch, scratch);
    model.parameters()[i] = at - kStep;
    const double down = model.LossAndGradient(batch, scratch);
    model.parameters()[i] = at;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * kStep), 2e-3) << "parameter " << i;
    checked += std::abs(gradient[i]) > 1e-3f ? 1 : 0;
  }
  EXPECT_GT(checked, 20);
}

TEST(CharModel, BeginsNearTheUniformGuessAndLearns) {
  const ModelShape shape;
  CharModel model(shape, 1);
  Adam adam(shape.Parameters(), 4e-3f);
  std::vector<float> gradient(shape.Parameters());
  const Batch batch = Example(shape, 64);
  const float first = model.LossAndGradient(batch, gradient);
  EXPECT_NEAR(first, std::log(96.0), 0.3);
  for (int i = 0; i < 30; ++i) {
    model.LossAndGradient(batch, gradient);
    adam.Step(model.parameters(), gradient);
  }
  EXPECT_LT(model.LossAndGradient(batch, gradient), 0.5f * first);
}

TEST(CharModel, TheSameSeedGivesTheSameBits) {
  EXPECT_EQ(CharModel(kSmall, 7).parameters(), CharModel(kSmall, 7).parameters());
  EXPECT_NE(CharModel(kSmall, 7).parameters(), CharModel(kSmall, 8).parameters());
}

TEST(CharModel, CountsItsParametersAndWork) {
  const ModelShape shape;
  EXPECT_EQ(shape.Parameters(), 96u * 16 + 256 * 256 + 256 + 256 * 96 + 96);
  EXPECT_DOUBLE_EQ(shape.FlopsPerToken(), 6.0 * (256 * 256 + 256 * 96));
}

TEST(CharModel, ProbabilitiesOfTheNextTokenSumToOne) {
  CharModel model(kSmall, 1);
  for (const std::string text : {"", "a", "a longer text than the window"}) {
    const auto next = model.Next(Encode(text), 0.7f);
    EXPECT_NEAR(std::accumulate(next.begin(), next.end(), 0.0), 1, 1e-5) << text;
  }
}

TEST(Draw, FollowsTheProbabilities) {
  SeededRandom random(5);
  const std::vector<float> odds = {0.0f, 0.75f, 0.25f};
  int counts[3] = {};
  for (int i = 0; i < 4000; ++i) ++counts[Draw(odds, random)];
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1], 3000, 150);
}

TEST(Text, EveryTokenHasItsCharacter) {
  for (int t = 0; t < kVocabulary; ++t) {
    const auto token = static_cast<uint8_t>(t);
    EXPECT_EQ(TokenOf(CharacterOf(token)), token);
  }
  EXPECT_EQ(Decode(Encode("Rank 7,\nall well.")), "Rank 7,\nall well.");
  EXPECT_EQ(Decode(Encode("a\tb\xC3\xA9")), "a b  ");
}

}  // namespace
}  // namespace muster::lab
