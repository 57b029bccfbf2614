#include "measure/collective/localise.h"

#include <cmath>
#include <iostream>
#include <numbers>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "world/random.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using Nodes = std::vector<std::string>;

constexpr double kHealthy = 380;

// A cluster whose ring is as fast as the slowest thing in it.
struct Fabric {
  int nodes = 8, rails = 8;
  double noise = 0.02;
  std::map<std::string, double> slow_nodes;
  std::map<Subject, double>
      slow_pairs;                 // only neighbours in the ring of the measured set matter ...
  bool all_pairs_matter = false;  // ... unless everybody talks to everybody
  std::map<int, double> slow_rails;
  std::map<std::pair<std::string, int>, double> slow_adapters;
  mutable SeededRandom random{1};
  mutable int measured = 0;

  Nodes Names() const {
    Nodes names;
    for (int i = 0; i < nodes; ++i) names.push_back(fmt::format("node-{:02d}", i));
    return names;
  }
  double Gauss() const {
    const double u = 1 - random.Unit(), v = random.Unit();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }
  double Measure(const Nodes& set, std::optional<int> rail) const {
    ++measured;
    double factor = 1;
    for (size_t i = 0; i < set.size(); ++i) {
      if (const auto at = slow_nodes.find(set[i]); at != slow_nodes.end())
        factor = std::min(factor, at->second);
      for (size_t j = 0; j < set.size(); ++j) {
        if (j == i || (!all_pairs_matter && j != (i + 1) % set.size())) continue;
        if (const auto at = slow_pairs.find(PairSubject(set[i], set[j])); at != slow_pairs.end())
          factor = std::min(factor, at->second);
      }
      for (const auto& [adapter, slow] : slow_adapters) {
        if (adapter.first == set[i] && (!rail || *rail == adapter.second))
          factor = std::min(factor, slow);
      }
    }
    for (const auto& [bad, slow] : slow_rails) {
      if (!rail || *rail == bad) factor = std::min(factor, slow);
    }
    const double all = rail ? kHealthy / rails : kHealthy;
    return all * factor * std::max(0.05, 1 + noise * Gauss());
  }
  CollectiveMeter Meter(bool with_rails = false) const {
    CollectiveMeter meter;
    meter.set = [this](const Nodes& set) -> Result<double> { return Measure(set, std::nullopt); };
    if (with_rails)
      meter.rail = [this](const Nodes& set, int rail) -> Result<double> {
        return Measure(set, rail);
      };
    return meter;
  }
};

LocaliseOptions Options(const Fabric& fabric, bool healthy_known, bool with_rails = false) {
  LocaliseOptions options;
  options.healthy = healthy_known ? kHealthy : 0;
  if (with_rails) {
    for (int rail = 0; rail < fabric.rails; ++rail) options.rails.push_back(rail);
    options.adapter = [](const std::string& node, int rail) {
      return std::optional(HcaSubject(node, fmt::format("mlx5_{}", rail)));
    };
  }
  return options;
}

// 2 to 64 nodes, factor 0.5 to 0.8, noise 1 to 5 %.
Fabric Draw(uint64_t seed, int least_nodes = 3) {
  Fabric fabric;
  fabric.random = SeededRandom(seed * 7919 + 17);
  constexpr int kSizes[] = {2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 31, 32, 48, 64};
  do {
    fabric.nodes = kSizes[fabric.random.Below(std::size(kSizes))];
  } while (fabric.nodes < least_nodes);
  fabric.noise = 0.01 + 0.04 * fabric.random.Unit();
  return fabric;
}
double Factor(Fabric& fabric) { return 0.5 + 0.3 * fabric.random.Unit(); }
std::string AnyNode(Fabric& fabric) {
  return fabric.Names()[fabric.random.Below(static_cast<uint64_t>(fabric.nodes))];
}
Subject Neighbours(Fabric& fabric) {
  const Nodes names = fabric.Names();
  const size_t at = fabric.random.Below(names.size());
  return PairSubject(names[at], names[(at + 1) % names.size()]);
}

struct Tally {
  int right = 0, cases = 0, runs = 0, most_runs = 0;
  void Add(bool ok, const Localisation& result) {
    right += ok ? 1 : 0;
    ++cases;
    runs += static_cast<int>(result.runs.size());
    most_runs = std::max(most_runs, static_cast<int>(result.runs.size()));
  }
  double Fraction() const { return static_cast<double>(right) / cases; }
  void Print(std::string_view what) const {
    std::cout << fmt::format(
        "{}: right first {:.4f} of {} cases, {:.1f} runs on average, {} at most\n", what,
        Fraction(), cases, static_cast<double>(runs) / cases, most_runs);
    ::testing::Test::RecordProperty(std::string(what), fmt::format("{:.4f}", Fraction()));
  }
};

bool First(const Localisation& result, const Subject& subject) {
  return !result.suspects.empty() && result.suspects.front().subject == subject;
}

constexpr int kCases = 1500;

