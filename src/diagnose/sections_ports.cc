// One port as the tools for one port tell it: smpquery portinfo, ibportstate, mlxlink. That a port
// is down or disabled the line itself says (catalogue); here is what takes several lines.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// The value behind "Key:......value" or "Key      : value"; empty when no line has the key.
std::string PortValue(std::string_view text, std::string_view key) {
  for (const std::string_view line : Lines(text)) {
    const auto rest = After(Trim(line), key);
    if (!rest) continue;
    const size_t at = rest->find_first_not_of(" \t");
    if (at == std::string_view::npos || (*rest)[at] != ':') continue;
    const size_t begin = rest->find_first_not_of(" .", at + 1);
    return begin == std::string_view::npos ? "" : std::string(Trim(rest->substr(begin)));
  }
  return "";
}

// The largest of "1X or 4X"; 0 when there is none.
int MostLanes(std::string_view widths) {
  int most = 0, number = 0;
  for (const char c : widths) {
    if (c >= '0' && c <= '9') {
      number = std::min(number * 10 + (c - '0'), 1000);
    } else {
      if (c == 'X' || c == 'x') most = std::max(most, number);
      number = 0;
    }
  }
  return most;
}

// "# Port info: Lid 12 port 17", "# Port info: DR path slid 65535; dlid 65535; 0,1 port 3".
std::pair<std::string, std::string> WhichPort(std::string_view text) {
  const std::string_view line = Lines(text).front();
  const size_t port = line.rfind(" port ");
  const auto lid = After(Trim(line), "# Port info:");
  if (!lid || port == std::string_view::npos) return {PortValue(text, "Lid"), ""};
  const std::string_view device = Trim(line.substr(0, port)).substr(12);
  return {std::string(Trim(device)), std::string(Trim(line.substr(port + 6)))};
}

void ReadPortInfo(const Section& s, FactStore& facts) {
  const std::string state = PortValue(s.text, "LinkState"),
                    physical = PortValue(s.text, "PhysLinkState"),
                    active = PortValue(s.text, "LinkWidthActive"),
                    supported = PortValue(s.text, "LinkWidthSupported");
  if (state.empty() || physical.empty() || active.empty() || supported.empty())
    return AddDamage(s, facts, "a port's record lacks its state or its width");
  const auto [device, port] = WhichPort(s.text);
  Attributes attrs = {{"device", device}, {"port", port}, {"state", state}, {"physical", physical}};
  std::string id = "link.ok";
  std::string_view line = "LinkState";
  if (state == "Down" && (physical == "Polling" || physical == "Disabled")) {
    id = "link.unused";  // its own line is the finding
  } else if (StartsWith(state, "Init")) {
    id = "link.init";
  } else if (state != "Active" || physical != "LinkUp") {
    return AddDamage(s, facts, fmt::format("a port between two states: {}, {}", state, physical));
  } else if (MostLanes(active) < MostLanes(supported)) {
    id = "link.narrow";
    line = "LinkWidthActive";
  }
  if (id == "link.ok" && MostLanes(active) == 0) AddDamage(s, facts, "a port's width is no number");
  facts.Add(s.Make(id, std::move(attrs), s.Where(line), fmt::format("{}, {}", state, active)));
}

bool InPortInfo(std::string_view line) {
  const std::string_view text = Trim(line);
  return text.find(":.") != std::string_view::npos || EndsWith(text, ":");
}

// InfiniBand's rates in the order of their speed.
constexpr std::array<std::string_view, 8> kDataRates = {"SDR", "DDR", "QDR", "FDR",
                                                        "EDR", "HDR", "NDR", "XDR"};

// Of "IB-NDR"; -1 for any other rate.
int SpeedRank(std::string_view speed) {
  for (size_t i = 0; i < kDataRates.size(); ++i)
    if (speed == kDataRates[i] || speed.ends_with(std::string("-") + std::string(kDataRates[i])))
      return static_cast<int>(i);
  return -1;
}

// The fastest in the brackets of "Enabled Link Speed : 0x00000080 (NDR,HDR)"; -1 without one.
int FastestOf(std::string_view text, std::string_view key) {
  const std::string value = PortValue(text, key);
  const size_t open = value.find('('), close = value.find(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return -1;
  int most = -1;
  for (const std::string_view name :
       Split(std::string_view(value).substr(open + 1, close - open - 1), ','))
    most = std::max(most, SpeedRank(Trim(name)));
  return most;
}

// "Status Opcode : 0" and "No issue was observed" are mlxlink's own verdict on a port that is up.
void ReadMlxlink(const Section& s, FactStore& facts) {
  const std::string state = PortValue(s.text, "State"),
                    advice = PortValue(s.text, "Recommendation"),
                    width = PortValue(s.text, "Width"), opcode = PortValue(s.text, "Status Opcode");
  if (state.empty()) return AddDamage(s, facts, "mlxlink: no line says the port's state");
  if (state != "Active" || opcode != "0" || !StartsWith(advice, "No issue") ||
      MostLanes(width) == 0)
    return AddDamage(s, facts, fmt::format("mlxlink: a port without a clean verdict ({})", state));
  const std::string speed = PortValue(s.text, "Speed");
  const int now = SpeedRank(speed), could = std::min(FastestOf(s.text, "Enabled Link Speed"),
                                                     FastestOf(s.text, "Supported Cable Speed"));
  if (now >= 0 && now < could)
    facts.Add(s.Make("link.slow", {{"state", state}}, s.Where("Speed"),
                     fmt::format("Speed : {}, and adapter and cable can do {}", speed,
                                 kDataRates[static_cast<size_t>(could)])));
  else
    facts.Add(s.Make("link.ok", {{"state", state}}, s.Where("Recommendation"), advice));
}

bool InMlxlink(std::string_view line) {
  const std::string_view text = Trim(line);
  return text.empty() || Contains(text, " : ") || EndsWith(text, " Info") || text[0] == '-';
}

constexpr std::array kPorts = {
    SectionKind{"port info", "# port info: ", [](std::string_view) { return true; }, InPortInfo,
                ReadPortInfo},
    SectionKind{"port info", "linkstate:...",
                [](std::string_view l) { return Trim(l).starts_with("LinkState:"); }, InPortInfo,
                ReadPortInfo},
    SectionKind{"mlxlink", "operational info",
                [](std::string_view l) { return Trim(l) == "Operational Info"; }, InMlxlink,
                ReadMlxlink},
};

}  // namespace

std::span<const SectionKind> PortSections() { return kPorts; }

}  // namespace muster::diagnose
