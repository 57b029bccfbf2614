// Fabric tools: the parsers are those of the probes, so that a pasted text and a live host are
// understood alike.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "diagnose/shape.h"
#include "probes/infiniband/iblinkinfo.h"
#include "probes/infiniband/ibqueryerrors.h"
#include "probes/infiniband/ibstat.h"
#include "probes/infiniband/perfquery.h"

namespace muster::diagnose {

namespace {

using infiniband::CounterSet;

bool Indented(std::string_view line) { return line.empty() || line[0] == ' ' || line[0] == '\t'; }
std::string Or(const std::optional<std::string>& text) { return text.value_or(""); }

bool RdmaLink(std::string_view line) {
  const auto words = SplitBlank(line);
  if (words.size() < 4) return false;
  const bool named = words[0] == "link" || (words[0].ends_with(':') && Contains(words[0], "/"));
  return named && Contains(words[1], "/") && Contains(line, "state ");
}

// A row of ibqueryerrors, which needs no heading to be understood.
bool QueryErrorsRow(std::string_view line) {
  return Trim(line).starts_with("GUID 0x") && Contains(line, " port ") && Contains(line, " == ");
}

// ---- ibstat, ibstatus, ibv_devinfo ----

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

// Lines of a tool that numbers its devices in headings, without the heading's form.
size_t Headings(const Section& s, std::string_view begins) {
  const auto lines = Lines(s.text);
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [&](std::string_view line) {
    return Trim(line).starts_with(begins);
  }));
}

