#include "sched/numa/topology_manager.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/numa/testing/machines.h"

namespace muster::numa {
namespace {

Admission AskOne(const Machine& machine, int gpus) {
  NodeState state = EmptyState(machine);
  return Admit(machine, Gpus(gpus), &state);
}

TEST(TopologyManager, SixGpusOnTwoByFourAreRefusedUnderSingleNumaNodeInTheKubeletsWords) {
  const Machine machine = MachineOf(TwoByFour(Policy::kSingleNumaNode));
  const Admission answer = AskOne(machine, 6);
  EXPECT_FALSE(answer.admitted);
  EXPECT_EQ(ReasonName(answer.refusal), "TopologyAffinityError");
  EXPECT_EQ(KubeletMessage(machine, answer),
            "Resources cannot be allocated with Topology locality");
}

TEST(TopologyManager, SixGpusOnTwoByFourAreAdmittedUnderRestrictedAsNoZoneCouldHoldThem) {
  const Admission answer = AskOne(MachineOf(TwoByFour(Policy::kRestricted)), 6);
  EXPECT_TRUE(answer.admitted);
  EXPECT_EQ(answer.grants[0].affinity, 3);
  EXPECT_TRUE(answer.grants[0].preferred);
}

TEST(TopologyManager, RestrictedRefusesTwoGpusThatAreLeftOnTwoZones) {
  const Machine machine = MachineOf(TwoByFour(Policy::kRestricted));
  NodeState state = EmptyState(machine);
  EXPECT_TRUE(Admit(machine, Gpus(3), &state).admitted);
  EXPECT_TRUE(Admit(machine, Gpus(3), &state).admitted);
  EXPECT_EQ(Admit(machine, Gpus(2), &state).refusal, Refusal::kTopologyAffinity);
}

TEST(TopologyManager, BestEffortAdmitsThemAndSaysThatTheyAreNotPreferred) {
  const Machine machine = MachineOf(TwoByFour(Policy::kBestEffort));
  NodeState state = EmptyState(machine);
  EXPECT_TRUE(Admit(machine, Gpus(3), &state).admitted);
  EXPECT_TRUE(Admit(machine, Gpus(3), &state).admitted);
  const Admission answer = Admit(machine, Gpus(2), &state);
  EXPECT_TRUE(answer.admitted);
  EXPECT_EQ(answer.grants[0].affinity, 3);
  EXPECT_FALSE(answer.grants[0].preferred);
  EXPECT_EQ(answer.grants[0].devices[0], 0b10001000u);
}

TEST(TopologyManager, WithoutAPolicyTooFewDevicesAreAnUnexpectedAdmissionError) {
  const Machine machine = MachineOf(TwoByFour(Policy::kNone));
  NodeState state = EmptyState(machine);
  EXPECT_TRUE(Admit(machine, Gpus(1), &state).admitted);
  const Admission answer = Admit(machine, Gpus(8), &state);
  EXPECT_EQ(ReasonName(answer.refusal), "UnexpectedAdmissionError");
  EXPECT_EQ(KubeletMessage(machine, answer),
            "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            "Requested: 8, Available: 7, which is unexpected");
}

TEST(TopologyManager, PodScopeAsksForTheSumOfAllContainers) {
  MachineSpec spec = TwoByFour(Policy::kSingleNumaNode);
  Request request = Gpus(4);
  request.container_count = 2;
  request.containers[1].devices[0] = 4;
  NodeState state = EmptyState(MachineOf(spec));
  EXPECT_TRUE(Admit(MachineOf(spec), request, &state).admitted);
  spec.scope = Scope::kPod;
  state = EmptyState(MachineOf(spec));
  EXPECT_FALSE(Admit(MachineOf(spec), request, &state).admitted);
}

TEST(TopologyManager, AStaticCpuManagerMovesThePodToTheZoneThatHasTheCpus) {
  MachineSpec spec = TwoByFour(Policy::kSingleNumaNode);
  spec.cpu_static = true;
  spec.reserved_cpus = 1;
  const Machine machine = MachineOf(spec);
  Request request = Gpus(4);
  request.guaranteed = true;
  request.containers[0].cpus = 8;  // zone 0 has 7 beside the reserved one
  request.containers[0].memory_bytes = kGiB;
  NodeState state = EmptyState(machine);
  const Admission answer = Admit(machine, request, &state);
  EXPECT_TRUE(answer.admitted);
  EXPECT_EQ(answer.grants[0].affinity, 2);
  EXPECT_EQ(answer.grants[0].cpus, machine.zone_cpus[1]);
}

TEST(TopologyManager, FullCoresOnlyRefusesHalfACore) {
  MachineSpec spec = TwoByFour(Policy::kBestEffort);
  spec.cpu_static = spec.full_pcpus_only = true;
  spec.threads_per_core = spec.reserved_cpus = 2;
  const Machine machine = MachineOf(spec);
  Request request = Gpus(1);
  request.guaranteed = true;
  request.containers[0].cpus = 3;
  NodeState state = EmptyState(machine);
  const Admission answer = Admit(machine, request, &state);
  EXPECT_EQ(ReasonName(answer.refusal), "SMTAlignmentError");
  EXPECT_EQ(KubeletMessage(machine, answer),
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
}

TEST(TopologyManager, ABurstablePodHoldsNoCpusOfItsOwn) {
  MachineSpec spec = TwoByFour(Policy::kSingleNumaNode);
  spec.cpu_static = true;
  spec.reserved_cpus = 1;
  const Machine machine = MachineOf(spec);
  Request request = Gpus(1);
  request.containers[0].cpus = 16;
  NodeState state = EmptyState(machine);
  EXPECT_TRUE(Admit(machine, request, &state).admitted);
  EXPECT_EQ(state.free_cpus, machine.all_cpus);
}

TEST(TopologyManager, MemoryHeldAcrossZonesKeepsSingleZonePodsOut) {
  MachineSpec spec = TwoByFour(Policy::kRestricted);
  spec.memory_static = true;
  const Machine machine = MachineOf(spec);
  Request wide = Gpus(8);
  wide.guaranteed = true;
  wide.containers[0].memory_bytes = 100 * kGiB;
  NodeState state = EmptyState(machine);
  ASSERT_TRUE(Admit(machine, wide, &state).admitted);
  Request narrow = Gpus(0);
  narrow.containers[0].devices[0] = -1;
  narrow.guaranteed = true;
  narrow.containers[0].memory_bytes = kGiB;
  EXPECT_FALSE(Admit(machine, narrow, &state).admitted);
}

TEST(TopologyManager, ARefusalLeavesTheStateAsItWas) {
  MachineSpec spec = TwoByFour(Policy::kRestricted);
  const Machine machine = MachineOf(spec);
  Request request = Gpus(4);
  request.container_count = 2;
  request.containers[1].devices[0] = 5;
  NodeState state = EmptyState(machine);
  const NodeState before = state;
  EXPECT_FALSE(Admit(machine, request, &state).admitted);
  EXPECT_EQ(state, before);
}

// ---- laws ----

// Everything given is given once, and all of it comes back.
RC_GTEST_PROP(TopologyManagerLaws, WhatIsGivenWasFreeAndComesBackWhole, ()) {
  const auto machine = BuildMachine(*AnyMachine());
  RC_PRE(machine.ok());
  NodeState state = EmptyState(*machine);
  const NodeState empty = state;
  const auto& zones = machine->spec.zones;  // on unequal sockets the kubelet can give a CPU twice
  const bool even = std::all_of(zones.begin(), zones.end(),
                                [&](const Zone& zone) { return zone.cpus == zones[0].cpus; });
  std::vector<std::vector<Grant>> live;
  for (const Request& request : *rc::gen::container<std::vector<Request>>(6, AnyRequest())) {
    const NodeState before = state;
    const Admission answer = Admit(*machine, request, &state);
    if (!answer.admitted) {
      if (!machine->spec.memory_static && !machine->spec.cpu_static) RC_ASSERT(state == before);
      RC_ASSERT(state.used == before.used);
      RC_ASSERT(!KubeletMessage(*machine, answer).empty());
      continue;
    }
    live.emplace_back(answer.grants.begin(), answer.grants.begin() + request.container_count);
    DeviceMask pod = 0;
    for (int i = 0; i < request.container_count; ++i) {
      const Grant& grant = answer.grants[i];
      RC_ASSERT(std::popcount(grant.devices[0]) ==
                std::max<int>(0, request.containers[i].devices[0]));
      RC_ASSERT((grant.devices[0] & (before.used[0] | pod)) == 0u);
      pod |= grant.devices[0];
      if (even) {
        RC_ASSERT((grant.cpus & machine->reserved_cpus).none());
        RC_ASSERT((grant.cpus & ~before.free_cpus).none());
      }
      if (machine->spec.cpu_static && request.guaranteed) {
        RC_ASSERT(static_cast<int>(grant.cpus.count()) == request.containers[i].cpus);
      }
    }
  }
  while (!live.empty()) {
    const size_t which = *rc::gen::inRange<size_t>(0, live.size());
    Release(*machine, live[which], &state);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
  }
  RC_ASSERT(state == empty);
}

// One container under single-numa-node stays on one zone with everything a manager gives it.
RC_GTEST_PROP(TopologyManagerLaws, SingleNumaNodeNeverCrossesZones, ()) {
  MachineSpec spec = *AnyMachine();
  spec.policy = Policy::kSingleNumaNode;
  for (ZoneMask& mask : spec.devices[0].zones) {
    mask = static_cast<ZoneMask>(1u << (mask % spec.zones.size()));
  }
  const auto machine = BuildMachine(spec);
  RC_PRE(machine.ok());
  Request request = *AnyRequest();
  request.container_count = 1;
  NodeState state = EmptyState(*machine);
  const Admission answer = Admit(*machine, request, &state);
  if (!answer.admitted) return;
  unsigned zones = answer.grants[0].memory_zones;
  for (const Machine::Group& group : machine->devices[0].groups) {
    if ((group.devices & answer.grants[0].devices[0]) != 0) zones |= group.zones;
  }
  for (int zone = 0; zone < machine->zone_count; ++zone) {
    if ((machine->zone_cpus[zone] & answer.grants[0].cpus).any()) zones |= 1u << zone;
  }
  RC_ASSERT(std::popcount(zones) <= 1);
}

}  // namespace
}  // namespace muster::numa
