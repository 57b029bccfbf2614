#include "sched/numa/cpus.h"

#include <gtest/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

// The zones of the CPUs that are taken, as counts.
std::vector<int> PerZone(const Machine& machine, const CpuSet& cpus) {
  std::vector<int> counts;
  for (const CpuSet& zone : machine.zone_cpus) {
    counts.push_back(static_cast<int>((zone & cpus).count()));
  }
  return counts;
}

TEST(TakeCpus, PacksIntoTheZoneThatHasTheLeastLeft) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  CpuSet available = machine.all_cpus;
  available.reset(8);
  EXPECT_EQ(PerZone(machine, TakeCpus(machine, available, 4).value()), (std::vector<int>{0, 4}));
  EXPECT_EQ(PerZone(machine, TakeCpus(machine, available, 8).value()), (std::vector<int>{8, 0}))
      << "a whole free zone goes first";
}

TEST(TakeCpus, TakesWholeCoresBeforeThreads) {
  MachineSpec spec = TwoByFour(Policy::kNone);
  spec.threads_per_core = 2;
  spec.siblings_adjacent = true;
  const Machine machine = MachineOf(spec);
  CpuSet available = machine.all_cpus;
  available.reset(0);
  const CpuSet taken = TakeCpus(machine, available, 3).value();
  EXPECT_TRUE(taken.test(2) && taken.test(3)) << "one whole core";
  EXPECT_TRUE(taken.test(1)) << "then the thread of the broken core";
}

// Two zones of memory alone belong to a second socket: there are as many sockets as zones with
// CPUs, so the kubelet takes the cores of a socket, not of a zone, in one order.
TEST(TakeCpus, BesideZonesWithoutCpusTheCoresOfASocketAreOneList) {
  MachineSpec spec = TwoByFour(Policy::kNone);
  spec.zones.resize(4);
  spec.zones[1].cpus = 2;
  spec.zones[2].cpus = spec.zones[3].cpus = 0;
  spec.zones_per_socket = 2;
  const Machine machine = MachineOf(spec);
  EXPECT_EQ(PerZone(machine, TakeCpus(machine, machine.all_cpus, 1).value()),
            (std::vector<int>{1, 0, 0, 0}));
}

TEST(TakeCpus, DistributesEvenlyWhenOneZoneIsNotEnough) {
  MachineSpec spec = TwoByFour(Policy::kNone);
  spec.distribute_across_numa = true;
  const Machine machine = MachineOf(spec);
  EXPECT_EQ(PerZone(machine, TakeCpus(machine, machine.all_cpus, 10).value()),
            (std::vector<int>{5, 5}));
  EXPECT_EQ(PerZone(machine, TakeCpus(machine, machine.all_cpus, 6).value()),
            (std::vector<int>{6, 0}));
}

TEST(TakeCpus, TooManyAreNotTakenAtAll) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  EXPECT_FALSE(TakeCpus(machine, machine.all_cpus, 17).has_value());
  EXPECT_TRUE(TakeCpus(machine, CpuSet{}, 0).has_value());
}

}  // namespace
}  // namespace muster::numa
