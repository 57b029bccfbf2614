// Ports of adapters as the kernel tells of them. One line "Link up" says nothing; a port that comes
// up again and again within minutes flaps, whether or not the lines in which it went down were
// given. While a host boots, drivers take their ports down and up: that is no news.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

constexpr double kBooting_s = 180;  // drivers set their ports up until then
constexpr double kWindow_s = 600;   // ups further apart are no flapping
constexpr double kTogether_s = 2;   // ups closer together are one: bonds and VLANs repeat it
constexpr size_t kFlaps = 3;

struct Wording {
  std::string_view says;  // in lower case
  bool up;
};
constexpr Wording kWordings[] = {
    {": link up", true},          {": link is up", true},    {": nic link is up", true},
    {": link down", false},       {": link is down", false}, {": nic link is down", false},
    {": gained carrier", true},   {": lost carrier", false}, {": carrier lost", false},
    {": carrier acquired", true},
};
constexpr std::string_view kBond = "link status definitely ";

// Seconds since boot in "[  123.456789]", or nothing: "networkd[9]:" is a process.
std::optional<double> SinceBoot(std::string_view line) {
  const size_t open = line.find('['), close = line.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  std::string said(Trim(line.substr(open + 1, close - open - 1)));
  std::replace(said.begin(), said.end(), ',', '.');
  if (!Contains(said, ".")) return std::nullopt;
  const auto seconds = ParseDouble(said);
  if (!seconds.ok() || *seconds < 0) return std::nullopt;
  return *seconds;
}

// "eth3" of "mlx5_core 0000:41:00.1 eth3: Link up".
std::string UnitBefore(std::string_view line, size_t colon) {
  const std::string_view before = line.substr(0, colon);
  const size_t blank = before.find_last_of(" \t");
  const std::string_view word = blank == std::string_view::npos ? before : before.substr(blank + 1);
  const bool name = word.size() >= 2 && word.size() <= 32 &&
                    std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
                    std::all_of(word.begin(), word.end(), [](char c) {
                      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
                             c == '-' || c == '.' || c == '@';
                    });
  return name ? std::string(word) : "";
}

// The kernel starts, or an adapter's driver: ports come up and go down until they are set up.
bool Begins(std::string_view line) {
  return Contains(line, "Linux version ") ||
         (Contains(line, "mlx5_core") && Contains(line, "firmware version:"));
}

std::optional<double> SecondsOf(const Fact& f) {
  if (f.time) return std::chrono::duration<double>(f.time->time_since_epoch()).count();
  return f.Number("boot_s");
}

// Made with a pod, a container or a virtual machine, and without carrier at its end.
// Source: the names that Calico, Cilium, flannel, the CNI plugins, Docker and libvirt give.
bool IsOfAContainer(std::string_view unit) {
  constexpr std::array<std::string_view, 10> kBegin = {
      "cali", "veth", "lxc", "cilium_", "cni", "flannel", "docker", "virbr", "vnet", "tap"};
  return std::any_of(kBegin.begin(), kBegin.end(),
                     [&](std::string_view begin) { return unit.starts_with(begin); });
}

}  // namespace

bool ReadLinkLine(std::string_view line, const std::string& file, size_t number, FactStore& facts) {
  const std::string lower = ToLower(line);
  if (Contains(lower, "slot(") || Contains(lower, "sata link") || Contains(lower, "port: "))
    return false;
  std::string unit;
  bool up = false;
  const bool begins = Begins(line);
  for (const Wording& wording : kWordings) {
    const size_t at = lower.find(wording.says);
    if (at == std::string::npos) continue;
    if (lower.find("timeout", at) != std::string::npos) return false;  // it did not come up
    unit = UnitBefore(line, at);
    up = wording.up;
    break;
  }
  if (const size_t at = lower.find(kBond); unit.empty() && at != std::string::npos) {
    const std::string_view rest = std::string_view(lower).substr(at + kBond.size());
    up = rest.starts_with("up");
    const size_t named = line.find("interface ", at);
    if (named == std::string_view::npos) return false;
    const std::string_view name = line.substr(named + 10);
    unit = name.substr(0, name.find_first_of(", \t"));
  }
  if (unit.empty() && !begins) return false;
  if (IsOfAContainer(unit)) return true;
  Fact fact{begins ? "link.set_up" : "link.event",
            {{"unit", unit}, {"state", up ? "up" : "down"}},
            {file, number},
            Shorten(Printable(Trim(line)), kTextBytes),
            {},
            0,
            1};
  Attach(ReadSpeaker(line), fact);
  if (const auto boot = SinceBoot(line)) fact.Set("boot_s", fmt::format("{:.3f}", *boot));
  fact.Set("line", std::to_string(number));  // the same words at another time are another event
  facts.Add(std::move(fact));
  return !begins;
}

void AddLinkFacts(FactStore& facts) {
  struct Port {
    std::vector<const Fact*> ups, downs;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Port> ports;
  const auto set_ups = facts.Of("link.set_up");
  const auto booting = [&](const Fact& f) {
    const auto boot = f.Number("boot_s"), now = SecondsOf(f);
    if (boot && *boot < kBooting_s) return true;
    return now && std::any_of(set_ups.begin(), set_ups.end(), [&](const Fact* begin) {
             const auto then = SecondsOf(*begin);
             return then && begin->at.file == f.at.file && *now >= *then &&
                    *now - *then < kBooting_s;
           });
  };
  for (const Fact* f : facts.Of("link.event")) {
    if (booting(*f)) continue;
    Port& port = ports[{std::string(f->Get("host")), f->at.file, std::string(f->Get("unit"))}];
    (f->Get("state") == "up" ? port.ups : port.downs).push_back(f);
  }
  std::vector<Fact> made;
  const auto make = [&](std::string id, const Fact& from, const Attributes& more) {
    Fact fact = from;
    fact.id = std::move(id);
    std::erase_if(fact.attrs, [](const auto& attr) {
      return attr.first == "line" || attr.first == "boot_s" || attr.first == "state";
    });
    for (const auto& [name, value] : more) fact.Set(name, value);
    made.push_back(std::move(fact));
  };
  for (const auto& [key, port] : ports) {
    if (!port.downs.empty()) make("link.went_down", *port.downs.front(), {});
    std::vector<double> all, at;
    for (const Fact* f : port.ups)
      if (const auto s = SecondsOf(*f)) all.push_back(*s);
    std::sort(all.begin(), all.end());
    for (const double s : all)
      if (at.empty() || s - at.back() >= kTogether_s) at.push_back(s);
    for (size_t i = 0; i + kFlaps <= at.size(); ++i) {
      if (at[i + kFlaps - 1] - at[i] > kWindow_s) continue;
      size_t last = i + kFlaps - 1;
      while (last + 1 < at.size() && at[last + 1] - at[i] <= kWindow_s) ++last;
      make("link.flaps", *port.ups.front(),
           {{"times", std::to_string(last - i + 1)},
            {"seconds", fmt::format("{:.0f}", std::ceil(at[last] - at[i]))}});
      break;
    }
  }
  for (Fact& fact : made) facts.Add(std::move(fact));
}

}  // namespace muster::diagnose
