// Ports of adapters: ibstat, ibstatus, ibv_devinfo, rdma link. The parsers are those of the probes,
// so that a pasted text and a live host are understood alike.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "diagnose/shape.h"
#include "probes/infiniband/ibstat.h"

namespace muster::diagnose {

namespace {

std::string Or(const std::optional<std::string>& text) { return text.value_or(""); }

bool RdmaLink(std::string_view line) {
  const auto words = SplitBlank(line);
  if (words.size() < 4) return false;
  const bool named = words[0] == "link" || (words[0].ends_with(':') && Contains(words[0], "/"));
  return named && Contains(words[1], "/") && Contains(line, "state ");
}

void AddPort(const Section& s, FactStore& facts, const infiniband::PortStatus& port) {
  const bool ethernet = port.link_layer && EqualsIgnoreCase(*port.link_layer, "Ethernet");
  facts.Add(
      s.Make("hca.port",
             {{"device", port.device},
              {"port", std::to_string(port.port)},
              {"state", Or(port.state)},
              {"physical", Or(port.physical_state)},
              {"rate", port.rate_gbit_per_s ? fmt::format("{}", *port.rate_gbit_per_s) : ""},
              {"layer", ethernet ? "Ethernet" : "InfiniBand"},
              {"firmware", Or(port.firmware)}},
             s.Where(port.device),
             fmt::format("{} port {}: state {}, physical state {}, rate {}", port.device, port.port,
                         port.state.value_or("?"), port.physical_state.value_or("?"),
                         port.rate_gbit_per_s.value_or(0))));
}

constexpr std::string_view kIbstatPort[] = {
    "State:",  "Physical state:",  "Rate:",      "Base lid:",  "LMC:",
    "SM lid:", "Capability mask:", "Port GUID:", "Link layer:"};
constexpr std::string_view kIbstatDevice[] = {
    "CA type:", "Number of ports:", "Firmware version:", "Hardware version:", "Node GUID:"};
constexpr std::string_view kIbstatusPort[] = {
    "default gid:", "base lid:", "sm lid:", "state:", "phys state:", "rate:", "link_layer:"};

// As ibstat printed it, where somebody indented what he pasted. Lines stay where they are.
Section WithoutIndent(Section s) {
  const size_t indent = s.text.find_first_not_of(" \t");
  if (indent == 0 || indent == std::string::npos) return s;
  std::string text;
  for (const std::string_view line : Lines(s.text)) {
    const size_t own = std::min(line.find_first_not_of(" \t"), line.size());
    text += line.substr(std::min(indent, own));
    text += '\n';
  }
  s.text = std::move(text);
  return s;
}

void ReadIbstat(const Section& as_pasted, FactStore& facts) {
  const Section s = WithoutIndent(as_pasted);
  CheckBlocks(s, {"Port ", kIbstatPort}, facts);
  CheckBlocks(s, {"CA '", kIbstatDevice}, facts);
  const auto ibstat = infiniband::ParseIbstat(s.text);
  for (const auto& port : ibstat.ports) {
    AddPort(s, facts, port);
    if (!port.state || !port.physical_state)
      AddDamage(s, facts, fmt::format("ibstat: {} port {} has no state", port.device, port.port));
  }
  if (ibstat.panic)
    facts.Add(s.Make("hca.panic", {{"device", ibstat.panicked_device}}, s.Where("ibpanic"),
                     *ibstat.panic));
  if (ibstat.ports.empty()) AddDamage(s, facts, "ibstat lists no port");
  if (s.LinesThatBegin("Port ") - s.LinesThatBegin("Port GUID:") != ibstat.ports.size())
    AddDamage(s, facts, "ibstat: a port's heading cannot be read");
}

bool PortBlock(std::string_view line) {
  const std::string_view text = Trim(line);
  return text == "Port 1:" || text == "Port 2:";
}

// A port of ibstat that was pasted without its device.
void ReadPortBlock(const Section& s, FactStore& facts) {
  const auto value = [&](std::string_view key) {
    for (const std::string_view line : Lines(s.text))
      if (Trim(line).starts_with(key)) return std::string(Trim(Trim(line).substr(key.size())));
    return std::string();
  };
  const std::string state = value("State:"), physical = value("Physical state:");
  AddDamage(s, facts, "ibstat: a port without its device");
  if (state.empty() || physical.empty()) return;
  const std::string layer = value("Link layer:");
  facts.Add(s.Make("hca.port",
                   {{"port", std::string(Trim(s.text).substr(5, 1))},
                    {"state", state},
                    {"physical", physical},
                    {"layer", layer.empty() ? "InfiniBand" : layer}},
                   s.Where("State:"),
                   fmt::format("State: {}, physical state: {}", state, physical)));
}

void ReadIbstatus(const Section& s, FactStore& facts) {
  CheckBlocks(s, {"Infiniband device '", kIbstatusPort}, facts);
  const auto ports = infiniband::ParseIbstatus(s.text);
  if (s.LinesThatBegin("Infiniband device '") != ports.size())
    AddDamage(s, facts, "ibstatus: a heading cannot be read");
  for (const auto& port : ports) {
    AddPort(s, facts, port);
    if (!port.state || !port.physical_state)
      AddDamage(s, facts, fmt::format("ibstatus: {} has no state", port.device));
  }
  if (ports.empty()) AddDamage(s, facts, "ibstatus lists no port");
}

void ReadDevinfo(const Section& s, FactStore& facts) {
  std::string device, port = "1", state, layer;
  std::string_view state_line;
  bool any = false;
  const auto flush = [&] {
    if (!state.empty()) {
      facts.Add(s.Make("hca.port",
                       {{"device", device},
                        {"port", port},
                        {"state", state == "PORT_ACTIVE"  ? "Active"
                                  : state == "PORT_DOWN"  ? "Down"
                                  : state == "PORT_INIT"  ? "Initializing"
                                  : state == "PORT_ARMED" ? "Armed"
                                                          : state},
                        {"layer", layer.empty() ? "InfiniBand" : layer}},
                       s.Where(state_line), state_line));
      any = true;
    }
    state.clear();
    layer.clear();
  };
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 2) continue;
    if (words[0] == "hca_id:") {
      flush();
      device = words[1];
    } else if (words[0] == "port:") {
      flush();
      port = words[1];
    } else if (words[0] == "state:") {
      state = words[1];
      state_line = line;
    } else if (words[0] == "link_layer:") {
      layer = words[1];
    }
  }
  flush();
  if (!any) AddDamage(s, facts, "ibv_devinfo gives no port state");
}

