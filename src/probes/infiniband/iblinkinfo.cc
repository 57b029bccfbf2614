#include "probes/infiniband/iblinkinfo.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

struct RawEnd {
  uint64_t guid = 0;  // of the port; 0 where the form does not print it
  uint64_t lid = 0;
  int port = 0;
  std::optional<std::string> name;
};

struct RawLine {
  size_t section = 0;  // index of the heading above; 0 = none
  RawEnd local;
  std::optional<RawEnd> peer;
  std::string_view middle, text;
};

struct Section {
  bool is_adapter = false;
  uint64_t guid = 0;  // node GUID of a switch; of an adapter the first port's
  uint64_t lid = 0;
  std::string name;
  std::set<int> ports;
  bool doubtful = false;  // a port stood twice: a heading below this one was lost
};

// "     2    5[  ] " -> lid and port; the bracket may hold the external port number.
bool TakeLidPort(std::string_view& text, RawEnd& end) {
  SkipBlank(text);
  const auto lid = TakeNumber(text);
  if (!lid || *lid > 0xffff) return false;
  SkipBlank(text);
  const auto port = TakeNumber(text);
  if (!port || *port < 1 || *port > 254 || !Take(text, "[")) return false;
  const size_t close = text.find(']');
  if (close == std::string_view::npos) return false;
  text.remove_prefix(close + 1);
  end.lid = *lid;
  end.port = static_cast<int>(*port);
  return true;
}

bool TakeGuid(std::string_view& text, uint64_t& guid) {
  SkipBlank(text);
  if (!Take(text, "0x")) return true;
  const auto value = TakeNumber(text, 16);
  if (!value) return false;
  guid = *value;
  return true;
}

bool TakeQuoted(std::string_view& text, std::optional<std::string>& name) {
  SkipBlank(text);
  if (!Take(text, "\"")) return true;
  const size_t close = text.find('"');
  if (close == std::string_view::npos) return false;
  name = std::string(Trim(text.substr(0, close)));
  text.remove_prefix(close + 1);
  return true;
}

std::optional<RawLine> ReadLine(std::string_view line) {
  const size_t open = line.find("==("), close = line.find(")==>");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  RawLine raw;
  raw.text = Trim(line);
  raw.middle = line.substr(open + 3, close - open - 3);
  std::string_view left = line.substr(0, open), right = line.substr(close + 4);
  if (!TakeGuid(left, raw.local.guid) || !TakeQuoted(left, raw.local.name) ||
      !TakeLidPort(left, raw.local) || !Trim(left).empty()) {
    return std::nullopt;
  }
  // A line ends with the bracket of the advice, also when there is none: "( )".
  if (!EndsWith(Trim(right), ")")) return std::nullopt;
  RawEnd peer;
  if (!TakeGuid(right, peer.guid)) return std::nullopt;
  SkipBlank(right);
  if (StartsWith(right, "[")) return raw;  // "[  ] "" ( )": nobody at the other end
  if (!TakeLidPort(right, peer) || !TakeQuoted(right, peer.name) || !peer.name) return std::nullopt;
  raw.peer = std::move(peer);
  return raw;
}

// " 4X      25.78125 Gbps Active/  LinkUp", "                Down/ Polling"
bool ReadMiddle(std::string_view middle, LinkInfoLine& line) {
  const size_t slash = middle.find('/');
  if (slash == std::string_view::npos) return false;
  const auto before = SplitBlank(middle.substr(0, slash));
  const auto after = SplitBlank(middle.substr(slash + 1));
  if (before.empty() || after.size() != 1) return false;
  line.state = std::string(before.back());
  line.physical_state = std::string(after[0]);
  if (before.size() == 1) return true;
  if (before.size() < 4 || !EndsWith(before[0], "X") || before[2] != "Gbps") return false;
  const auto lanes = ParseInt(before[0].substr(0, before[0].size() - 1));
  const auto speed = ParseDouble(before[1]);
  if (!lanes.ok() || *lanes < 1 || *lanes > 16 || !speed.ok()) return false;
  line.width = static_cast<int>(*lanes);
  line.lane_gbit_per_s = *speed;
  return true;
}

