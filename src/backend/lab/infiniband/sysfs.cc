// Tested by tools_test.cc, through the programs it is part of.
#include "backend/lab/infiniband/sysfs.h"

#include <set>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "backend/lab/infiniband/tools.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

using Tree = std::map<std::string, std::string>;

constexpr std::string_view kAbiVersion = "/sys/class/infiniband_mad/abi_version";

// Four groups of four digits: "0002:c900:0300:0000".
std::string Grouped(std::string_view guid) {
  std::string text;
  for (size_t i = 0; i < guid.size(); ++i) {
    if (i > 0 && i % 4 == 0) text += ':';
    text += guid[i];
  }
  return text;
}

// drivers/infiniband/core/sysfs.c
std::string_view StateLine(std::string_view state) {
  if (state == "Active") return "4: ACTIVE";
  if (state == "Armed") return "3: ARMED";
  if (state == "Initializing") return "2: INIT";
  return "1: DOWN";
}
std::string_view PhysicalLine(std::string_view state) {
  if (state == "LinkUp") return "5: LinkUp";
  if (state == "Disabled") return "3: Disabled";
  return "2: Polling";
}

std::string RateLine(const LabState& state, const std::string& device, const HcaTruth& hca,
                     TimePoint now) {
  const auto link = LinkOf(state, {device, 1});
  if (!link)
    return fmt::format("{} Gb/sec (4X {})", hca.rate_gbit_per_s,
                       SpeedName(hca.rate_gbit_per_s / 4));
  const LinkTruth wire = LinkNow(state, *link, now);
  if (!wire.up) return "10 Gb/sec (4X SDR)";
  return fmt::format("{} Gb/sec ({}X {})", hca.rate_gbit_per_s, wire.width,
                     SpeedName(wire.lane_gbit_per_s));
}

void AddCounters(Tree& tree, const std::string& port, const PortCounters& c) {
  const std::pair<std::string_view, int64_t> files[] = {
      {"symbol_error", c.symbol_errors},
      {"link_error_recovery", c.link_error_recovery},
      {"link_downed", c.link_downed},
      {"port_rcv_errors", c.rcv_errors},
      {"port_rcv_remote_physical_errors", c.rcv_remote_physical_errors},
      {"port_rcv_switch_relay_errors", c.rcv_switch_relay_errors},
      {"port_xmit_discards", c.xmit_discards},
      {"port_xmit_constraint_errors", c.xmit_constraint_errors},
      {"port_rcv_constraint_errors", c.rcv_constraint_errors},
      {"local_link_integrity_errors", c.local_link_integrity},
      {"excessive_buffer_overrun_errors", c.excessive_buffer_overrun},
      {"VL15_dropped", c.vl15_dropped},
      {"port_xmit_data", c.xmit_data},
      {"port_rcv_data", c.rcv_data},
      {"port_xmit_packets", c.xmit_packets},
      {"port_rcv_packets", c.rcv_packets},
      {"port_xmit_wait", c.xmit_wait},
      {"unicast_xmit_packets", c.xmit_packets},
      {"unicast_rcv_packets", c.rcv_packets},
      {"multicast_xmit_packets", 0},
      {"multicast_rcv_packets", 0}};
  for (const auto& [name, value] : files) {
    tree[fmt::format("{}/counters/{}", port, name)] = fmt::format("{}\n", value);
  }
  for (const std::string_view name :
       {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err",
        "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "roce_adp_retrans",
        "duplicate_request", "implied_nak_seq_err"}) {
    tree[fmt::format("{}/hw_counters/{}", port, name)] = "0\n";
  }
}

