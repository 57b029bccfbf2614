// The fabric as a tool on one of its hosts discovers it: devices, ports and who is at the other
// end. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/state/tool.h"

namespace muster::lab::infiniband {

// Ports of a switch, used or not; one that has more wired in the model is a director with as many.
inline constexpr int kSwitchPorts = 64;

struct Device {
  std::string id;           // "leaf00", "node000/mlx5_0"
  std::string description;  // "leaf00", "node000 mlx5_0"
  bool is_switch = false;
  uint64_t guid = 0;  // of the node; an adapter's port has guid | 1
  int lid = 0;
  int ports = 1;
  uint64_t PortGuid() const { return is_switch ? guid : guid | 1; }
};
struct Port {
  const LinkTruth* link = nullptr;  // nothing is plugged in
  const PortCounters* counters = nullptr;
  const Device* peer = nullptr;  // only while the link is up
  int peer_port = 0;
};

// Everything reachable from `from` over links that are up. Holds the truth of every link at one
// moment.
class Fabric {
 public:
  explicit Fabric(const ToolCall& call);

  // Switches, then adapters, each in the order of the cluster; what cannot be reached is left out.
  const std::vector<const Device*>& found() const { return found_; }
  const Device* local() const { return local_; }
  int PortCount(const Device& device) const { return device.ports; }
  Port At(const Device& device, int port) const;

 private:
  struct Wire {
    size_t link = 0;
    bool is_a = true;
    size_t peer = 0;
    int peer_port = 0;
  };
  std::vector<Device> devices_;
  std::vector<LinkTruth> links_;
  std::vector<std::vector<std::optional<Wire>>> wires_;  // by device, by port
  std::vector<const Device*> found_;
  const Device* local_ = nullptr;
};

// One device by its LID, without discovering the fabric.
std::optional<Device> DeviceOfLid(const LabState& state, int lid);
Device SwitchDevice(const LabState& state, const Switch& s);
Device HcaDevice(const LabState& state, const Node& node, const Nic& nic);
// The counters of one port; zeros for one without a link.
PortCounters CountersOf(const LabState& state, const Device& device, int port, TimePoint now);

// What every program says on a host without an adapter.
CommandResult NoAdapter(std::string_view program);

// "-l" and the like, and what is no option. Options of `with_value` take the next argument.
struct Arguments {
  std::vector<std::string> options;
  std::vector<std::string> values;  // of options, beside them; empty where the option takes none
  std::vector<std::string> rest;
  bool Has(std::string_view option) const;
  std::string Value(std::string_view option) const;
};
Arguments ReadArguments(std::span<const std::string> args, std::string_view with_value);

// "EDR", "NDR" for the lane rate, as ibnetdiscover prints it.
std::string_view SpeedName(double lane_gbit_per_s);

// One renderer each.
CommandResult Ibstat(const ToolCall& call);
CommandResult Ibstatus(const ToolCall& call);
CommandResult Iblinkinfo(const ToolCall& call);
CommandResult Ibnetdiscover(const ToolCall& call);
CommandResult Ibswitches(const ToolCall& call);
CommandResult Ibhosts(const ToolCall& call);
CommandResult Perfquery(const ToolCall& call);
CommandResult Ibqueryerrors(const ToolCall& call);
CommandResult Sminfo(const ToolCall& call);
CommandResult Saquery(const ToolCall& call);
CommandResult Ibdiagnet(const ToolCall& call);
CommandResult IbWriteBw(const ToolCall& call);

}  // namespace muster::lab::infiniband
