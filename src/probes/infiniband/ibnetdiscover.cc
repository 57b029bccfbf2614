#include "probes/infiniband/ibnetdiscover.h"

#include <set>
#include <unordered_set>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

// "S-0002c90001000300", quoted in the file.
struct NodeRef {
  char kind = 0;  // 'S', 'H' or 'R'
  uint64_t guid = 0;
};
std::optional<NodeRef> TakeRef(std::string_view& text) {
  SkipBlank(text);
  if (text.size() < 4 || text[0] != '"' || text[2] != '-') return std::nullopt;
  NodeRef ref;
  ref.kind = text[1];
  text.remove_prefix(3);
  const auto guid = TakeNumber(text, 16);
  if (!guid || !Take(text, "\"")) return std::nullopt;
  ref.guid = *guid;
  return ref;
}

std::optional<int> TakePort(std::string_view& text) {
  if (!Take(text, "[")) return std::nullopt;
  const auto port = TakeNumber(text);
  if (!port || *port < 1 || *port > 254 || !Take(text, "]")) return std::nullopt;
  if (StartsWith(text, "[ext ")) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    text.remove_prefix(close + 1);
  }
  return static_cast<int>(*port);
}

// "4xEDR"
bool ReadSpeed(std::string_view word, DiscoveredPort& port) {
  const auto width = TakeNumber(word);
  if (!width || *width < 1 || *width > 16 || !Take(word, "x") || word.empty()) return false;
  port.width = static_cast<int>(*width);
  port.speed = std::string(word);
  return true;
}

std::optional<int> LidAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const auto lid = TakeNumber(text);
  if (!lid || *lid > 0xffff) return std::nullopt;
  return static_cast<int>(*lid);
}

struct RawPort {
  uint64_t guid = 0, peer_guid = 0;
  DiscoveredPort port;
};

class TopologyReader {
 public:
  Discovery Read(std::string_view text) {
    for (const Block& block : Blocks(text, 0)) {
      if (!IsOf(block, "ibnetdiscover")) continue;
      current_.reset();
      for (const std::string_view line : WholeLines(block.text)) Line(line);
    }
    for (RawPort& raw : raw_) {
      if (doubtful_.contains(raw.guid)) {
        result_.rejected.push_back(raw.port.excerpt);
        continue;
      }
      raw.port.device = names_.Id(raw.guid);
      raw.port.peer = names_.Id(raw.peer_guid);
      result_.ports.push_back(std::move(raw.port));
    }
    return std::move(result_);
  }

 private:
  void Line(std::string_view line) {
    if (Trim(line).empty()) {
      current_.reset();  // an empty line ends a device; without its heading the next ports belong
                         // to nobody
    } else if (StartsWith(line, "Switch") || StartsWith(line, "Ca") || StartsWith(line, "Rt")) {
      Heading(line);
    } else if (StartsWith(line, "[")) {
      if (!Port(line)) result_.rejected.push_back(Shorten(line, 160));
    }
  }

  void Heading(std::string_view line) {
    current_.reset();
    const size_t quote = line.find('"');
    if (quote == std::string_view::npos) return;
    std::string_view rest = line.substr(quote);
    const auto ref = TakeRef(rest);
    const auto name = Between(rest, "# \"", "\"");
    if (!ref || !name) return;
    names_.Add(ref->guid, ref->kind == 'H', *name);
    current_ = ref;
    lid_ = LidAfter(rest, " lid ").value_or(0);
  }

  // [1]\t"H-..."[1](guid) \t\t# "node000 mlx5_0" lid 1 4xEDR        under a switch
  // [1](guid) \t"S-..."[4]\t\t# lid 22 lmc 0 "leaf03" lid 7 4xEDR    under an adapter
  bool Port(std::string_view line) {
    if (!current_) return false;
    RawPort raw;
    raw.guid = current_->guid;
    raw.port.excerpt = Shorten(line, 160);
    raw.port.is_switch = current_->kind == 'S';
    std::string_view rest = line;
    const auto port = TakePort(rest);
    if (!port) return false;
    raw.port.port = *port;
    if (StartsWith(rest, "(")) {
      const size_t close = rest.find(')');
      if (close == std::string_view::npos) return false;
      rest.remove_prefix(close + 1);
    }
    const auto peer = TakeRef(rest);
    const auto peer_port = peer ? TakePort(rest) : std::nullopt;
    const auto name = peer_port ? Between(rest, "\"", "\"") : std::nullopt;
    if (!name) return false;
    const std::string_view tail(
        name->data() + name->size() + 1,
        static_cast<size_t>(rest.data() + rest.size() - name->data()) - name->size() - 1);
    const auto words = SplitBlank(tail);
    if (words.size() < 3 || words[0] != "lid" || !ReadSpeed(words[2], raw.port)) return false;
    raw.peer_guid = peer->guid;
    raw.port.peer_port = *peer_port;
    raw.port.lid = raw.port.is_switch ? lid_ : LidAfter(rest, "# lid ").value_or(0);
    names_.Add(peer->guid, peer->kind == 'H', *name);
    if (!seen_.insert({raw.guid, raw.port.port}).second) doubtful_.insert(raw.guid);
    raw_.push_back(std::move(raw));
    return true;
  }

