#include <gtest/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

TEST(Machine, MachinesThatTheKubeletDoesNotStartOnOrThatAreNotModelledAreRefused) {
  const auto message = [](const MachineSpec& spec) {
    const auto machine = BuildMachine(spec);
    return machine.ok() ? std::string("built") : machine.error().message;
  };
  MachineSpec spec;
  EXPECT_EQ(message(spec), "0 NUMA zones: 1 to 8 are modelled");
  spec.zones.resize(9);
  EXPECT_EQ(message(spec), "9 NUMA zones: 1 to 8 are modelled");
  spec = TwoByFour(Policy::kNone);
  spec.cpu_static = true;
  EXPECT_EQ(message(spec), "the static CPU manager needs at least one reserved CPU");
  spec = TwoByFour(Policy::kNone);
  spec.memory_static = true;
  spec.zones[0].reserved_memory_bytes = 0;
  EXPECT_EQ(message(spec), "the Static memory manager needs reserved memory");
  spec = TwoByFour(Policy::kRestricted);
  spec.prefer_closest = true;
  EXPECT_EQ(message(spec), "prefer-closest-numa-nodes needs the distance of every pair of zones");
  spec = TwoByFour(Policy::kRestricted);
  spec.devices[0].zones[3] = 4;
  EXPECT_EQ(message(spec), "a device of nvidia.com/gpu is in a zone that the node lacks");
}

TEST(Machine, AShapeWithAResourceThatTheNodeLacksNamesIt) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  const auto request = OneContainer(machine, {{"amd.com/gpu", 1}});
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().message, "the node has no device resource amd.com/gpu");
}

TEST(Machine, AShapeWithCpuAndMemoryIsGuaranteedAndAFractionIsNotExclusive) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  const auto whole = OneContainer(machine, {{"cpu", 4000}, {"memory", kGiB}});
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->guaranteed);
  EXPECT_EQ(whole->containers[0].cpus, 4);
  const auto part = OneContainer(machine, {{"cpu", 4500}});
  ASSERT_TRUE(part.ok());
  EXPECT_FALSE(part->guaranteed);
  EXPECT_EQ(part->containers[0].cpus, 0);
}

TEST(Machine, CpusAreNumberedAsLinuxDoesWithSiblingsHalfTheMachineApart) {
  MachineSpec spec = TwoByFour(Policy::kNone);
  spec.threads_per_core = 2;
  const Machine split = MachineOf(spec);
  EXPECT_TRUE(split.zone_cpus[0].test(0) && split.zone_cpus[0].test(8));
  EXPECT_FALSE(split.zone_cpus[0].test(4));
  spec.siblings_adjacent = true;
  const Machine adjacent = MachineOf(spec);
  EXPECT_TRUE(adjacent.zone_cpus[0].test(7));
  EXPECT_FALSE(adjacent.zone_cpus[0].test(8));
}

TEST(Machine, PoliciesAndScopesAreReadAsTheKubeletWritesThem) {
  EXPECT_EQ(ParsePolicy("single-numa-node").value(), Policy::kSingleNumaNode);
  EXPECT_FALSE(ParsePolicy("Restricted").ok());
  EXPECT_EQ(ParseScope("pod").value(), Scope::kPod);
  EXPECT_FALSE(ParseScope("node").ok());
}

}  // namespace
}  // namespace muster::numa
