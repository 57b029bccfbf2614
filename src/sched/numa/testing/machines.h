// The common eight-GPU server, and any machine and pod, for this room's tests.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/numa/topology_manager.h"

namespace muster::numa {

inline constexpr int64_t kGiB = int64_t{1} << 30;

// Two zones of four GPUs, 8 CPUs and 64 GiB each: the common eight-GPU server.
inline MachineSpec TwoByFour(Policy policy) {
  MachineSpec spec;
  spec.zones = {{8, 64 * kGiB, kGiB}, {8, 64 * kGiB, 0}};
  spec.devices = {{"nvidia.com/gpu", {1, 1, 1, 1, 2, 2, 2, 2}}};
  spec.policy = policy;
  return spec;
}

inline Machine MachineOf(const MachineSpec& spec) {
  auto machine = BuildMachine(spec);
  EXPECT_TRUE(machine.ok()) << (machine.ok() ? "" : machine.error().message);
  return *machine;
}

inline Request Gpus(int count) {
  Request request;
  request.containers[0].devices[0] = static_cast<int16_t>(count);
  return request;
}

inline rc::Gen<MachineSpec> AnyMachine() {
  return rc::gen::exec([] {
    MachineSpec spec;
    const int zones = *rc::gen::inRange(1, 5);
    const int cpus = 2 * *rc::gen::inRange(0, 9);  // of every zone; 0 = each its own
    for (int zone = 0; zone < zones; ++zone) {
      spec.zones.push_back(
          {cpus > 0 ? cpus : 2 * *rc::gen::inRange(1, 9), *rc::gen::inRange(4, 64) * kGiB, kGiB});
    }
    for (const char* name : {"nvidia.com/gpu", "rdma/ib"}) {
      DeviceResource resource{name, {}, *rc::gen::arbitrary<bool>()};
      const int count = *rc::gen::inRange(1, 10);
      for (int i = 0; i < count; ++i) {
        resource.zones.push_back(static_cast<ZoneMask>(*rc::gen::inRange(0, 1 << zones)));
      }
      spec.devices.push_back(resource);
    }
    spec.policy = *rc::gen::element(Policy::kNone, Policy::kBestEffort, Policy::kRestricted,
                                    Policy::kSingleNumaNode);
    spec.scope = *rc::gen::element(Scope::kContainer, Scope::kPod);
    spec.threads_per_core = *rc::gen::inRange(1, 3);
    spec.cpu_static = *rc::gen::arbitrary<bool>();
    spec.reserved_cpus = 1;
    spec.full_pcpus_only = *rc::gen::arbitrary<bool>();
    spec.distribute_across_numa = *rc::gen::arbitrary<bool>();
    spec.memory_static = *rc::gen::arbitrary<bool>();
    return spec;
  });
}

inline rc::Gen<Request> AnyRequest() {
  return rc::gen::exec([] {
    Request request;
    request.guaranteed = *rc::gen::arbitrary<bool>();
    request.container_count = *rc::gen::inRange(1, 3);
    for (int i = 0; i < request.container_count; ++i) {
      ContainerRequest& container = request.containers[i];
      container.devices[0] = static_cast<int16_t>(*rc::gen::inRange(-1, 7));
      container.devices[1] = static_cast<int16_t>(*rc::gen::inRange(-1, 4));
      container.cpus = *rc::gen::inRange(0, 12);
      container.memory_bytes = *rc::gen::inRange(1, 40) * kGiB;
    }
    return request;
  });
}

}  // namespace muster::numa