  Discovery result_;
  DeviceNames names_;
  std::vector<RawPort> raw_;
  std::optional<NodeRef> current_;
  int lid_ = 0;
  std::set<std::pair<uint64_t, int>> seen_;
  std::set<uint64_t> doubtful_;  // a device with one port listed twice: a heading was lost
};

struct PortEnd {
  bool is_switch = false;
  int lid = 0, port = 0;
  uint64_t guid = 0;
};
// An adapter prints the GUID of the port; those of one adapter differ in their last digit.
uint64_t DeviceGuid(const PortEnd& end) { return end.is_switch ? end.guid : end.guid | 0xf; }
// "SW     7  8 0x0002c90001000300"
std::optional<PortEnd> TakePortEnd(std::string_view& text) {
  PortEnd end;
  SkipBlank(text);
  if (Take(text, "SW ")) {
    end.is_switch = true;
  } else if (!Take(text, "CA ") && !Take(text, "RT ")) {
    return std::nullopt;
  }
  SkipBlank(text);
  const auto lid = TakeNumber(text);
  SkipBlank(text);
  const auto port = TakeNumber(text);
  SkipBlank(text);
  if (!lid || *lid > 0xffff || !port || *port > 254 || !Take(text, "0x")) return std::nullopt;
  const auto guid = TakeNumber(text, 16);
  if (!guid) return std::nullopt;
  end.lid = static_cast<int>(*lid);
  end.port = static_cast<int>(*port);
  end.guid = *guid;
  return end;
}

}  // namespace

Discovery ParseIbnetdiscover(std::string_view text) { return TopologyReader().Read(text); }

Discovery ParseIbnetdiscoverPorts(std::string_view text) {
  struct Raw {
    PortEnd local, peer;
    DiscoveredPort port;
  };
  Discovery result;
  DeviceNames names;
  std::vector<Raw> raws;
  for (const std::string_view line : WholeLines(text)) {
    std::string_view rest = line;
    const auto local = TakePortEnd(rest);
    if (!local) continue;
    const auto dash = rest.find(" - ");
    const auto local_name = Between(rest, "( '", "' - '");
    const auto peer_name = Between(rest, "' - '", "' )");
    if (dash == std::string_view::npos) continue;  // nobody at the other end
    Raw raw{*local, {}, {}};
    const auto words = SplitBlank(rest.substr(0, dash));
    rest.remove_prefix(dash + 3);
    const auto peer = TakePortEnd(rest);
    if (!peer || !local_name || !peer_name || words.size() < 2) {
      result.rejected.push_back(Shorten(line, 160));
      continue;
    }
    raw.peer = *peer;
    names.Add(DeviceGuid(*local), !local->is_switch, *local_name);
    names.Add(DeviceGuid(*peer), !peer->is_switch, *peer_name);
    std::string_view lanes = words[0];
    raw.port.width = static_cast<int>(TakeNumber(lanes).value_or(0));
    raw.port.speed = std::string(words[1]);
    raw.port.excerpt = Shorten(line, 160);
    raws.push_back(std::move(raw));
  }
  for (Raw& raw : raws) {
    DiscoveredPort& port = raw.port;
    port.device = names.Id(DeviceGuid(raw.local));
    port.is_switch = raw.local.is_switch;
    port.port = raw.local.port;
    port.lid = raw.local.lid;
    port.peer = names.Id(DeviceGuid(raw.peer));
    port.peer_port = raw.peer.port;
    result.ports.push_back(std::move(port));
  }
  return result;
}

Observations ParseIbnetdiscoverReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  std::unordered_set<std::string> seen;
  for (const DiscoveredPort& port : ParseIbnetdiscover(reading.text).ports) {
    Subject link = LinkSubject(port.End(), port.PeerEnd());
    if (!seen.insert(link.id).second) continue;
    builder.Add(std::move(link), "link.present", true, Unit::kNone, port.excerpt);
  }
  return builder.Take();
}

}  // namespace muster::infiniband