class LinkInfoReader {
 public:
  LinkInfo Read(std::string_view text) {
    sections_.emplace_back();
    for (const Block& block : Blocks(text, 0)) {
      if (!IsOf(block, "iblinkinfo")) continue;
      section_ = 0;
      for (const std::string_view line : WholeLines(block.text)) Line(line);
    }
    Name();
    return std::move(result_);
  }

 private:
  void Line(std::string_view line) {
    if (StartsWith(line, "Switch: ") || StartsWith(line, "CA: ") || StartsWith(line, "Router: ")) {
      return Heading(line);
    }
    if (!Contains(line, "==(")) return;
    auto raw = ReadLine(line);
    if (!raw || (section_ == 0 && !raw->local.name) || !Belongs(*raw)) return Reject(line);
    raw->section = section_;
    raw_.push_back(std::move(*raw));
  }

  void Heading(std::string_view line) {
    Section section;
    section.is_adapter = StartsWith(line, "CA: ");
    line.remove_prefix(line.find(' ') + 1);
    if (!section.is_adapter && !TakeGuid(line, section.guid)) return;
    line = Trim(line);
    section_ = 0;
    if (!EndsWith(line, ":")) return;
    line.remove_suffix(1);
    section.name = std::string(Trim(line));
    sections_.push_back(std::move(section));
    section_ = sections_.size() - 1;
  }

  // All ports of a switch have one LID, an adapter's port GUIDs differ in their last digit only,
  // and no port is listed twice. In the -l form each line says for itself whose it is.
  bool Belongs(RawLine& raw) {
    if (raw.local.name) {
      section_ = SectionOfLine(raw);
      return true;
    }
    Section& section = sections_[section_];
    if (section.ports.empty()) {
      section.lid = raw.local.lid;
      if (section.is_adapter) section.guid = raw.local.guid;
    } else if (section.is_adapter ? (raw.local.guid | 0xf) != (section.guid | 0xf)
                                  : raw.local.lid != section.lid) {
      return false;
    }
    if (!section.ports.insert(raw.local.port).second) {
      section.doubtful = true;
      return false;
    }
    return true;
  }

  size_t SectionOfLine(const RawLine& raw) {
    // Line mode prints a switch's GUID as it is and an adapter's per port.
    const auto [it, fresh] =
        by_line_.try_emplace(*raw.local.name + "@" + std::to_string(raw.local.lid), 0);
    if (fresh) {
      Section section;
      section.guid = raw.local.guid;
      section.lid = raw.local.lid;
      section.name = *raw.local.name;
      // The form does not say what kind of device it is; two words are an adapter's description.
      section.is_adapter = SplitBlank(section.name).size() == 2;
      sections_.push_back(std::move(section));
      it->second = sections_.size() - 1;
    }
    return it->second;
  }

  void Reject(std::string_view line) { result_.rejected.push_back(Shorten(Trim(line), 160)); }

  // Names and LIDs of all headings are known only now.
  void Name() {
    DeviceNames names;
    for (size_t i = 1; i < sections_.size(); ++i) {
      const Section& s = sections_[i];
      names.Add(Key(s, i), s.is_adapter, s.name);
      by_name_[s.name].push_back(i);
    }
    for (const RawLine& raw : raw_) {
      const Section& section = sections_[raw.section];
      if (section.doubtful) {
        Reject(raw.text);
        continue;
      }
      LinkInfoLine line;
      line.device = names.Id(Key(section, raw.section));
      line.port = raw.local.port;
      line.excerpt = std::string(raw.text);
      if (!ReadMiddle(raw.middle, line) || !SetPeer(raw, names, line)) {
        Reject(raw.text);
        continue;
      }
      result_.lines.push_back(std::move(line));
    }
  }

  // A heading without a GUID (an adapter that listed no port) is told apart by its place; the port
  // GUIDs of one adapter differ in their last digit.
  static uint64_t Key(const Section& section, size_t index) {
    if (section.guid == 0) return index;
    return section.is_adapter ? section.guid | 0xf : section.guid;
  }

  bool SetPeer(const RawLine& raw, const DeviceNames& names, LinkInfoLine& line) const {
    if (!raw.peer) return true;
    line.peer_port = raw.peer->port;
    const auto it = by_name_.find(*raw.peer->name);
    if (it == by_name_.end()) {  // the other end is not in this text: go by its description
      line.peer = DeviceId(SplitBlank(*raw.peer->name).size() == 2, *raw.peer->name);
      return !line.peer->empty();
    }
    const std::vector<size_t>& same = it->second;
    const auto match =
        same.size() == 1 ? same.begin() : std::find_if(same.begin(), same.end(), [&](size_t i) {
          return raw.peer->lid != 0 && sections_[i].lid == raw.peer->lid;
        });
    if (match == same.end())
      return false;  // several devices of this name, and no LID to tell which
    line.peer = names.Id(Key(sections_[*match], *match));
    return true;
  }