// "link mlx5_1/1 subnet_prefix fe80:.. lid 65535 sm_lid 0 lmc 0 state DOWN physical_state
// DISABLED"; older versions number the device before its name: "1/1: mlx5_0/1: subnet_prefix ...".
void ReadRdmaLinks(const Section& s, FactStore& facts) {
  static constexpr std::pair<std::string_view, std::string_view> kStates[] = {
      {"ACTIVE", "Active"}, {"DOWN", "Down"}, {"INIT", "Initializing"}, {"ARMED", "Armed"}};
  static constexpr std::pair<std::string_view, std::string_view> kPhysical[] = {
      {"LINK_UP", "LinkUp"}, {"DISABLED", "Disabled"}, {"POLLING", "Polling"}};
  const auto named = [](const auto& names, std::string_view word) {
    for (const auto& [from, to] : names)
      if (from == word) return std::string(to);
    return std::string(word);
  };
  size_t rows = 0;
  for (const std::string_view line : Lines(s.text)) {
    const auto words = SplitBlank(line);
    if (words.size() < 4 || !RdmaLink(line)) continue;
    std::string_view device = words[1];
    if (device.ends_with(':')) device.remove_suffix(1);
    const size_t slash = device.find('/');
    std::string state, physical;
    bool infiniband = false;
    for (size_t i = 2; i + 1 < words.size(); ++i) {
      if (words[i] == "state") state = named(kStates, words[i + 1]);
      if (words[i] == "physical_state") physical = named(kPhysical, words[i + 1]);
      infiniband = infiniband || words[i] == "lid" || words[i] == "subnet_prefix";
    }
    if (state.empty()) {
      AddDamage(s, facts, "rdma link: a port without its state");
      continue;
    }
    ++rows;
    facts.Add(s.Make("hca.port",
                     {{"device", std::string(device.substr(0, slash))},
                      {"port", std::string(device.substr(slash + 1))},
                      {"state", state},
                      {"physical", physical},
                      {"layer", infiniband ? "InfiniBand" : "Ethernet"}},
                     s.Where(line), line));
  }
  if (rows == 0) AddDamage(s, facts, "rdma link lists no port");
}

constexpr std::array kHca = {
    SectionKind{"ibstat", "ca '", [](std::string_view l) { return Trim(l).starts_with("CA '"); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("CA '") || l.starts_with("ibpanic");
                },
                ReadIbstat},
    SectionKind{"ibstat", "port 1:", PortBlock, Indented, ReadPortBlock},
    SectionKind{"ibstat", "port 2:", PortBlock, Indented, ReadPortBlock},
    SectionKind{
        "ibstatus", "infiniband device '",
        [](std::string_view l) { return l.starts_with("Infiniband device '"); },
        [](std::string_view l) { return Indented(l) || l.starts_with("Infiniband device '"); },
        ReadIbstatus},
    SectionKind{
        "ibv_devinfo", "hca_id:", [](std::string_view l) { return l.starts_with("hca_id:"); },
        [](std::string_view l) { return Indented(l) || l.starts_with("hca_id:"); }, ReadDevinfo},
    SectionKind{"rdma link", "physical_state ", RdmaLink,
                [](std::string_view l) { return RdmaLink(l); }, ReadRdmaLinks},
};

}  // namespace

std::span<const SectionKind> HcaSections() { return kHca; }

}  // namespace muster::diagnose