TEST(LocaliseSimulation, NamesASlowNode) {
  for (const bool healthy_known : {true, false}) {
    Tally tally;
    for (uint64_t seed = 1; seed <= kCases; ++seed) {
      Fabric fabric = Draw(seed);
      const std::string bad = AnyNode(fabric);
      fabric.slow_nodes[bad] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, healthy_known));
      tally.Add(First(result, NodeSubject(bad)), result);
    }
    tally.Print(healthy_known ? "slow node, healthy known" : "slow node, healthy learnt");
    EXPECT_GE(tally.Fraction(), 0.97);
  }
}

TEST(LocaliseSimulation, NamesASlowPairAndNeitherOfItsNodes) {
  for (const bool healthy_known : {true, false}) {
    Tally tally;
    for (uint64_t seed = 1; seed <= kCases; ++seed) {
      Fabric fabric = Draw(seed);
      const Subject bad = Neighbours(fabric);
      fabric.slow_pairs[bad] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, healthy_known));
      tally.Add(First(result, bad), result);
    }
    tally.Print(healthy_known ? "slow pair of neighbours, healthy known"
                              : "slow pair of neighbours, healthy learnt");
    EXPECT_GE(tally.Fraction(), 0.97);
  }
}

TEST(LocaliseSimulation, FindsAnySlowPairWhereEverybodyTalksToEverybody) {
  Tally tally;
  for (uint64_t seed = 1; seed <= kCases / 3; ++seed) {
    Fabric fabric = Draw(seed, 4);
    fabric.all_pairs_matter = true;
    const std::string a = AnyNode(fabric);
    std::string b = AnyNode(fabric);
    while (b == a) b = AnyNode(fabric);
    fabric.slow_pairs[PairSubject(a, b)] = Factor(fabric);
    auto options = Options(fabric, true);
    options.max_runs = 5000;
    const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(), options);
    tally.Add(First(result, PairSubject(a, b)), result);
  }
  tally.Print("slow pair anywhere");
  EXPECT_GE(tally.Fraction(), 0.97);
}

TEST(LocaliseSimulation, NamesASlowRailAndASlowAdapter) {
  Tally rails, adapters;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    Fabric fabric = Draw(seed);
    const int bad = static_cast<int>(fabric.random.Below(8));
    if (seed % 2 == 0) {
      fabric.slow_rails[bad] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(true), Options(fabric, true, true));
      rails.Add(First(result, RailSubject(bad)), result);
    } else {
      const std::string node = AnyNode(fabric);
      fabric.slow_adapters[{node, bad}] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(true), Options(fabric, true, true));
      adapters.Add(First(result, HcaSubject(node, fmt::format("mlx5_{}", bad))), result);
    }
  }
  rails.Print("slow rail");
  adapters.Print("slow adapter");
  EXPECT_GE(rails.Fraction(), 0.97);
  EXPECT_GE(adapters.Fraction(), 0.97);
}

TEST(LocaliseSimulation, NamesNodesAndPairsAlsoWhenRailsAreTriedFirst) {
  Tally nodes, pairs;
  for (uint64_t seed = 1; seed <= kCases / 2; ++seed) {
    Fabric fabric = Draw(seed);
    if (seed % 2 == 0) {
      const std::string bad = AnyNode(fabric);
      fabric.slow_nodes[bad] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(true), Options(fabric, true, true));
      nodes.Add(First(result, NodeSubject(bad)), result);
    } else {
      const Subject bad = Neighbours(fabric);
      fabric.slow_pairs[bad] = Factor(fabric);
      const auto result =
          LocaliseSlowCollective(fabric.Names(), fabric.Meter(true), Options(fabric, true, true));
      pairs.Add(First(result, bad), result);
    }
  }
  nodes.Print("slow node after rails");
  pairs.Print("slow pair after rails");
  EXPECT_GE(nodes.Fraction(), 0.97);
  EXPECT_GE(pairs.Fraction(), 0.97);
}

TEST(LocaliseSimulation, FindsTwoAndThreeSlowNodes) {
  Tally all, none_innocent;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    Fabric fabric = Draw(seed, 8);
    std::set<std::string> bad;
    while (bad.size() < 2 + seed % 2) bad.insert(AnyNode(fabric));
    for (const std::string& node : bad) fabric.slow_nodes[node] = Factor(fabric);
    const auto result =
        LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, true));
    std::set<std::string> named;
    bool innocent = false;
    for (const SlowSuspect& suspect : result.suspects) {
      named.insert(suspect.subject.id);
      innocent = innocent || suspect.subject.kind != SubjectKind::kNode ||
                 !bad.contains(suspect.subject.id);
    }
    all.Add(named == bad, result);
    none_innocent.Add(!innocent, result);
  }
  all.Print("two or three slow nodes, exactly these");
  none_innocent.Print("two or three slow nodes, nobody else");
  EXPECT_GE(all.Fraction(), 0.93);
  EXPECT_GE(none_innocent.Fraction(), 0.97);
}

