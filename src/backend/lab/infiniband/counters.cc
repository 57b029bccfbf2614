// Tested by tools_test.cc, through the programs it is part of.
// perfquery and ibqueryerrors of infiniband-diags 44.0.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

struct Field {
  std::string_view name;
  int64_t PortCounters::* value;
};
// In the order of the attribute. The hexadecimal and selector fields between are printed where they
// stand.
constexpr Field kErrors[] = {
    {"SymbolErrorCounter", &PortCounters::symbol_errors},
    {"LinkErrorRecoveryCounter", &PortCounters::link_error_recovery},
    {"LinkDownedCounter", &PortCounters::link_downed},
    {"PortRcvErrors", &PortCounters::rcv_errors},
    {"PortRcvRemotePhysicalErrors", &PortCounters::rcv_remote_physical_errors},
    {"PortRcvSwitchRelayErrors", &PortCounters::rcv_switch_relay_errors},
    {"PortXmitDiscards", &PortCounters::xmit_discards},
    {"PortXmitConstraintErrors", &PortCounters::xmit_constraint_errors},
    {"PortRcvConstraintErrors", &PortCounters::rcv_constraint_errors},
    {"LocalLinkIntegrityErrors", &PortCounters::local_link_integrity},
    {"ExcessiveBufferOverrunErrors", &PortCounters::excessive_buffer_overrun},
    {"VL15Dropped", &PortCounters::vl15_dropped},
    {"PortXmitWait", &PortCounters::xmit_wait}};
constexpr size_t kFirstOfSecondPart = 9;  // behind CounterSelect2

constexpr Field kData[] = {{"PortXmitData", &PortCounters::xmit_data},
                           {"PortRcvData", &PortCounters::rcv_data},
                           {"PortXmitPkts", &PortCounters::xmit_packets},
                           {"PortRcvPkts", &PortCounters::rcv_packets}};

using Out = std::back_insert_iterator<fmt::memory_buffer>;

// mad_dump_field(): the name, dots up to column 33, the value. A large fabric has half a million of
// these lines.
void Dump(Out to, std::string_view name, int64_t value) {
  static constexpr std::string_view kDots = ":...............................";
  const fmt::format_int digits(value);
  to = std::copy(name.begin(), name.end(), to);
  to = std::copy_n(kDots.begin(), 33 - name.size(), to);
  to = std::copy_n(digits.data(), digits.size(), to);
  *to++ = '\n';
}

// The classic data counters have 32 bits and stick.
int64_t Classic(int64_t value) { return std::min<int64_t>(value, 4294967295); }

void DumpClassic(fmt::memory_buffer& out, const Device& device, int lid, int port,
                 const PortCounters& counters) {
  Out to = std::back_inserter(out);
  fmt::format_to(to, "# Port counters: Lid {} port {} (CapMask: {})\n", lid, port,
                 device.is_switch ? "0x1300" : "0x1200");
  Dump(to, "PortSelect", port);
  fmt::format_to(to, "CounterSelect:...................0x0000\n");
  for (size_t i = 0; i < kFirstOfSecondPart; ++i)
    Dump(to, kErrors[i].name, counters.*kErrors[i].value);
  fmt::format_to(to, "CounterSelect2:..................0x00\n");
  Dump(to, "LocalLinkIntegrityErrors", counters.local_link_integrity);
  Dump(to, "ExcessiveBufferOverrunErrors", counters.excessive_buffer_overrun);
  Dump(to, "QP1Dropped", 0);
  Dump(to, "VL15Dropped", counters.vl15_dropped);
  for (const Field& field : kData) Dump(to, field.name, Classic(counters.*field.value));
  Dump(to, "PortXmitWait", Classic(counters.xmit_wait));
}

void DumpExtended(fmt::memory_buffer& out, const Device& device, int lid, int port,
                  const PortCounters& counters) {
  Out to = std::back_inserter(out);
  fmt::format_to(to, "# Port extended counters: Lid {} port {} (CapMask: {} CapMask2: 0x0000000)\n",
                 lid, port, device.is_switch ? "0x1300" : "0x1200");
  Dump(to, "PortSelect", port);
  fmt::format_to(to, "CounterSelect:...................0x0000\n");
  for (const Field& field : kData) Dump(to, field.name, counters.*field.value);
  for (const std::string_view name : {"PortUnicastXmitPkts", "PortUnicastRcvPkts",
                                      "PortMulticastXmitPkts", "PortMulticastRcvPkts"}) {
    Dump(to, name, 0);
  }
}

// "1-8" or "1,4,8"; nothing where it cannot be read. Of "1-6,8" the real program reads 1 and 8, so
// this one does too.
std::vector<int> ReadPorts(std::string_view text) {
  const auto leading = [](std::string_view part) {
    const size_t digits = std::min(part.find_first_not_of("0123456789"), part.size());
    return ParseInt(part.substr(0, digits));
  };
  std::vector<int> ports;
  const bool list = Contains(text, ",");
  for (const std::string_view part : Split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = leading(part);
    const auto last =
        list || dash == std::string_view::npos ? first : leading(part.substr(dash + 1));
    if (!first.ok() || !last.ok() || *first < 0 || *last > 255) return {};
    for (int64_t port = *first; port <= *last; ++port) ports.push_back(static_cast<int>(port));
  }
  return ports;
}

