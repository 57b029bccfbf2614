// Tested by tools_test.cc, through the programs it is part of.
// iblinkinfo, ibnetdiscover, ibswitches and ibhosts of infiniband-diags 44.0.
#include <algorithm>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

// What iblinkinfo calls the state: the truth says "Init" where it prints "Initialize".
std::string_view StateWord(std::string_view state) {
  return state == "Init" ? "Initialize" : state;
}

// "( )" on a healthy link; what both ends could do better otherwise.
std::string Advice(const LabState& state, const LinkTruth& link) {
  const int best_width = 4;
  double best_lane = 0;
  for (const double lane : {10.0, 14.0625, 25.78125, 53.125, 106.25, 212.5}) {
    if (lane * 4 <= state.spec.rate_gbit_per_s * 1.1) best_lane = lane;
  }
  return fmt::format(
      "({} {})", link.width < best_width ? "Could be 4X" : "",
      link.lane_gbit_per_s < best_lane - 0.001 ? fmt::format("Could be {} Gbps", best_lane) : "");
}

std::string LinkText(const Port& port) {
  if (port.peer == nullptr) return fmt::format("(              {:>6}/{:>8})", "Down", "Polling");
  return fmt::format("({:>3} {:>18} {:>6}/{:>8})", fmt::format("{}X", port.link->width),
                     fmt::format("{} Gbps", port.link->lane_gbit_per_s),
                     StateWord(port.link->state), port.link->physical_state);
}

void AppendPort(fmt::memory_buffer& out, const LabState& state, const Device& device, int number,
                const Port& port, bool line_mode) {
  auto to = std::back_inserter(out);
  if (line_mode) {
    fmt::format_to(to, "0x{:016x} \"{:>30}\" ", device.PortGuid(), device.description);
  } else if (device.is_switch) {
    fmt::format_to(to, "      ");
  } else {
    fmt::format_to(to, "      0x{:016x} ", device.PortGuid());
  }
  fmt::format_to(to, "{:>6} {:>4}[{:>2}] =={}==>  ", device.lid, number, "", LinkText(port));
  if (port.peer == nullptr) {
    fmt::format_to(to, "{:>11}[{:>2}] \"\" ( )\n", "", "");
    return;
  }
  if (line_mode) fmt::format_to(to, "0x{:016x} ", port.peer->PortGuid());
  fmt::format_to(to, "{:>6} {:>4}[{:>2}] \"{}\" {}\n", port.peer->lid, port.peer_port, "",
                 port.peer->description, Advice(state, *port.link));
}

void AppendHeading(fmt::memory_buffer& out, const Device& device) {
  if (device.is_switch) {
    fmt::format_to(std::back_inserter(out), "Switch: 0x{:016x} {}:\n", device.guid,
                   device.description);
  } else {
    fmt::format_to(std::back_inserter(out), "CA: {}:\n", device.description);
  }
}

// ctime() in UTC.
std::string TopologyDate(TimePoint now) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char text[64] = {};
  std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
  return text;
}

void AppendSpeed(fmt::memory_buffer& out, const LinkTruth& link) {
  fmt::format_to(std::back_inserter(out), " {}x{}\n", link.width, SpeedName(link.lane_gbit_per_s));
}

void AppendSwitch(fmt::memory_buffer& out, const Fabric& fabric, const Device& device) {
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{0:x}\nswitchguid=0x{0:x}({0:x})\n",
                 device.guid);
  fmt::format_to(to, "Switch\t{} \"S-{:016x}\"\t\t# \"{}\" enhanced port 0 lid {} lmc 0\n",
                 device.ports, device.guid, device.description, device.lid);
  for (int number = 1; number <= device.ports; ++number) {
    const Port port = fabric.At(device, number);
    if (port.peer == nullptr) continue;
    const Device& peer = *port.peer;
    fmt::format_to(to, "[{}]\t\"{}-{:016x}\"[{}]", number, peer.is_switch ? 'S' : 'H', peer.guid,
                   port.peer_port);
    if (!peer.is_switch) fmt::format_to(to, "({:x}) ", peer.PortGuid());
    fmt::format_to(to, "\t\t# \"{}\" lid {}", peer.description, peer.lid);
    AppendSpeed(out, *port.link);
  }
}

void AppendAdapter(fmt::memory_buffer& out, const Fabric& fabric, const Device& device) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x{0:x}\ncaguid=0x{0:x}\n",
                 device.guid);
  fmt::format_to(to, "Ca\t1 \"H-{:016x}\"\t\t# \"{}\"\n", device.guid, device.description);
  const Port port = fabric.At(device, 1);
  if (port.peer == nullptr) return;
  fmt::format_to(to, "[1]({:x}) \t\"{}-{:016x}\"[{}]\t\t# lid {} lmc 0 \"{}\" lid {}",
                 device.PortGuid(), port.peer->is_switch ? 'S' : 'H', port.peer->guid,
                 port.peer_port, device.lid, port.peer->description, port.peer->lid);
  AppendSpeed(out, *port.link);
}