TEST(LocaliseSimulation, AccusesNobodyOfAHealthyFabric) {
  Tally tally;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    const Fabric fabric = Draw(seed);
    const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(seed % 2 == 0),
                                               Options(fabric, seed % 3 != 0, seed % 2 == 0));
    tally.Add(result.suspects.empty(), result);
  }
  tally.Print("healthy, nobody accused");
  EXPECT_GE(tally.Fraction(), 0.97);
}

TEST(Localise, NamesThePairOfTwoNodesAndSaysThatItCannotTellThemApart) {
  Fabric fabric;
  fabric.nodes = 2;
  fabric.slow_nodes["node-01"] = 0.6;
  const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, true));
  ASSERT_TRUE(First(result, PairSubject("node-00", "node-01")));
  EXPECT_THAT(result.note, HasSubstr("add a third"));
  EXPECT_FALSE(result.conclusive);
}

TEST(Localise, SaysThatAllAreAlike) {
  Fabric fabric;
  fabric.slow_rails[3] = 0.6;  // and no way to try one rail at a time
  const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, true));
  EXPECT_TRUE(result.suspects.empty());
  EXPECT_THAT(result.note, HasSubstr("alike"));
}

TEST(Localise, IsConclusiveWhenTheRestIsFast) {
  Fabric fabric;
  fabric.slow_nodes["node-05"] = 0.6;
  const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(), Options(fabric, true));
  ASSERT_TRUE(First(result, NodeSubject("node-05")));
  EXPECT_TRUE(result.conclusive);
  EXPECT_NEAR(result.suspects[0].ratio, 0.6, 0.05);
  EXPECT_THAT(result.suspects[0].evidence, HasSubstr("pairs with it slow"));
}

TEST(Localise, TakesAFailedRunForASlowSet) {
  Fabric fabric;
  CollectiveMeter meter;
  meter.set = [&](const Nodes& set) -> Result<double> {
    for (const std::string& node : set) {
      if (node == "node-02") return Fail(Code::kUnavailable, "remote process exited");
    }
    return fabric.Measure(set, std::nullopt);
  };
  const auto result = LocaliseSlowCollective(fabric.Names(), meter, Options(fabric, true));
  ASSERT_TRUE(First(result, NodeSubject("node-02")));
  EXPECT_DOUBLE_EQ(result.suspects[0].ratio, 0);
}

TEST(Localise, StopsWhenItIsToldToAndSaysSo) {
  Fabric fabric;
  fabric.slow_nodes["node-02"] = 0.6;
  int left = 3;
  CollectiveMeter meter;
  meter.set = [&](const Nodes& set) -> Result<double> {
    if (left-- == 0) return Fail(Code::kCancelled, "interrupted");
    return fabric.Measure(set, std::nullopt);
  };
  const auto result = LocaliseSlowCollective(fabric.Names(), meter, Options(fabric, true));
  EXPECT_THAT(result.note, HasSubstr("interrupted"));
  EXPECT_FALSE(result.conclusive);
}

TEST(Localise, MeasuresDisjointSetsAtTheSameTimeWhereItCan) {
  Fabric fabric;
  fabric.nodes = 16;
  fabric.slow_nodes["node-03"] = 0.6;
  fabric.slow_nodes["node-12"] = 0.6;
  CollectiveMeter meter = fabric.Meter();
  meter.sets = [&fabric](const std::vector<Nodes>& sets) {
    std::vector<Result<double>> values;
    std::set<std::string> busy;
    for (const Nodes& set : sets) {
      for (const std::string& node : set)
        EXPECT_TRUE(busy.insert(node).second) << node << " twice at the same time";
      values.emplace_back(fabric.Measure(set, std::nullopt));
    }
    return values;
  };
  const auto result = LocaliseSlowCollective(fabric.Names(), meter, Options(fabric, true));
  EXPECT_EQ(result.suspects.size(), 2u);
  EXPECT_LT(result.rounds, static_cast<int>(result.runs.size()));
}

RC_GTEST_PROP(LocaliseProperty, NeverRunsMoreThanItMay, ()) {
  Fabric fabric = Draw(*rc::gen::inRange<uint64_t>(1, 100000), 2);
  const int faults = *rc::gen::inRange(0, 4);
  for (int i = 0; i < faults; ++i) fabric.slow_nodes[AnyNode(fabric)] = Factor(fabric);
  if (*rc::gen::arbitrary<bool>()) fabric.slow_pairs[Neighbours(fabric)] = Factor(fabric);
  auto options = Options(fabric, *rc::gen::arbitrary<bool>(), true);
  options.max_runs = *rc::gen::inRange(0, 80);
  const auto result = LocaliseSlowCollective(fabric.Names(), fabric.Meter(true), options);
  RC_ASSERT(static_cast<int>(result.runs.size()) <= options.max_runs);
  RC_ASSERT(fabric.measured == static_cast<int>(result.runs.size()));
  for (const SlowSuspect& suspect : result.suspects) RC_ASSERT(!suspect.evidence.empty());
}

}  // namespace
}  // namespace muster