PortCounters Sum(const LabState& state, const Device& device, TimePoint now) {
  PortCounters sum;
  for (int port = 1; port <= device.ports; ++port) {
    const PortCounters one = CountersOf(state, device, port, now);
    for (const Field& field : kErrors) sum.*field.value += one.*field.value;
    for (const Field& field : kData) sum.*field.value += one.*field.value;
  }
  return sum;
}

const Nic* LocalNic(const ToolCall& call, const std::string& device) {
  if (call.node == nullptr) return nullptr;
  for (const Nic& nic : call.node->nics) {
    if (!HcaNow(call.state, *call.node, nic, call.now).present) continue;
    if (device.empty() || nic.device == device) return &nic;
  }
  return nullptr;
}

CommandResult Failed(std::string_view what) {
  CommandResult result = Printed(fmt::format("perfquery: iberror: failed: {}\n", what), 255);
  return result;
}

std::string ErrorList(const PortCounters& counters) {
  std::string list;
  for (const Field& field : kErrors) {
    const int64_t value = counters.*field.value;
    if (value > 0) list += fmt::format(" [{} == {}]", field.name, value);
  }
  return list;
}

}  // namespace

CommandResult Perfquery(const ToolCall& call) {
  const Arguments args = ReadArguments(call.args, "-C --Ca -P --Port -t --timeout");
  const Nic* local = LocalNic(call, args.Value("-C"));
  if (local == nullptr) return NoAdapter("perfquery");
  Device device = HcaDevice(call.state, *call.node, *local);
  int lid = device.lid;
  if (!args.rest.empty()) {
    const auto number = ParseInt(args.rest[0]);
    const auto found =
        number.ok() ? DeviceOfLid(call.state, static_cast<int>(*number)) : std::nullopt;
    if (!found) {
      CommandResult result = Failed("classportinfo query");
      result.err =
          fmt::format("ibwarn: [4242] mad_rpc: _do_madrpc failed; dport (Lid {})\n", args.rest[0]);
      return result;
    }
    device = *found;
    lid = device.lid;
  }
  const bool extended = args.Has("-x") || args.Has("--extended");
  const bool each = args.Has("-l") || args.Has("--loop_ports");
  std::vector<int> ports =
      args.rest.size() > 1 ? ReadPorts(args.rest[1]) : std::vector<int>{device.is_switch ? 255 : 1};
  const int most = device.ports;
  if (each && ports == std::vector<int>{255}) {
    ports.clear();
    for (int port = device.is_switch ? 0 : 1; port <= most; ++port) ports.push_back(port);
  }
  fmt::memory_buffer out;
  for (const int port : ports) {
    if (port != 255 && (port > most || (port == 0 && !device.is_switch))) {
      CommandResult result = Failed("perfquery");
      result.out.insert(0, std::string(out.data(), out.size()));
      return result;
    }
    const PortCounters counters = port == 255 ? Sum(call.state, device, call.now)
                                              : CountersOf(call.state, device, port, call.now);
    if (extended) {
      DumpExtended(out, device, lid, port, counters);
    } else {
      DumpClassic(out, device, lid, port, counters);
    }
  }
  if (ports.empty()) return Failed("perfquery");
  return Printed(std::string(out.data(), out.size()));
}

CommandResult Ibqueryerrors(const ToolCall& call) {
  const Fabric fabric(call);
  if (fabric.local() == nullptr) return NoAdapter("ibqueryerrors");
  std::string out;
  int nodes = 0, bad_nodes = 0, ports = 0, bad_ports = 0;
  for (auto it = fabric.found().rbegin(); it != fabric.found().rend(); ++it) {
    const Device& device = **it;
    ++nodes;
    std::string lines;
    PortCounters sum;
    for (int number = 1; number <= fabric.PortCount(device); ++number) {
      ++ports;
      const Port port = fabric.At(device, number);
      if (port.counters == nullptr) continue;
      const std::string list = ErrorList(*port.counters);
      if (list.empty()) continue;
      ++bad_ports;
      for (const Field& field : kErrors) sum.*field.value += port.counters->*field.value;
      lines += fmt::format("   GUID 0x{:x} port {}:{}\n", device.PortGuid(), number, list);
    }
    if (lines.empty()) continue;
    ++bad_nodes;
    if (device.is_switch) {
      ++ports;  // the query of all ports at once counts as one more
      out += fmt::format("Errors for 0x{:x} \"{}\"\n   GUID 0x{:x} port ALL:{}\n", device.guid,
                         device.description, device.guid, ErrorList(sum));
    } else {
      out += fmt::format("Errors for \"{}\"\n", device.description);
    }
    out += lines;
  }
  out += fmt::format(
      "\n## Summary: {} nodes checked, {} bad nodes found\n"
      "##          {} ports checked, {} ports have errors beyond threshold\n## Thresholds: \n"
      "## Suppressed:\n",
      nodes, bad_nodes, ports, bad_ports);
  return Printed(std::move(out));
}

}  // namespace muster::lab::infiniband
