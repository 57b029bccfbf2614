// Tested by tools_test.cc, through the programs it is part of.
#include "backend/lab/infiniband/fabric.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

uint64_t Guid(std::string_view hex) {
  const auto guid = ParseHex(hex);
  return guid.ok() ? *guid : 0;
}

}  // namespace

Device SwitchDevice(const LabState& state, const Switch& s) {
  Device device{s.name, s.name, true, Guid(s.guid), LidOf(state, s.name), kSwitchPorts};
  for (const Link& link : state.cluster.links) {
    for (const PortRef* end : {&link.a, &link.b}) {
      if (end->device == s.name) device.ports = std::max(device.ports, end->port);
    }
  }
  return device;
}

Device HcaDevice(const LabState& state, const Node& node, const Nic& nic) {
  const std::string id = fmt::format("{}/{}", node.name, nic.device);
  return {id, fmt::format("{} {}", node.name, nic.device), false, Guid(nic.guid), LidOf(state, id)};
}

Fabric::Fabric(const ToolCall& call) {
  const Cluster& cluster = call.state.cluster;
  std::unordered_map<std::string_view, size_t> by_id;
  for (const Switch& s : cluster.switches) {
    devices_.push_back(
        {s.name, s.name, true, Guid(s.guid), LidOf(call.state, s.name), kSwitchPorts});
  }
  std::vector<size_t> ours;
  for (const Node& node : cluster.nodes) {
    for (const Nic& nic : node.nics) {
      if (&node == call.node && HcaNow(call.state, node, nic, call.now).present) {
        ours.push_back(devices_.size());
      }
      devices_.push_back(HcaDevice(call.state, node, nic));
    }
  }
  wires_.resize(devices_.size());
  for (size_t i = 0; i < devices_.size(); ++i) by_id.emplace(devices_[i].id, i);
  for (const Link& link : cluster.links) {
    for (const PortRef* end : {&link.a, &link.b}) {
      const auto it = by_id.find(end->device);
      if (it == by_id.end()) continue;
      devices_[it->second].ports = std::max(devices_[it->second].ports, end->port);
    }
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    wires_[i].resize(static_cast<size_t>(PortCount(devices_[i])) + 1);
  }
  links_.reserve(cluster.links.size());
  for (size_t i = 0; i < cluster.links.size(); ++i) {
    const Link& link = cluster.links[i];
    links_.push_back(LinkNow(call.state, i, call.now));
    const auto a = by_id.find(link.a.device), b = by_id.find(link.b.device);
    if (a == by_id.end() || b == by_id.end()) continue;
    const auto set = [&](size_t device, int port, const Wire& wire) {
      if (port < 1 || port >= static_cast<int>(wires_[device].size())) return;
      wires_[device][static_cast<size_t>(port)] = wire;
    };
    set(a->second, link.a.port, {i, true, b->second, link.b.port});
    set(b->second, link.b.port, {i, false, a->second, link.a.port});
  }
  if (ours.empty()) return;
  // The library opens the first port that is up, or the first one.
  size_t from = ours[0];
  for (const size_t i : ours) {
    const auto& wire = wires_[i][1];
    if (wire && links_[wire->link].up) {
      from = i;
      break;
    }
  }
  local_ = &devices_[from];
  std::vector<bool> seen(devices_.size(), false);
  std::vector<size_t> queue = {from};
  seen[from] = true;
  for (size_t next = 0; next < queue.size(); ++next) {
    for (const auto& wire : wires_[queue[next]]) {
      if (!wire || !links_[wire->link].up || seen[wire->peer]) continue;
      seen[wire->peer] = true;
      queue.push_back(wire->peer);
    }
  }
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (seen[i]) found_.push_back(&devices_[i]);
  }
}

Port Fabric::At(const Device& device, int port) const {
  Port result;
  const auto& wires = wires_[static_cast<size_t>(&device - devices_.data())];
  if (port < 1 || port >= static_cast<int>(wires.size())) return result;
  const auto& wire = wires[static_cast<size_t>(port)];
  if (!wire) return result;
  result.link = &links_[wire->link];
  result.counters = wire->is_a ? &result.link->a : &result.link->b;
  if (result.link->up) {
    result.peer = &devices_[wire->peer];
    result.peer_port = wire->peer_port;
  }
  return result;
}

std::optional<Device> DeviceOfLid(const LabState& state, int lid) {
  // LIDs run over the switches, then over the adapters (truth.h).
  if (lid < 1) return std::nullopt;
  auto index = static_cast<size_t>(lid) - 1;
  std::optional<Device> device;
  if (index < state.cluster.switches.size()) {
    device = SwitchDevice(state, state.cluster.switches[index]);
  } else {
    index -= state.cluster.switches.size();
    for (const Node& node : state.cluster.nodes) {
      if (index < node.nics.size()) {
        device = HcaDevice(state, node, node.nics[index]);
        break;
      }
      index -= node.nics.size();
    }
  }
  if (!device || device->lid != lid) return std::nullopt;
  return device;
}

PortCounters CountersOf(const LabState& state, const Device& device, int port, TimePoint now) {
  const auto link = LinkOf(state, {device.id, port});
  if (!link) return {};
  const LinkTruth truth = LinkNow(state, *link, now);
  const Link& wire = state.cluster.links[*link];
  return wire.a.device == device.id && wire.a.port == port ? truth.a : truth.b;
}

CommandResult NoAdapter(std::string_view program) {
  return Complained(
      fmt::format("ibwarn: [4242] mad_rpc_open_port: can't open UMAD port ((null):0)\n"
                  "{}: iberror: failed: Failed to open '(null)' port '0'\n",
                  program),
      255);
}

bool Arguments::Has(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

std::string Arguments::Value(std::string_view option) const {
  const auto it = std::find(options.begin(), options.end(), option);
  return it == options.end() ? "" : values[static_cast<size_t>(it - options.begin())];
}

Arguments ReadArguments(std::span<const std::string> args, std::string_view with_value) {
  const auto takes = Split(with_value, ' ');
  Arguments result;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg.size() < 2 || arg[0] != '-') {
      result.rest.push_back(arg);
      continue;
    }
    result.options.push_back(arg);
    const bool value = std::find(takes.begin(), takes.end(), arg) != takes.end();
    result.values.push_back(value && i + 1 < args.size() ? args[++i] : "");
  }
  return result;
}

std::string_view SpeedName(double lane_gbit_per_s) {
  struct Speed {
    double lane;
    std::string_view name;
  };
  static constexpr Speed kSpeeds[] = {{2.5, "SDR"},     {5, "DDR"},        {10, "QDR"},
                                      {14.0625, "FDR"}, {25.78125, "EDR"}, {53.125, "HDR"},
                                      {106.25, "NDR"},  {212.5, "XDR"}};
  for (const Speed& speed : kSpeeds) {
    if (std::abs(speed.lane - lane_gbit_per_s) < 0.001) return speed.name;
  }
  return "???";
}

}  // namespace muster::lab::infiniband
