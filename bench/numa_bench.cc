// How many pods a second the kubelet's admission decides for the scheduler, against counting free
// devices, CPUs and bytes as a scheduler that knows no NUMA does. Each iteration fills a node with
// pods and empties it again; items are pods.
#include <benchmark/benchmark.h>

#include "sched/numa/topology_manager.h"

namespace muster::numa {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

MachineSpec Server(int zones, Policy policy, bool managers) {
  MachineSpec spec;
  spec.zones.assign(static_cast<size_t>(zones), Zone{192 / zones, 2048 / zones * kGiB, kGiB});
  for (const char* name : {"nvidia.com/gpu", "rdma/ib"}) {
    DeviceResource resource{name, {}};
    for (int i = 0; i < 8; ++i) {
      resource.zones.push_back(static_cast<ZoneMask>(1u << (i * zones / 8)));
    }
    spec.devices.push_back(resource);
  }
  spec.policy = policy;
  spec.threads_per_core = 2;
  spec.cpu_static = spec.memory_static = managers;
  spec.reserved_cpus = managers ? 2 : 0;
  return spec;
}

Request Pod(int gpus) {
  Request request;
  request.guaranteed = true;
  request.containers[0].devices[0] = static_cast<int16_t>(gpus);
  request.containers[0].devices[1] = static_cast<int16_t>(gpus);
  request.containers[0].cpus = 20 * gpus;
  request.containers[0].memory_bytes = 100 * gpus * kGiB;
  return request;
}

void BM_Count(benchmark::State& state) {
  struct Free {
    int gpus, nics, cpus;
    int64_t memory;
  };
  const int gpus = static_cast<int>(state.range(0));
  int64_t pods = 0;
  for (auto _ : state) {
    Free free{8, 8, 190, 2047 * kGiB};
    benchmark::DoNotOptimize(free);
    while (free.gpus >= gpus && free.nics >= gpus && free.cpus >= 20 * gpus &&
           free.memory >= 100 * gpus * kGiB) {
      free = {free.gpus - gpus, free.nics - gpus, free.cpus - 20 * gpus,
              free.memory - 100 * gpus * kGiB};
      benchmark::DoNotOptimize(free);
      ++pods;
    }
  }
  state.SetItemsProcessed(pods);
}
BENCHMARK(BM_Count)->Arg(1)->Arg(2)->Arg(4);

// Arguments: GPUs a pod, zones, policy, static CPU and memory managers.
void BM_Admit(benchmark::State& state) {
  const Machine machine =
      BuildMachine(Server(static_cast<int>(state.range(1)), static_cast<Policy>(state.range(2)),
                          state.range(3) != 0))
          .value();
  const Request pod = Pod(static_cast<int>(state.range(0)));
  const NodeState empty = EmptyState(machine);
  int64_t asked = 0;
  for (auto _ : state) {
    NodeState node = empty;
    bool more = true;
    while (more) {
      const Admission answer = Admit(machine, pod, &node);
      benchmark::DoNotOptimize(answer);
      more = answer.admitted;
      ++asked;
    }
  }
  state.SetItemsProcessed(asked);
}
BENCHMARK(BM_Admit)
    ->ArgNames({"gpus", "zones", "policy", "managers"})
    ->Args({1, 2, 0, 0})
    ->Args({1, 2, 1, 0})
    ->Args({1, 2, 2, 0})
    ->Args({1, 2, 3, 0})
    ->Args({4, 2, 3, 0})
    ->Args({1, 2, 3, 1})
    ->Args({2, 2, 2, 1})
    ->Args({1, 8, 3, 0})
    ->Args({1, 8, 2, 1});

void BM_CapacityBound(benchmark::State& state) {
  const Machine machine = BuildMachine(Server(static_cast<int>(state.range(0)),
                                              Policy::kSingleNumaNode, state.range(1) != 0))
                              .value();
  const Request pod = Pod(1);
  const NodeState empty = EmptyState(machine);
  for (auto _ : state) benchmark::DoNotOptimize(CapacityBound(machine, empty, pod));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_CapacityBound)
    ->ArgNames({"zones", "managers"})
    ->Args({2, 0})
    ->Args({2, 1})
    ->Args({8, 1});

}  // namespace
}  // namespace muster::numa
