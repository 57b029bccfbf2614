// A million steps of bad weather, and the same with one safety taken out at a time.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "engine/engine.h"
#include "engine/testing/sim_drive.h"

namespace muster::engine::testing {
namespace {

size_t StepsWanted() {
  if (const char* steps = std::getenv("MUSTER_SIM_STEPS"))
    return static_cast<size_t>(std::atoll(steps));
  return std::getenv("MUSTER_NIGHTLY") != nullptr ? 10'000'000 : 1'000'000;
}

constexpr size_t kStepsOfASeed = 20'000;

TEST(Sim, AMillionStepsOfBadWeatherBreakNoPromise) {
  SimResult total;
  uint64_t seed = 1;
  const char* only = std::getenv("MUSTER_SIM_SEED");
  if (only != nullptr) seed = static_cast<uint64_t>(std::atoll(only));
  for (; total.steps < StepsWanted(); ++seed) {
    const SimResult result = SimDriver(seed, BadWeather(), Sabotage::kNone).Drive(kStepsOfASeed);
    ASSERT_TRUE(result.broken.empty())
        << "replay with MUSTER_SIM_SEED=" << seed << " --gtest_filter=Sim.AMillion*\n  "
        << Join(result.broken, "\n  ");
    total.steps += result.steps;
    total.worked += result.worked;
    total.runs += result.runs;
    total.crashes += result.crashes;
    total.closed += result.closed;
    total.needed_person += result.needed_person;
    total.humans += result.humans;
    if (only != nullptr) break;
  }
  // A simulation in which nothing happens would find nothing.
  EXPECT_GT(total.closed, total.steps / 2000);
  EXPECT_GT(total.worked, total.steps / 50);
  EXPECT_GT(total.crashes, total.steps / 200);
  EXPECT_GT(total.needed_person, 0u);
  std::printf(
      "%zu steps (%zu of them changed something), %zu runs closed, %zu crashes, %zu interferences, "
      "%zu targets left to a person\n",
      total.steps, total.worked, total.closed, total.crashes, total.humans, total.needed_person);
}

// A suite that stays green without a safety does not test it.
class Mutation : public ::testing::TestWithParam<std::pair<Sabotage, const char*>> {};

TEST_P(Mutation, IsNoticed) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const SimResult result = SimDriver(seed, BadWeather(), GetParam().first).Drive(kStepsOfASeed);
    // A safety that is gone may break other promises first; the one that it stands for must show.
    for (const std::string& broken : result.broken) {
      if (Contains(broken, GetParam().second)) return;
    }
  }
  FAIL() << "30 seeds went by and nobody noticed that " << GetParam().second;
}

std::string NameOf(const ::testing::TestParamInfo<std::pair<Sabotage, const char*>>& info) {
  switch (info.param.first) {
    case Sabotage::kNoIntent:
      return "IntentBeforeAct";
    case Sabotage::kNoProbe:
      return "ProbeBeforeRetry";
    case Sabotage::kNoLease:
      return "LeaseWithCordon";
    default:
      return "OwnershipCheck";
  }
}

INSTANTIATE_TEST_SUITE_P(OneSafetyLess, Mutation,
                         ::testing::Values(std::pair{Sabotage::kNoIntent, "done twice"},
                                           std::pair{Sabotage::kNoProbe, "done twice"},
                                           std::pair{Sabotage::kNoLease, "nobody is named"},
                                           std::pair{Sabotage::kNoOwnership,
                                                     "which a person had taken before"}),
                         NameOf);

}  // namespace
}  // namespace muster::engine::testing
