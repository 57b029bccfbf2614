#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sched/packing/baselines.h"
#include "sched/packing/mix.h"
#include "sched/packing/packer.h"
#include "sched/packing/residual.h"
#include "sched/packing/worth.h"

namespace muster::packing {
namespace {

Residual NodeOf(int cores, std::vector<int> gpu_left, int model = 0) {
  Residual node{cores * 1000, 1 << 20, static_cast<int>(gpu_left.size()), model, {}};
  for (size_t i = 0; i < gpu_left.size(); ++i) node.gpu_left[i] = static_cast<int16_t>(gpu_left[i]);
  return node;
}
Demand Pod(int cores, int gpus, int milli = kWholeGpu, uint32_t models = 0) {
  return {cores * 1000, 1024, gpus, gpus == 0 ? 0 : milli, models};
}
Mix MixOf(const std::vector<std::pair<Demand, int>>& demands) {
  Mix mix;
  for (const auto& [demand, count] : demands)
    for (int i = 0; i < count; ++i) mix.Observe(demand);
  return mix;
}

TEST(Residual, AShareNeedsOneDeviceWithEnoughLeft) {
  EXPECT_TRUE(Fits(NodeOf(8, {0, 300}), Pod(1, 1, 300)));
  EXPECT_FALSE(Fits(NodeOf(8, {200, 200}), Pod(1, 1, 300)));
}
TEST(Residual, WholeGpusNeedUntouchedDevices) {
  EXPECT_TRUE(Fits(NodeOf(8, {1000, 900, 1000}), Pod(1, 2)));
  EXPECT_FALSE(Fits(NodeOf(8, {1000, 999}), Pod(1, 2)));
}
TEST(Residual, CpuMemoryAndModelsAreHeld) {
  EXPECT_FALSE(Fits(NodeOf(1, {1000}), Pod(2, 1)));
  Demand much = Pod(1, 0);
  much.memory_mib = 2 << 20;
  EXPECT_FALSE(Fits(NodeOf(1, {1000}), much));
  EXPECT_FALSE(Fits(NodeOf(8, {1000}, 1), Pod(1, 1, kWholeGpu, 0b101)));
  EXPECT_TRUE(Fits(NodeOf(8, {1000}, 2), Pod(1, 1, kWholeGpu, 0b101)));
}
TEST(Residual, TakingLeavesUsedDevicesAlone) {
  Residual node = NodeOf(8, {400, 1000, 1000});
  Take(node, Pod(2, 2), -1);
  EXPECT_EQ(node.gpu_left[0], 400);
  EXPECT_EQ(GpuLeft(node), 400);
  Take(node, Pod(1, 1, 150), 0);
  EXPECT_EQ(node.gpu_left[0], 250);
  EXPECT_EQ(node.cpu_milli, 5000);
}

TEST(Fgd, CountsWhatADemandCannotUse) {
  const Residual node = NodeOf(8, {1000, 300});
  const auto expected = [&](const Demand& demand) {
    return Fragmentation(node, TypicalDemands(MixOf({{demand, 1}})));
  };
  EXPECT_DOUBLE_EQ(expected(Pod(1, 1)), 300);                 // the device in use is too small
  EXPECT_DOUBLE_EQ(expected(Pod(1, 1, 200)), 0);              // fits on both
  EXPECT_DOUBLE_EQ(expected(Pod(9, 1)), 1300);                // no CPU for it
  EXPECT_DOUBLE_EQ(expected(Pod(1, 2)), 1300);                // not enough devices
  EXPECT_DOUBLE_EQ(expected(Pod(1, 0)), 1300);                // asks for none
  EXPECT_DOUBLE_EQ(expected(Pod(1, 1, kWholeGpu, 2)), 1300);  // another model
}
TEST(Fgd, PutsAShareWhereItLosesLeast) {
  const auto typical = TypicalDemands(MixOf({{Pod(1, 1), 9}, {Pod(1, 1, 500), 1}}));
  EXPECT_EQ(ScoreFgd(NodeOf(8, {1000, 500}), Pod(1, 1, 500), typical).gpu, 1);
}
TEST(Fgd, LooksAtTheMostFrequentNineteenTwentieths) {
  const auto typical = TypicalDemands(MixOf({{Pod(1, 1), 96}, {Pod(2, 1), 4}}));
  ASSERT_EQ(typical.size(), 1u);
  EXPECT_DOUBLE_EQ(typical[0].count, 1);
}
TEST(BestFit, PrefersTheFullerNodeAndTheFullerDevice) {
  EXPECT_GT(ScoreBestFit(NodeOf(8, {1000}), Pod(1, 1)).score,
            ScoreBestFit(NodeOf(64, {1000, 1000, 1000, 1000}), Pod(1, 1)).score);
  EXPECT_EQ(ScoreBestFit(NodeOf(8, {1000, 700, 500}), Pod(1, 1, 400)).gpu, 2);
}
TEST(DotProd, PrefersTheSmallerProduct) {
  EXPECT_GT(
      ScoreDotProd(NodeOf(8, {1000}), Pod(4, 1)).score,
      ScoreDotProd(NodeOf(128, {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}), Pod(4, 1)).score);
}

TEST(Worth, IsNothingWithoutCpuOrGpus) {
  const Mix mix = MixOf({{Pod(4, 1), 10}});
  const Worth worth(mix, {NodeOf(64, {1000, 1000})}, {2});
  EXPECT_DOUBLE_EQ(worth.Of(NodeOf(3, {1000, 1000})), 0);
  EXPECT_DOUBLE_EQ(worth.Of(NodeOf(64, {0, 0})), 0);
  EXPECT_NEAR(worth.Of(NodeOf(64, {1000, 1000})), 2000, 40);
  EXPECT_NEAR(worth.Of(NodeOf(4, {1000, 1000})), 1000, 20);  // CPU for one
}
TEST(Worth, OfARestIsWhatSharesWouldUse) {
  const Worth worth(MixOf({{Pod(1, 1, 470), 10}}), {NodeOf(64, {1000})}, {1});
  EXPECT_NEAR(worth.Of(NodeOf(8, {480})), 470, 30);
  EXPECT_DOUBLE_EQ(worth.Of(NodeOf(8, {460})), 0);
}
TEST(Worth, PutsAShareOnARestThatIsOfNoOtherUse) {
  const Mix mix = MixOf({{Pod(1, 1, 300), 5}, {Pod(1, 1, 600), 5}});
  const Worth worth(mix, {NodeOf(64, {1000})}, {1});
  // 300 on the rest of 400 loses nothing; on the rest of 600 it takes the place of a 600.
  EXPECT_EQ(worth.Score(NodeOf(8, {1000, 600, 400}), Pod(1, 1, 300)).gpu, 2);
}
TEST(Worth, SendsManyCpusWhereCpusAreToSpare) {
  const Mix mix = MixOf({{Pod(8, 1), 10}, {Pod(40, 0), 3}});
  const Residual tight = NodeOf(64, std::vector<int>(8, 1000)), wide = NodeOf(104, {1000, 1000});
  const Worth worth(mix, {tight, wide}, {10});
  EXPECT_GT(worth.Score(wide, Pod(40, 0)).score, worth.Score(tight, Pod(40, 0)).score);
}
TEST(Worth, BreaksAFullNodeLast) {
  const Mix mix = MixOf({{Pod(4, 1), 10}, {Pod(32, 8), 1}});
  const Residual full = NodeOf(96, std::vector<int>(8, 1000));
  Residual broken = full;
  Take(broken, Pod(4, 1), -1);
  const Worth worth(mix, {full, broken}, {16});
  EXPECT_GT(worth.Score(broken, Pod(4, 1)).score, worth.Score(full, Pod(4, 1)).score);
}
TEST(Worth, SparesTheModelThatOthersNeed) {
  const Mix mix = MixOf({{Pod(4, 1), 10}, {Pod(4, 1, kWholeGpu, 0b10), 10}});
  const Residual a = NodeOf(64, {1000, 1000}, 0), b = NodeOf(64, {1000, 1000}, 1);
  const Worth worth(mix, {a, b}, {2, 2});
  EXPECT_GT(worth.Score(a, Pod(4, 1)).score, worth.Score(b, Pod(4, 1)).score);
}
TEST(Worth, IsFoundForNodesOfAnySize) {
  const Mix mix =
      MixOf({{Pod(16, 1), 3}, {Pod(256, 16), 1}, {Pod(2, 1, 1), 1}, {Pod(2, 1, 999), 1}});
  const Residual large = NodeOf(512, std::vector<int>(16, 1000));
  const Worth worth(mix, {large}, {16});
  EXPECT_GT(worth.Of(large), 8000);
  EXPECT_GT(worth.Score(large, Pod(2, 1, 999)).gpu, -1);
}

TEST(Packer, EveryPolicyPlacesWhatFitsAndNeverMore) {
  rc::check([] {
    const auto policy = *rc::gen::element(Policy::kMuster, Policy::kFgd, Policy::kBestFit,
                                          Policy::kDotProd, Policy::kRandom);
    std::vector<Residual> nodes;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i)
      nodes.push_back(NodeOf(*rc::gen::inRange(1, 130),
                             std::vector<int>(static_cast<size_t>(*rc::gen::inRange(1, 9)), 1000),
                             *rc::gen::inRange(0, 2)));
    std::vector<Demand> pods;
    Mix known;
    for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
      const int gpus = *rc::gen::element(0, 1, 1, 2, 4);
      pods.push_back(Pod(*rc::gen::inRange(0, 20), gpus,
                         gpus == 1 ? *rc::gen::inRange(1, 1001) : kWholeGpu,
                         static_cast<uint32_t>(*rc::gen::inRange(0, 4))));
      known.Observe(pods.back());
    }
    Packer packer(nodes, 2, policy, known, 7);
    for (const Demand& pod : pods) {
      const std::vector<Residual> before = packer.nodes();
      const auto placed = packer.Place(pod);
      const bool fits = std::any_of(before.begin(), before.end(),
                                    [&](const Residual& node) { return Fits(node, pod); });
      RC_ASSERT(placed.has_value() == fits);
      if (!placed) continue;
      RC_ASSERT(Fits(before[placed->node], pod));
      if (pod.IsShare()) RC_ASSERT(before[placed->node].gpu_left[placed->gpu] >= pod.gpu_milli);
      for (const Residual& node : packer.nodes())
        for (int g = 0; g < node.gpus; ++g) RC_ASSERT(node.gpu_left[g] >= 0);
    }
  });
}
TEST(Packer, KeptScoresAreThoseOfAFreshLook) {
  // With one class and a mix that never changes, a packer that scores every node anew must agree.
  std::vector<Residual> nodes(5, NodeOf(40, {1000, 1000, 1000, 1000}));
  nodes[3].cpu_milli = 90000;
  const Mix known = MixOf({{Pod(7, 1, 300), 1}});
  Packer packer(nodes, 1, Policy::kFgd, known, 1);
  const auto typical = TypicalDemands(known);
  for (int i = 0; i < 60; ++i) {
    std::optional<size_t> best;
    double score = 0;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (!Fits(nodes[n], Pod(7, 1, 300))) continue;
      const Choice choice = ScoreFgd(nodes[n], Pod(7, 1, 300), typical);
      if (!best || choice.score > score) best = n, score = choice.score;
    }
    const auto placed = packer.Place(Pod(7, 1, 300));
    ASSERT_EQ(placed.has_value(), best.has_value());
    if (!placed) break;
    ASSERT_EQ(placed->node, *best);
    Take(nodes[placed->node], Pod(7, 1, 300), placed->gpu);
  }
  EXPECT_EQ(nodes, packer.nodes());
}
TEST(Packer, KnowsItsPoliciesByName) {
  EXPECT_EQ(PolicyNamed("muster"), Policy::kMuster);
  EXPECT_EQ(PolicyNamed("random"), Policy::kRandom);
  EXPECT_FALSE(PolicyNamed("best").has_value());
}

}  // namespace
}  // namespace muster::packing
