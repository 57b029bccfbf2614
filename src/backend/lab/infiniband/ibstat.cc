// Tested by tools_test.cc, through the programs it is part of.
// ibstat and ibstatus of infiniband-diags 44.0 on a host with ConnectX-7 adapters.
#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "backend/lab/infiniband/sysfs.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

// ibstat sorts by name as alphasort(3) does: mlx5_10 before mlx5_2.
std::vector<const Nic*> SortedNics(const ToolCall& call) {
  std::vector<const Nic*> nics;
  if (call.node == nullptr) return nics;
  for (const Nic& nic : call.node->nics) {
    if (HcaNow(call.state, *call.node, nic, call.now).present) nics.push_back(&nic);
  }
  std::sort(nics.begin(), nics.end(),
            [](const Nic* a, const Nic* b) { return a->device < b->device; });
  return nics;
}

std::string RateText(double gbit_per_s) {
  return gbit_per_s == 2.5 ? "2.5" : fmt::format("{}", static_cast<int>(gbit_per_s));
}

}  // namespace

CommandResult Ibstat(const ToolCall& call) {
  const Arguments args = ReadArguments(call.args, "");
  const auto nics = SortedNics(call);
  std::string out;
  if (args.Has("-l") || args.Has("--list_of_cas")) {
    for (const Nic* nic : nics) out += nic->device + "\n";
    return Printed(std::move(out));
  }
  const NodeTruth node =
      call.node == nullptr ? NodeTruth{} : NodeNow(call.state, *call.node, call.now);
  for (const Nic* nic : nics) {
    if (!args.rest.empty() && args.rest[0] != nic->device) continue;
    const HcaTruth hca = HcaNow(call.state, *call.node, *nic, call.now);
    out += fmt::format(
        "CA '{}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: {}\n"
        "\tHardware version: 0\n\tNode GUID: 0x{}\n\tSystem image GUID: 0x{}\n\tPort 1:\n"
        "\t\tState: {}\n\t\tPhysical state: {}\n\t\tRate: {}\n\t\tBase lid: {}\n\t\tLMC: 0\n"
        "\t\tSM lid: {}\n\t\tCapability mask: 0xa751e848\n\t\tPort GUID: 0x{}\n"
        "\t\tLink layer: InfiniBand\n",
        nic->device, node.hca_firmware, hca.node_guid, hca.node_guid, hca.state, hca.physical_state,
        RateText(hca.rate_gbit_per_s), hca.lid == 0 ? 65535 : hca.lid, hca.sm_lid, hca.port_guid);
  }
  if (!args.rest.empty() && out.empty()) {
    return Complained(
        fmt::format(
            "ibpanic: [4242] main: '{}' IB device can't be found: No such file or directory\n",
            args.rest[0]),
        255);
  }
  return Printed(std::move(out));
}

CommandResult Ibstatus(const ToolCall& call) {
  const auto nics = SortedNics(call);
  if (nics.empty()) return Printed("Fatal error:  No devices\n", 255);
  std::string out;
  for (const Nic* nic : nics) {
    const std::string folder = fmt::format("/sys/class/infiniband/{}/ports/1/", nic->device);
    const auto file = [&](std::string_view name) {
      const auto text = ReadSysfs(call.state, *call.node, folder + std::string(name), call.now);
      return text.ok() ? std::string(Trim(*text)) : "unknown";
    };
    out += fmt::format(
        "Infiniband device '{}' port 1 status:\n\tdefault gid:\t {}\n\tbase lid:\t {}\n"
        "\tsm lid:\t\t {}\n\tstate:\t\t {}\n\tphys state:\t {}\n\trate:\t\t {}\n"
        "\tlink_layer:\t {}\n\n",
        nic->device, file("gids/0"), file("lid"), file("sm_lid"), file("state"), file("phys_state"),
        file("rate"), file("link_layer"));
  }
  return Printed(std::move(out));
}

}  // namespace muster::lab::infiniband
