// ibnetdiscover, whole or a few of its lines: what each cable runs at, against what most run at.
#include <array>
#include <map>
#include <optional>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

// [1]	"H-1070fd0300a1b2c4"[1](1070fd0300a1b2c4) 		# "node007 mlx5_0" lid 41 4xNDR
struct Cable {
  std::string_view port, peer, speed;
  int width = 0;
};

bool IsSpeed(std::string_view word) {
  static constexpr std::string_view kSpeeds[] = {"SDR", "DDR", "QDR", "FDR10", "FDR",
                                                 "EDR", "HDR", "NDR", "XDR"};
  for (const std::string_view speed : kSpeeds)
    if (word == speed) return true;
  return false;
}

std::optional<Cable> ReadCable(std::string_view line) {
  if (!line.starts_with('[') || !(Contains(line, "\"H-") || Contains(line, "\"S-")))
    return std::nullopt;
  const size_t close = line.find(']'), hash = line.find('#');
  if (close == std::string_view::npos || hash == std::string_view::npos) return std::nullopt;
  Cable cable;
  cable.port = line.substr(1, close - 1);
  const std::string_view said = line.substr(hash);
  const size_t quote = said.find('"'), end = said.find('"', quote + 1);
  if (end == std::string_view::npos) return std::nullopt;
  cable.peer = said.substr(quote + 1, end - quote - 1);
  // " lid 41 4xNDR", and in newer versions " s=8 w=2" behind it.
  const auto words = SplitBlank(said.substr(end + 1));
  if (words.size() < 3 || words[0] != "lid") return std::nullopt;
  const size_t x = words[2].find('x');
  const auto width = ParseInt(words[2].substr(0, x));
  if (x == std::string_view::npos || !width.ok() || !IsSpeed(words[2].substr(x + 1)))
    return std::nullopt;
  cable.width = static_cast<int>(*width);
  cable.speed = words[2].substr(x + 1);
  return cable;
}

bool TopologyHeading(std::string_view line) {
  return (line.starts_with("Switch\t") || line.starts_with("Ca\t") || line.starts_with("Switch ") ||
          line.starts_with("Ca ") || line.starts_with("Rt\t")) &&
         (Contains(line, "\"S-") || Contains(line, "\"H-") || Contains(line, "\"R-"));
}

bool TopologyLine(std::string_view line) {
  return line.empty() || line.starts_with('[') || line.starts_with('#') || TopologyHeading(line) ||
         line.starts_with("vendid=") || line.starts_with("devid=") ||
         line.starts_with("sysimgguid=") || line.starts_with("switchguid=") ||
         line.starts_with("caguid=") || line.starts_with("DR path");
}

// The word that most cables share; nothing where fewer than three do.
template <typename Key>
std::optional<Key> UsualOf(const std::map<Key, size_t>& votes) {
  constexpr size_t kEnough = 3;
  std::optional<Key> usual;
  size_t most = kEnough - 1;
  for (const auto& [key, count] : votes)
    if (count > most) {
      most = count;
      usual = key;
    }
  return usual;
}

void ReadTopology(const Section& s, FactStore& facts) {
  std::map<int, size_t> widths;
  std::map<std::string_view, size_t> speeds;
  std::vector<std::pair<Cable, std::string_view>> cables;
  size_t unread = 0;
  for (const std::string_view line : Split(s.text, '\n')) {
    if (!line.starts_with('[')) continue;
    const auto cable = ReadCable(line);
    if (!cable) {
      ++unread;
      continue;
    }
    cables.emplace_back(*cable, line);
    ++widths[cable->width];
    ++speeds[cable->speed];
  }
  const auto width = UsualOf(widths);
  const auto speed = UsualOf(speeds);
  for (const auto& [cable, line] : cables) {
    const bool narrow = width && cable.width < *width;
    // Port 41 of a switch is its own aggregation node, which has a speed of its own.
    const bool slow = speed && cable.speed != *speed && speeds[cable.speed] == 1 &&
                      !Contains(cable.peer, "Aggregation Node");
    facts.Add(s.Make(narrow ? "link.narrow"
                     : slow ? "link.slow"
                            : "link.ok",
                     {{"device", std::string(cable.peer)}, {"port", std::string(cable.port)}},
                     s.Where(Trim(line)), line));
  }
  if (unread > 0 || s.cut) AddDamage(s, facts, "ibnetdiscover: a line cannot be read");
  if (cables.empty()) AddDamage(s, facts, "ibnetdiscover: no cable is listed");
  if (!width && widths.size() > 1)
    AddDamage(s, facts,
              "ibnetdiscover: cables differ, and there are too few to tell which is right");
}

bool BeginsTopology(std::string_view line) {
  return TopologyHeading(line) || ReadCable(line).has_value();
}

constexpr std::array kTopology = {
    SectionKind{"ibnetdiscover", "\"s-", BeginsTopology, TopologyLine, ReadTopology},
    SectionKind{"ibnetdiscover", "\"h-", BeginsTopology, TopologyLine, ReadTopology},
};

}  // namespace

std::span<const SectionKind> TopologySections() { return kTopology; }

}  // namespace muster::diagnose
