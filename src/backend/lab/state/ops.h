// What was done to a lab's nodes: reboots, versions, files, stopped units, cordons with their
// leases, and the jobs that run there. It is part of the lab's one truth, so after a repair every
// tool tells the new story.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/actuator.h"

namespace muster::lab {

// A job of the lab, with the rhythm of its checkpoints.
struct LabJob {
  RunningJob job;
  Duration checkpoint_every{};  // 0 = it never writes a durable one
  TimePoint ends_at;            // of a drain: when its next checkpoint is durable; 0 = it goes on
  int attempt = 1;              // a requeue starts the next one, where nodes are at work for it
  bool operator==(const LabJob&) const = default;
  // Its newest durable checkpoint before `now`.
  std::optional<TimePoint> DurableAt(TimePoint now) const;
};

struct NodeOps {
  int boots = 0;
  TimePoint booted_at, back_at;  // the last reboot, and when the node answers again
  std::string driver, loaded_driver, fabric_manager;  // "" = as the lab was made
  Hold hold;
  uint64_t changes = 0;  // of the hold: its version
  uint64_t fence = 0;
  std::map<std::string, int> count;         // landed acts, by kind and subject
  std::map<std::string, bool> stopped;      // units
  std::map<std::string, bool> started;      // units that a node has not by itself
  std::map<std::string, std::string> mig;   // layouts, by GPU
  std::string kernel, next_kernel;          // that runs, and that boots next; "" = as it was made
  std::string set;                          // of packages, installed and not booted into yet
  std::map<std::string, std::string> disk;  // files that acts wrote, by path
  std::vector<LabJob> jobs;
  // Acts of the node that do not go well, by kind: "refuse" (proven not done), "fail" (it says so),
  // "lie" (it seems done and mends nothing), "harm" (it is done, and a GPU of the node has an
  // error that goes with a reset), "break" (it is done, and the GPU is gone). For rehearsals.
  std::map<std::string, std::string> spoiled;
  bool operator==(const NodeOps&) const = default;
  bool empty() const { return *this == NodeOps{}; }
};

// The file that stands for the kernel's headers.
std::string HeadersOf(std::string_view kernel);
// A lab keeps a node's label of the device plugin's configuration as this file; "shared" offers
// each GPU four times.
inline constexpr std::string_view kPluginConfig = "label/nvidia.com/device-plugin.config",
                                  kSharedConfig = "shared";
// The unit of the replica behind the lab's endpoint, and the file with its arguments.
inline constexpr std::string_view kReplicaUnit = "vllm", kReplicaFile = "/etc/default/vllm";

// One act, landed: counted, and what it heals is gone. The faults that need hands stay.
struct LabState;
void Land(LabState& state, const Order& order, TimePoint now);
// The faults that this act takes away where it is done; for the manual and the tests.
std::vector<std::string_view> HealedBy(const Action& action);

}  // namespace muster::lab
