#include "probes/infiniband/ibqueryerrors.h"

#include <set>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

std::optional<int> NumberBefore(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  const auto number = ParseInt(line.substr(begin, at - begin));
  if (!number.ok() || *number < 0 || *number > 10'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

// " [SymbolErrorCounter == 65535] [PortXmitData == 45576 (178.031KB)]"
bool ReadCounters(std::string_view text, CounterSet& set) {
  while (!Trim(text).empty()) {
    const auto item = Between(text, "[", "]");
    if (!item) return false;
    text.remove_prefix(static_cast<size_t>(item->data() + item->size() + 1 - text.data()));
    const size_t equal = item->find(" == ");
    if (equal == std::string_view::npos) return false;
    const CounterName* name = FindCounter(item->substr(0, equal));
    std::string_view number = item->substr(equal + 4);
    const auto value = TakeNumber(number);
    if (!value) return false;
    if (name != nullptr) set.Set(name->counter, static_cast<int64_t>(*value), false);
  }
  return true;
}

class QueryErrorsReader {
 public:
  QueryErrors Read(std::string_view text) {
    for (const Block& block : Blocks(text, 0)) {
      if (!IsOf(block, "ibqueryerrors")) continue;
      device_.clear();
      for (const std::string_view line : WholeLines(block.text)) Line(line);
    }
    return std::move(result_);
  }

 private:
  void Line(std::string_view line) {
    if (StartsWith(line, "Errors for ")) return Heading(line.substr(11));
    if (StartsWith(line, "##")) return Summary(line);
    const std::string_view trimmed = Trim(line);
    if (StartsWith(trimmed, "GUID 0x") && !device_.empty()) Port(trimmed);
  }

  // `0x2c90001000200 "leaf02"` for a switch, `"node005 mlx5_0"` for an adapter.
  void Heading(std::string_view rest) {
    const auto name = Between(rest, "\"", "\"");
    device_ = name ? DeviceId(!StartsWith(rest, "0x"), *name) : "";
    guid_.clear();
  }

  void Port(std::string_view line) {
    const auto guid = Between(line, "GUID ", " port ");
    const auto port = Between(line, " port ", ":");
    if (!guid || !port) return;
    if (guid_.empty()) guid_ = std::string(*guid);
    // Another device under this heading: its own heading was lost.
    if (guid_ != *guid && !device_.empty() && !SameAdapter(*guid)) {
      device_.clear();
      return;
    }
    const auto number = ParseInt(*port);
    if (!number.ok() || *number < 1 || *number > 254) return;  // "ALL", and the switch's own port 0
    PortErrors errors{device_, static_cast<int>(*number), {}, std::string(line)};
    if (!ReadCounters(line.substr(line.find(':', line.find(" port ")) + 1), errors.counters))
      return;
    result_.ports.push_back(std::move(errors));
  }

  bool SameAdapter(std::string_view guid) const {
    const auto a = ParseHex(guid), b = ParseHex(guid_);
    return a.ok() && b.ok() && (*a | 0xf) == (*b | 0xf);
  }

  void Summary(std::string_view line) {
    const auto set = [&](std::optional<int>& to, std::string_view words) {
      if (const auto n = NumberBefore(line, words)) to = n;
    };
    set(result_.nodes_checked, " nodes checked");
    set(result_.ports_checked, " ports checked");
    set(result_.ports_bad, " ports have errors");
    set(result_.query_failures, " PMA query failures");
  }

  QueryErrors result_;
  std::string device_, guid_;
};

}  // namespace

QueryErrors ParseIbqueryerrors(std::string_view text) { return QueryErrorsReader().Read(text); }

Observations ParseIbqueryerrorsReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  std::set<std::string> seen;
  for (const PortErrors& port : ParseIbqueryerrors(reading.text).ports) {
    const Subject subject = PortSubject(port.device, port.port);
    // A text of two runs lists a port twice; the first is taken.
    if (!seen.insert(subject.id).second) continue;
    ObserveCounters(port.counters, subject, false, port.excerpt, builder);
  }
  return builder.Take();
}

}  // namespace muster::infiniband