void AddDevice(Tree& tree, const LabState& state, const Node& node, const Nic& nic, size_t index,
               TimePoint now) {
  const HcaTruth hca = HcaNow(state, node, nic, now);
  if (!hca.present) return;
  const std::string id = fmt::format("{}/{}", node.name, nic.device);
  const std::string base = fmt::format("/sys/class/infiniband/{}", nic.device);
  const auto set = [&](std::string_view path, std::string_view value) {
    tree[fmt::format("{}/{}", base, path)] = fmt::format("{}\n", value);
  };
  set("hca_type", "MT4129");
  set("fw_ver", NodeNow(state, node, now).hca_firmware);
  set("hw_rev", "0");
  set("board_id", "MT_0000000838");
  set("node_type", "1: CA");
  set("node_guid", Grouped(hca.node_guid));
  set("sys_image_guid", Grouped(hca.node_guid));
  set("node_desc", fmt::format("{} {}", node.name, nic.device));
  set("ports/1/state", StateLine(hca.state));
  set("ports/1/phys_state", PhysicalLine(hca.physical_state));
  set("ports/1/rate", RateLine(state, id, hca, now));
  set("ports/1/lid", fmt::format("0x{:x}", hca.lid == 0 ? 0xffff : hca.lid));
  set("ports/1/lid_mask_count", "0");
  set("ports/1/sm_lid", fmt::format("0x{:x}", hca.sm_lid));
  set("ports/1/sm_sl", "0");
  set("ports/1/cap_mask", "0xa751e848");
  set("ports/1/link_layer", "InfiniBand");
  set("ports/1/gids/0", "fe80:0000:0000:0000:" + Grouped(hca.port_guid));
  set("ports/1/pkeys/0", "0xffff");
  set("ports/1/gid_attrs/types/0", "IB/RoCE v1");
  AddCounters(tree, base + "/ports/1", CountersOf(state, HcaDevice(state, node, nic), 1, now));
  const std::string umad = fmt::format("/sys/class/infiniband_mad/umad{}", index);
  tree[umad + "/ibdev"] = nic.device + "\n";
  tree[umad + "/port"] = "1\n";
}

}  // namespace

std::map<std::string, std::string> SysfsTree(const LabState& state, const Node& node,
                                             TimePoint now) {
  Tree tree;
  for (size_t i = 0; i < node.nics.size(); ++i) AddDevice(tree, state, node, node.nics[i], i, now);
  if (!tree.empty()) tree[std::string(kAbiVersion)] = "5\n";
  return tree;
}

Result<std::string> ReadSysfs(const LabState& state, const Node& node, std::string_view path,
                              TimePoint now) {
  // A whole node's tree for one file would make a sweep over a thousand nodes slow.
  Tree tree;
  const auto below = After(path, "/sys/class/infiniband/");
  const std::string_view device = below ? below->substr(0, below->find('/')) : std::string_view();
  for (size_t i = 0; i < node.nics.size(); ++i) {
    if (below && node.nics[i].device != device) continue;
    AddDevice(tree, state, node, node.nics[i], i, now);
  }
  if (!below && !tree.empty()) tree[std::string(kAbiVersion)] = "5\n";
  const auto it = tree.find(std::string(path));
  if (it == tree.end()) {
    return Fail(Code::kNotFound, fmt::format("{}: No such file or directory", path));
  }
  return it->second;
}

Result<std::vector<std::string>> ListSysfs(const LabState& state, const Node& node,
                                           std::string_view path, TimePoint now) {
  std::string folder(path);
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  folder += '/';
  std::set<std::string> names;
  for (const auto& [file, text] : SysfsTree(state, node, now)) {
    const auto rest = After(file, folder);
    if (rest) names.insert(std::string(rest->substr(0, rest->find('/'))));
  }
  if (names.empty())
    return Fail(Code::kNotFound, fmt::format("{}: No such file or directory", path));
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace muster::lab::infiniband

namespace muster::lab {

Status WriteInfinibandSysfs(const LabState& state, const Node& node, Files& files,
                            const std::string& folder, TimePoint now) {
  const auto tree = infiniband::SysfsTree(state, node, now);
  const auto target = [&](std::string_view path) {
    return folder + std::string(path.substr(std::string_view("/sys").size()));
  };
  for (const std::string_view root : {"/sys/class/infiniband", "/sys/class/infiniband_mad"}) {
    TRY_VOID(files.MakeFolders(target(root)));
    TRY(const auto old, files.List(target(root)));
    for (const FileInfo& entry : old) {
      // What left the node since the last writing must not stay behind.
      const std::string path = fmt::format("{}/{}", root, entry.name);
      const auto it = tree.lower_bound(path);
      const bool kept = it != tree.end() && StartsWith(it->first, path) &&
                        (it->first.size() == path.size() || it->first[path.size()] == '/');
      if (!kept) TRY_VOID(files.Remove(target(path)));
    }
  }
  for (const auto& [path, text] : tree) {
    const std::string to = target(path);
    const auto old = files.Read(to);
    if (old.ok() && *old == text) continue;  // a write is an fsync
    TRY_VOID(files.MakeFolders(to.substr(0, to.rfind('/'))));
    TRY_VOID(files.WriteAtomic(to, text));
  }
  return {};
}

}  // namespace muster::lab