  LinkInfo result_;
  std::vector<Section> sections_;
  std::vector<RawLine> raw_;
  size_t section_ = 0;
  std::unordered_map<std::string, size_t> by_line_;
  std::unordered_map<std::string, std::vector<size_t>> by_name_;
};

// A link with what its ends say.
struct Ends {
  const LinkInfoLine* first = nullptr;
  const LinkInfoLine* second = nullptr;
};

void ObserveState(const Subject& link, const Ends& ends, ObservationBuilder& builder) {
  const LinkInfoLine* worse = ends.first;
  if (ends.second != nullptr && worse->state == "Active") worse = ends.second;
  if (ends.second == nullptr && worse->state == "Active") {
    builder.AddUnobserved(link, "link.state", UnknownReason::kNotObserved,
                          fmt::format("only {} is listed, not the other end", ends.first->End()));
  } else {
    builder.Add(link, "link.state", worse->state, Unit::kNone, worse->excerpt);
  }
  worse = ends.first;
  if (ends.second != nullptr && worse->physical_state == "LinkUp") worse = ends.second;
  builder.Add(link, "link.physical_state", worse->physical_state, Unit::kNone, worse->excerpt);
}

void ObserveSpeed(const Subject& link, const Ends& ends, ObservationBuilder& builder) {
  std::optional<int> width;
  std::optional<double> rate;
  const LinkInfoLine* narrow = ends.first;
  const LinkInfoLine* slow = ends.first;
  std::string missing;
  for (const LinkInfoLine* end : {ends.first, ends.second}) {
    if (end == nullptr) continue;
    if (!end->width || !end->lane_gbit_per_s) {
      missing = fmt::format("{} lists no width and speed", end->End());
      break;
    }
    if (!width || *end->width < *width) {
      width = end->width;
      narrow = end;
    }
    const auto lane = NominalLaneRate(*end->lane_gbit_per_s);
    if (!lane) {
      missing = fmt::format("{} Gbps is no known lane speed", *end->lane_gbit_per_s);
      break;
    }
    if (!rate || *lane * *end->width < *rate) {
      rate = *lane * *end->width;
      slow = end;
    }
  }
  if (!missing.empty()) {
    builder.AddUnobserved(link, "link.width", UnknownReason::kNotObserved, missing);
    builder.AddUnobserved(link, "link.rate", UnknownReason::kNotObserved, missing);
    return;
  }
  builder.Add(link, "link.width", int64_t{*width}, Unit::kCount, narrow->excerpt);
  builder.Add(link, "link.rate", *rate, Unit::kGbitPerSec, slow->excerpt);
}

}  // namespace

LinkInfo ParseIblinkinfo(std::string_view text) { return LinkInfoReader().Read(text); }

Observations ParseIblinkinfoReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  const LinkInfo info = ParseIblinkinfo(reading.text);
  std::vector<std::string> order;
  std::unordered_map<std::string, Ends> links;
  links.reserve(info.lines.size());
  for (const LinkInfoLine& line : info.lines) {
    if (!line.peer) {
      const Subject port{SubjectKind::kPort, line.End()};
      builder.Add(port, "port.state", line.state, Unit::kNone, line.excerpt);
      builder.Add(port, "port.physical_state", line.physical_state, Unit::kNone, line.excerpt);
      continue;
    }
    const Subject link = LinkSubject(line.End(), line.PeerEnd());
    Ends& ends = links[link.id];
    if (ends.first == nullptr) {
      ends.first = &line;
      order.push_back(link.id);
    } else if (ends.first->End() != line.End()) {
      ends.second = &line;
    }
  }
  for (const std::string& id : order) {
    const Subject link{SubjectKind::kLink, id};
    const Ends& ends = links[id];
    ObserveState(link, ends, builder);
    ObserveSpeed(link, ends, builder);
  }
  return builder.Take();
}

}  // namespace muster::infiniband
