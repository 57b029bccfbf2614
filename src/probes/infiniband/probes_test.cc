#include "probes/infiniband/probes.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "probes/infiniband/testing.h"

namespace muster::infiniband {
namespace {

TEST(InfinibandProbes, HaveNamesOfTheirOwn) {
  std::set<std::string_view> ids;
  for (const Probe& probe : InfinibandProbes())
    EXPECT_TRUE(ids.insert(probe.id).second) << probe.id;
}

TEST(InfinibandProbes, SayNothingOfAReadingThatFailed) {
  for (const Probe& probe : InfinibandProbes()) {
    Reading reading = testing::ReadingOf(probe.id, "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n");
    reading.fault = Unobserved{UnknownReason::kToolFault, "hung"};
    EXPECT_TRUE(probe.parse(reading).empty()) << probe.id;
  }
}

TEST(InfinibandProbes, FindNothingInNoise) {
  rc::check("arbitrary bytes give no value and end no program", [](const std::string& bytes) {
    for (const Probe& probe : InfinibandProbes()) {
      for (const Observation& o : probe.parse(testing::ReadingOf(probe.id, bytes + "\n"))) {
        RC_ASSERT(o.value() == nullptr);
      }
    }
  });
}

TEST(InfinibandProbes, ListEachFactTheyEmit) {
  const auto text = muster::testing::Capture(
      MUSTER_SOURCE_DIR, "rehearsed/02-healthy-iblinkinfo-ibqueryerrors-perfquery.txt");
  for (const Probe& probe : InfinibandProbes()) {
    if (probe.facts.empty()) continue;  // lists only what is beyond zero
    for (const Observation& o : probe.parse(testing::ReadingOf(probe.id, text))) {
      EXPECT_NE(std::find(probe.facts.begin(), probe.facts.end(), o.fact), probe.facts.end())
          << probe.id << " " << o.fact;
    }
  }
}

}  // namespace
}  // namespace muster::infiniband
