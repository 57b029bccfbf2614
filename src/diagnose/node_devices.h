// Does a node offer all devices that it has? Of extended resources (nvidia.com/gpu, rdma/...) the
// kubelet takes those out of `allocatable` that their plugin calls unhealthy, and leaves
// `capacity`; nothing else in a node's description complains.
// Source: Kubernetes pkg/kubelet/cm/devicemanager/manager.go (GetCapacity).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "diagnose/fact.h"

namespace muster::diagnose {

// The fact "node.devices_short" of one resource, where fewer are offered than the node has.
void TellShort(std::string_view resource, int64_t capacity, int64_t allocatable,
               const std::string& host, const Place& at, FactStore& facts);

class NodeDevices {
 public:
  // A line of `kubectl describe node` or of a node's YAML that a block or a resource may stand in.
  // A fact "node.devices_short" (resource, allocatable, capacity) where both are known and differ.
  void Line(std::string_view line, const Place& at, const std::string& host, FactStore& facts);
  // The text ends.
  void End() { *this = {}; }

 private:
  enum class Block { kNone, kCapacity, kAllocatable };
  void Open(Block block, size_t indent);
  Block block_ = Block::kNone;
  size_t indent_ = 0;                                               // of the block's heading
  std::map<std::string, int, std::less<>> capacity_, allocatable_;  // of the node that is read
};

}  // namespace muster::diagnose