void ReadIbstat(const Section& s, FactStore& facts) {
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
  if (Headings(s, "Port ") - Headings(s, "Port GUID:") != ibstat.ports.size())
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
  if (Headings(s, "Infiniband device '") != ports.size())
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

// ---- rdma link ----

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

// ---- iblinkinfo ----

bool WasUp(const FactStore& facts, const infiniband::LinkInfoLine& link) {
  for (const Fact* f : facts.Of("link.ok"))
    if (f->Get("device") == link.device && f->Get("port") == std::to_string(link.port)) return true;
  return false;
}

size_t Occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

void ReadLinks(const Section& s, FactStore& facts) {
  const auto links = infiniband::ParseIblinkinfo(s.text);
  std::map<std::pair<int, int>, int> votes;
  for (const auto& link : links.lines)
    if (link.width && link.lane_gbit_per_s)
      ++votes[{*link.width, static_cast<int>(*link.lane_gbit_per_s)}];
  std::pair<int, int> most{0, 0};
  int most_votes = 0;
  for (const auto& [kind, count] : votes)
    if (count > most_votes) {
      most_votes = count;
      most = kind;
    }
  for (const auto& link : links.lines) {
    Attributes attrs = {{"device", link.device},
                        {"port", std::to_string(link.port)},
                        {"state", link.state},
                        {"physical", link.physical_state},
                        {"peer", link.peer.value_or("")}};
    if (link.width) attrs.emplace_back("width", std::to_string(*link.width));
    if (link.lane_gbit_per_s) attrs.emplace_back("lane", fmt::format("{}", *link.lane_gbit_per_s));
    std::string id = "link.ok";
    if (EqualsIgnoreCase(link.state, "Down")) {
      // A switch has ports without a cable: only an adapter's port, or one that was up before in
      // what was given, is news.
      id = EqualsIgnoreCase(link.physical_state, "Disabled")  ? "link.disabled"
           : Contains(link.device, "/") || WasUp(facts, link) ? "link.polling"
                                                              : "link.unused";
    } else if (StartsWith(link.state, "Init")) {
      id = "link.init";
    } else if (link.width && most_votes >= 3 && *link.width < most.first) {
      id = "link.narrow";
    } else if (link.lane_gbit_per_s && most_votes >= 3 &&
               static_cast<int>(*link.lane_gbit_per_s) < most.second) {
      id = "link.slow";
    }
    facts.Add(s.Make(id, std::move(attrs), s.Where(Trim(link.excerpt)), link.excerpt));
  }
  // Which width or speed is right is told by what most links have; two of them tell nothing.
  if (votes.size() > 1 && most_votes < 3)
    AddDamage(s, facts, "iblinkinfo: links differ, and there are too few to tell which is right");
  const size_t drawn = Occurrences(s.text, "==(");
  if (drawn != links.lines.size() + links.rejected.size() ||
      Headings(s, "CA: ") > Occurrences(s.text, "==("))
    AddDamage(s, facts, "iblinkinfo: a line has lost a piece");
  if (!links.rejected.empty())
    AddDamage(s, facts,
              fmt::format("iblinkinfo: {} lines cannot be read, such as: {}", links.rejected.size(),
                          Shorten(Printable(Trim(links.rejected.front())), 80)));
}

// ---- counters ----

void AddSample(const Section& s, FactStore& facts, const std::string& device, int port,
               std::string_view name, int64_t value, int64_t most, std::string_view line) {
  facts.Add(s.Make("counter.sample",
                   {{"device", device},
                    {"port", std::to_string(port)},
                    {"name", std::string(name)},
                    {"value", std::to_string(value)},
                    {"max", std::to_string(most)},
                    {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                   s.Where(Trim(line)), line));
}

void AddSet(const Section& s, FactStore& facts, const std::string& device, int port,
            const CounterSet& set, std::string_view line) {
  const auto& table = infiniband::CounterTable();
  for (size_t i = 0; i < table.size(); ++i)
    if (set.value[i])
      AddSample(s, facts, device, port, table[i].now, *set.value[i],
                set.wide[i] ? 0 : static_cast<int64_t>(table[i].bits), line);
}

// "GUID 0x1070fd03 port ALL: [LinkDownedCounter == 25 (25.000)] [PortXmitDiscards == 3]" by itself.
void ReadErrorsRow(const Section& s, FactStore& facts, std::string_view line) {
  const std::string_view text = Trim(line);
  const size_t port_at = text.find(" port "), colon = text.find(':', port_at);
  if (colon == std::string_view::npos)
    return AddDamage(s, facts, "ibqueryerrors: a row without its port");
  const std::string device(text.substr(0, port_at));
  const std::string port(text.substr(port_at + 6, colon - port_at - 6));
  for (const std::string_view item : Split(text.substr(colon), '[')) {
    const size_t equal = item.find(" == ");
    if (equal == std::string_view::npos) continue;
    const std::string_view number = item.substr(equal + 4, item.find_first_of(" ]", equal + 4));
    const auto value = ParseInt(number.substr(0, number.find_first_of(" ]")));
    const infiniband::CounterName* name = infiniband::FindCounter(item.substr(0, equal));
    if (!value.ok())
      AddDamage(s, facts, "ibqueryerrors: a counter that is no number");
    else if (name != nullptr)
      facts.Add(s.Make("counter.sample",
                       {{"device", device},
                        {"port", port},
                        {"name", std::string(name->now)},
                        {"value", std::to_string(*value)},
                        {"max", std::to_string(static_cast<int64_t>(name->bits))},
                        {"sample", fmt::format("{}:{}", s.file, s.first_line)}},
                       s.Where(text), line));
  }
}

void ReadQueryErrors(const Section& s, FactStore& facts) {
  if (QueryErrorsRow(std::string_view(s.text).substr(0, s.text.find('\n')))) {
    for (const std::string_view line : Lines(s.text))
      if (QueryErrorsRow(line)) ReadErrorsRow(s, facts, line);
    return;
  }
  const auto errors = infiniband::ParseIbqueryerrors(s.text);
  for (const std::string_view line : Lines(s.text))  // the sum of a switch
    if (QueryErrorsRow(line) && Contains(line, " port ALL")) ReadErrorsRow(s, facts, line);
  for (const auto& port : errors.ports)
    AddSet(s, facts, port.device, port.port, port.counters, port.excerpt);
  const auto lines = Lines(s.text);
  const auto said = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
    return Contains(line, " == ") && !Contains(line, " port ALL") && !Contains(line, " port 0:");
  });
  if (static_cast<size_t>(said) != errors.ports.size())
    AddDamage(s, facts, "ibqueryerrors: a port's line cannot be read");
}

void ReadPerfquery(const Section& s, FactStore& facts) {
  const auto records = infiniband::ParsePerfquery(s.text);
  for (const auto& record : records)
    AddSet(s, facts, fmt::format("lid {}", record.lid), record.port, record.counters,
           std::string_view(s.text).substr(0, s.text.find('\n')));
  if (records.empty()) AddDamage(s, facts, "no counter of perfquery can be read");
}

void ReadEthtool(const Section& s, FactStore& facts) {
  for (const std::string_view line : Lines(s.text)) {
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Trim(line.substr(0, colon));
    const auto value = ParseInt(Trim(line.substr(colon + 2)));
    static constexpr std::string_view kKept[] = {"discard",    "out_of_buffer", "pause_duration",
                                                 "symbol_err", "link_down",     "crc_err",
                                                 "timeout",    "out_of_seq",    "rx_pcs"};
    if (!value.ok() || name.empty()) continue;
    bool kept = false;
    for (const std::string_view part : kKept) kept = kept || Contains(name, part);
    if (kept) AddSample(s, facts, s.host.empty() ? "interface" : s.host, 0, name, *value, 0, line);
  }
}

constexpr std::array kFabric = {
    SectionKind{"ibstat", "ca '", [](std::string_view l) { return l.starts_with("CA '"); },
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
    SectionKind{"iblinkinfo", "==(", [](std::string_view) { return true; },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("CA: ") || l.starts_with("Switch") ||
                         l.starts_with("0x") || l.starts_with("\"");
                },
                ReadLinks},
    SectionKind{"iblinkinfo", "switch: 0x",
                [](std::string_view l) { return l.starts_with("Switch: 0x"); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("CA: ") || l.starts_with("Switch");
                },
                ReadLinks},
    SectionKind{"iblinkinfo", "ca: ", [](std::string_view l) { return l.starts_with("CA: "); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("CA: ") || l.starts_with("Switch");
                },
                ReadLinks},
    SectionKind{"ibqueryerrors", "errors for ",
                [](std::string_view l) { return l.starts_with("Errors for "); },
                [](std::string_view l) {
                  return Indented(l) || l.starts_with("Errors for ") || l.starts_with("##");
                },
                ReadQueryErrors},
    SectionKind{"ibqueryerrors", " == ", QueryErrorsRow,
                [](std::string_view l) {
                  return Indented(l) || QueryErrorsRow(l) || l.starts_with("Errors for ") ||
                         l.starts_with("##");
                },
                ReadQueryErrors},
    SectionKind{"rdma link", "physical_state ", RdmaLink,
                [](std::string_view l) { return RdmaLink(l); }, ReadRdmaLinks},
    SectionKind{"perfquery",
                " counters:", [](std::string_view l) { return l.starts_with("# Port"); },
                [](std::string_view l) { return Contains(l, ":..") || l.starts_with("# Port"); },
                ReadPerfquery},
    SectionKind{"ethtool", "nic statistics:",
                [](std::string_view l) { return l.starts_with("NIC statistics:"); },
                [](std::string_view l) { return Indented(l); }, ReadEthtool},
};

}  // namespace

std::span<const SectionKind> FabricSections() { return kFabric; }

}  // namespace muster::diagnose
