// Links of a fabric: iblinkinfo. The parsers are those of the probes,
// so that a pasted text and a live host are understood alike.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "probes/infiniband/iblinkinfo.h"

namespace muster::diagnose {

namespace {

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
  // Two lanes are right for a port that was split; alone the line does not tell.
  else if (most_votes > 0 && most_votes < 3 && most.first < 4)
    AddDamage(s, facts,
              fmt::format("iblinkinfo: {} of the usual 4 lanes, and no other link to "
                          "tell whether the port is a split one",
                          most.first));
  const size_t drawn = Occurrences(s.text, "==(");
  if (drawn != links.lines.size() + links.rejected.size() ||
      s.LinesThatBegin("CA: ") > Occurrences(s.text, "==("))
    AddDamage(s, facts, "iblinkinfo: a line has lost a piece");
  if (!links.rejected.empty())
    AddDamage(s, facts,
              fmt::format("iblinkinfo: {} lines cannot be read, such as: {}", links.rejected.size(),
                          Shorten(Printable(Trim(links.rejected.front())), 80)));
}

constexpr std::array kLinks = {
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
};

}  // namespace

std::span<const SectionKind> LinkSections() { return kLinks; }

}  // namespace muster::diagnose
