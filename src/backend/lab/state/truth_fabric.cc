// What is so of links, adapters, counters and subnet managers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backend/lab/state/chance.h"
#include "backend/lab/state/index.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

struct Generation {
  double link_gbit_per_s, lane_gbit_per_s;
};
// QDR, FDR, EDR, HDR, NDR, XDR over four lanes; lanes as iblinkinfo prints them
// (infiniband-diags 44.0).
constexpr Generation kGenerations[] = {{40, 10},      {56, 14.0625}, {100, 25.78125},
                                       {200, 53.125}, {400, 106.25}, {800, 212.5}};

double NextLower(double link_rate) {
  double lower = link_rate / 2;
  for (const Generation& g : kGenerations) {
    if (g.link_gbit_per_s < link_rate) lower = g.link_gbit_per_s;
  }
  return lower;
}

// Widths in bits: Linux drivers/infiniband/core/sysfs.c. A full counter sticks.
int64_t Saturating(double count, int bits) {
  return static_cast<int64_t>(
      std::min(std::floor(std::max(0.0, count)), std::ldexp(1.0, bits) - 1));
}

// Management traffic only: a few packets a second.
PortCounters Quiet(const LabState& state, std::string_view port, TimePoint now) {
  PortCounters counters;
  const double seconds = std::max(0.0, Seconds(now - state.created)) + 3600;
  const double rate = 8 + 8 * Draw(state, port, "mads");
  counters.xmit_packets = counters.rcv_packets = static_cast<int64_t>(seconds * rate);
  counters.xmit_data = counters.rcv_data =
      counters.xmit_packets * 72;  // a management packet is 288 bytes: 72 words
  return counters;
}

void Damage(const LabState& state, const Subject& link, TimePoint now, LinkTruth& truth) {
  if (const Fault* fault = state.Find("symbol_errors", link)) {
    // A read just after the injection has seen some already.
    const double n = Setting(*fault, "per_second") * (Seconds(now - fault->since) + 2);
    truth.a.symbol_errors = Saturating(n, 16);
    truth.a.rcv_errors = Saturating(n / 10, 16);
  }
  if (const Fault* fault = state.Find("link_flapping", link)) {
    const double n = Setting(*fault, "per_second") * (Seconds(now - fault->since) + 2);
    for (PortCounters* counters : {&truth.a, &truth.b}) {
      counters->link_downed = Saturating(n, 8);
      counters->link_error_recovery = Saturating(n, 8);
      counters->xmit_discards = Saturating(n * 3, 16);
    }
  }
  if (const Fault* fault = state.Find("link_lane_degraded", link)) {
    truth.width = std::clamp(static_cast<int>(Setting(*fault, "width")), 1, truth.width);
  }
  if (state.Has("link_wrong_rate", link)) {
    truth.lane_gbit_per_s = LaneRate(NextLower(NominalRate(truth.lane_gbit_per_s, 4)));
  }
}

// What an adapter does to the link that it hangs on.
void DamageByHca(const LabState& state, const PortRef& end, LinkTruth& truth, bool& down) {
  if (!Contains(end.device, "/")) return;
  const Subject hca{SubjectKind::kHca, end.device};
  if (state.Has("hca_missing", hca)) down = true;
  if (state.Has("port_stuck_init", hca)) truth.state = "Init";
}

}  // namespace

double LaneRate(double link_gbit_per_s) {
  for (const Generation& g : kGenerations) {
    if (std::abs(g.link_gbit_per_s - link_gbit_per_s) < 0.5) return g.lane_gbit_per_s;
  }
  return link_gbit_per_s / 4;
}

double NominalRate(double lane_gbit_per_s, int width) {
  for (const Generation& g : kGenerations) {
    if (std::abs(g.lane_gbit_per_s - lane_gbit_per_s) < 0.01) return g.link_gbit_per_s * width / 4;
  }
  return lane_gbit_per_s * width;
}