void AppendPortList(fmt::memory_buffer& out, const Fabric& fabric, const Device& device) {
  auto to = std::back_inserter(out);
  for (int number = fabric.PortCount(device); number >= 1; --number) {
    const Port port = fabric.At(device, number);
    if (port.link == nullptr) continue;
    fmt::format_to(to, "{} {:>5} {:>2} 0x{:016x} {}x {}", device.is_switch ? "SW" : "CA",
                   device.lid, number, device.PortGuid(), port.link->width,
                   SpeedName(port.link->lane_gbit_per_s));
    if (port.peer == nullptr) {
      fmt::format_to(to, "{:>36}'{}'\n", "", device.description);
      continue;
    }
    fmt::format_to(to, " - {} {:>5} {:>2} 0x{:016x} ( '{}' - '{}' )\n",
                   port.peer->is_switch ? "SW" : "CA", port.peer->lid, port.peer_port,
                   port.peer->PortGuid(), device.description, port.peer->description);
  }
}

// The library keeps what it finds in front of what it had found.
std::vector<const Device*> NewestFirst(const Fabric& fabric) {
  return {fabric.found().rbegin(), fabric.found().rend()};
}

CommandResult Text(const fmt::memory_buffer& out) {
  return Printed(std::string(out.data(), out.size()));
}

}  // namespace

CommandResult Iblinkinfo(const ToolCall& call) {
  const Arguments args = ReadArguments(call.args, "");
  const bool line_mode = args.Has("-l") || args.Has("--line");
  const bool down_only = args.Has("-d") || args.Has("--down");
  const Fabric fabric(call);
  if (fabric.local() == nullptr) return NoAdapter("iblinkinfo");
  fmt::memory_buffer out;
  for (const Device* device : NewestFirst(fabric)) {
    if (args.Has("--switches-only") && !device->is_switch) continue;
    if (args.Has("--cas-only") && device->is_switch) continue;
    bool headed = line_mode;
    for (int number = 1; number <= fabric.PortCount(*device); ++number) {
      const Port port = fabric.At(*device, number);
      if (down_only && port.peer != nullptr) continue;
      if (!headed) AppendHeading(out, *device);
      headed = true;
      AppendPort(out, call.state, *device, number, port, line_mode);
    }
  }
  return Text(out);
}

CommandResult Ibnetdiscover(const ToolCall& call) {
  const Arguments args = ReadArguments(call.args, "");
  const Fabric fabric(call);
  if (fabric.local() == nullptr) return NoAdapter("ibnetdiscover");
  fmt::memory_buffer out;
  if (args.Has("-p") || args.Has("--ports")) {
    for (const Device* device : NewestFirst(fabric)) AppendPortList(out, fabric, *device);
    return Text(out);
  }
  fmt::format_to(
      std::back_inserter(out),
      "#\n# Topology file: generated on {}\n#\n# Initiated from node {:016x} port {:016x}\n",
      TopologyDate(call.now), fabric.local()->guid, fabric.local()->PortGuid());
  for (const Device* device : NewestFirst(fabric)) {
    if (device->is_switch) AppendSwitch(out, fabric, *device);
  }
  for (const Device* device : NewestFirst(fabric)) {
    if (!device->is_switch) AppendAdapter(out, fabric, *device);
  }
  return Text(out);
}

CommandResult Ibswitches(const ToolCall& call) {
  const Fabric fabric(call);
  if (fabric.local() == nullptr) return NoAdapter("ibnetdiscover");
  std::string out;
  for (const Device* device : NewestFirst(fabric)) {
    if (!device->is_switch) continue;
    out += fmt::format("Switch\t: 0x{:016x} ports {} \"{}\" enhanced port 0 lid {} lmc 0\n",
                       device->guid, device->ports, device->description, device->lid);
  }
  return Printed(std::move(out));
}

CommandResult Ibhosts(const ToolCall& call) {
  const Fabric fabric(call);
  if (fabric.local() == nullptr) return NoAdapter("ibnetdiscover");
  std::string out;
  for (const Device* device : NewestFirst(fabric)) {
    if (device->is_switch) continue;
    out += fmt::format("Ca\t: 0x{:016x} ports 1 \"{}\"\n", device->guid, device->description);
  }
  return Printed(std::move(out));
}

}  // namespace muster::lab::infiniband