LinkTruth LinkNow(const LabState& state, size_t link_index, TimePoint now) {
  const Link& link = state.cluster.links[link_index];
  LinkTruth truth;
  truth.width = link.width;
  truth.lane_gbit_per_s = LaneRate(link.rate_gbit_per_s);
  truth.a = Quiet(state, link.a.ToString(), now);
  truth.b = Quiet(state, link.b.ToString(), now);
  if (state.faults.empty()) return truth;
  const Subject subject = link.Id();
  Damage(state, subject, now, truth);
  bool down = state.Has("link_down", subject);
  DamageByHca(state, link.a, truth, down);
  DamageByHca(state, link.b, truth, down);
  if (down) {
    truth.up = false;
    truth.state = "Down";
    truth.physical_state = "Polling";
    // Whoever pulls a cable sees it counted on both ends.
    for (PortCounters* counters : {&truth.a, &truth.b})
      counters->link_downed = std::max<int64_t>(1, counters->link_downed);
  }
  return truth;
}

std::optional<size_t> LinkOf(const LabState& state, const PortRef& port) {
  const auto index = IndexOf(state);
  const auto it = index->link_of_port.find(port.ToString());
  if (it == index->link_of_port.end()) return std::nullopt;
  return it->second;
}

int LidOf(const LabState& state, std::string_view device) {
  const auto index = IndexOf(state);
  const auto it = index->lid_of_device.find(std::string(device));
  if (it == index->lid_of_device.end()) return 0;
  if (!Contains(device, "/") || state.faults.empty()) return it->second;
  const Subject hca{SubjectKind::kHca, std::string(device)};
  if (state.Has("hca_missing", hca) || state.Has("port_stuck_init", hca)) return 0;
  const auto link = LinkOf(state, {std::string(device), 1});
  if (link && state.Has("link_down", index->link_subjects[*link])) return 0;
  return it->second;
}

HcaTruth HcaNow(const LabState& state, const Node& node, const Nic& nic, TimePoint now) {
  HcaTruth truth;
  truth.node_guid = nic.guid;
  if (const auto guid = ParseHex(nic.guid); guid.ok())
    truth.port_guid = fmt::format("{:016x}", *guid | 1);
  truth.rate_gbit_per_s = nic.rate_gbit_per_s;
  const std::string device = fmt::format("{}/{}", node.name, nic.device);
  truth.present = !state.Has("hca_missing", {SubjectKind::kHca, device});
  truth.lid = LidOf(state, device);
  // A subnet manager that died leaves the ports as it configured them.
  const auto managers = SubnetManagersNow(state, now);
  truth.sm_lid = truth.lid == 0 ? 0 : !managers.empty() ? managers.front().lid : 1;
  const auto link = LinkOf(state, {device, 1});
  if (!link) {
    if (!truth.present) truth.state = "Down";
    return truth;
  }
  const LinkTruth wire = LinkNow(state, *link, now);
  if (!wire.up) {
    truth.state = "Down";
    truth.physical_state = "Polling";
    truth.rate_gbit_per_s = 10;  // ibstat prints 10 for a port that polls
    return truth;
  }
  if (wire.state == "Init") truth.state = "Initializing";
  truth.rate_gbit_per_s = NominalRate(wire.lane_gbit_per_s, wire.width);
  return truth;
}

std::vector<SubnetManager> SubnetManagersNow(const LabState& state, TimePoint now) {
  std::vector<SubnetManager> managers;
  if (state.cluster.links.empty() || state.FindAny("no_master") != nullptr) return managers;
  const bool both = state.FindAny("two_masters") != nullptr;
  const double seconds = std::max(0.0, Seconds(now - state.created));
  for (const Node& node : state.cluster.nodes) {
    if (node.nics.empty() || managers.size() == 2) continue;
    const bool first = managers.empty();
    SubnetManager manager;
    manager.host = node.name;
    const auto& lids = IndexOf(state)->lid_of_device;
    manager.lid = lids.at(fmt::format("{}/{}", node.name, node.nics.front().device));
    manager.priority = first ? 14 : 13;
    manager.activity_count = 640 + static_cast<int>(std::fmod(seconds / 10, 1e9));
    if (const auto guid = ParseHex(node.nics.front().guid); guid.ok())
      manager.guid = fmt::format("{:016x}", *guid | 1);
    manager.state = first || both ? "SMINFO_MASTER" : "SMINFO_STANDBY";
    managers.push_back(std::move(manager));
  }
  // A lone node's fabric has no second manager to be master beside the first; the switch's own one
  // is.
  if (both && managers.size() == 1) {
    SubnetManager other = managers.front();
    other.host = state.cluster.switches.front().name;
    other.guid = state.cluster.switches.front().guid;
    other.lid = 1;
    managers.push_back(std::move(other));
  }
  return managers;
}

}  // namespace muster::lab
