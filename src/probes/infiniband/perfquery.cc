#include "probes/infiniband/perfquery.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/ibnetdiscover.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

// "# Port counters: Lid 2 port 5 (CapMask: 0x1300)", "# Port extended counters: Lid 2 port 5 (...)"
std::optional<PortCountersRecord> ReadHeading(std::string_view line) {
  PortCountersRecord record;
  if (StartsWith(line, "# Port extended counters: Lid ")) {
    record.extended = true;
  } else if (!StartsWith(line, "# Port counters: Lid ")) {
    return std::nullopt;
  }
  line.remove_prefix(line.find("Lid ") + 4);
  const auto lid = TakeNumber(line);
  if (!lid || *lid > 0xffff || !Take(line, " port ")) return std::nullopt;
  const auto port = TakeNumber(line);
  if (!port || *port > 255) return std::nullopt;
  record.lid = static_cast<int>(*lid);
  record.port = static_cast<int>(*port);
  return record;
}

class PerfqueryReader {
 public:
  std::vector<PortCountersRecord> Read(std::string_view text) {
    for (const std::string_view line : WholeLines(text)) Line(line);
    return std::move(records_);
  }

 private:
  void Line(std::string_view line) {
    if (StartsWith(line, "#") || StartsWith(line, "$")) {
      open_ = false;
      if (auto record = ReadHeading(line)) {
        records_.push_back(std::move(*record));
        open_ = true;
      }
      return;
    }
    if (!open_) return;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
    if (key == "PortSelect") return Select(value);
    const CounterName* name = FindCounter(key);
    const auto number = ParseInt(value);
    if (name == nullptr || !number.ok() || *number < 0) return;
    records_.back().counters.Set(name->counter, *number, records_.back().extended);
  }

  // A port that is not the heading's: the next heading was lost, and what follows is somebody
  // else's.
  void Select(std::string_view value) {
    const auto port = ParseInt(value);
    if (port.ok() && *port == records_.back().port) return;
    open_ = false;
  }

  std::vector<PortCountersRecord> records_;
  bool open_ = false;
};

struct Asked {
  int lid = 0;
  std::set<int> ports;
};
// "perfquery -l 2 1-8,12" or "perfquery 9 1", as the collector writes them.
std::optional<Asked> ReadCommandLine(std::string_view command) {
  const auto words = SplitBlank(command);
  if (words.size() < 3) return std::nullopt;
  Asked asked;
  const auto lid = ParseInt(words[words.size() - 2]);
  if (!lid.ok() || *lid < 1 || *lid > 0xffff) return std::nullopt;
  asked.lid = static_cast<int>(*lid);
  for (const std::string_view range : Split(words.back(), ',')) {
    std::string_view rest = range;
    const auto first = TakeNumber(rest);
    const auto last = Take(rest, "-") ? TakeNumber(rest) : first;
    if (!first || !last || *first > 254 || *last > 254) return std::nullopt;
    for (auto port = *first; port <= *last; ++port) asked.ports.insert(static_cast<int>(port));
  }
  return asked;
}

using PortKey = std::pair<int, int>;  // LID and port

}  // namespace

std::vector<PortCountersRecord> ParsePerfquery(std::string_view text) {
  return PerfqueryReader().Read(text);
}

Observations ParsePerfqueryReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  std::map<PortKey, std::string> names;
  std::map<PortKey, CounterSet> answered;
  std::map<PortKey, std::string> silent;  // with the command that asked
  bool listed = false;
  for (const Block& block : Blocks(reading.text, reading.exit_code)) {
    if (IsOf(block, "ibnetdiscover")) {
      const Discovery list = ParseIbnetdiscoverPorts(block.text);
      listed = listed || !block.command.empty() || !list.ports.empty() || !list.rejected.empty();
      for (const DiscoveredPort& port : list.ports) {
        if (port.lid > 0) names.emplace(PortKey{port.lid, port.port}, port.End());
      }
    }
    if (!IsOf(block, "perfquery")) continue;
    if (const auto asked = ReadCommandLine(block.command)) {
      for (const int port : asked->ports) silent.emplace(PortKey{asked->lid, port}, block.command);
    }
    for (const PortCountersRecord& record : ParsePerfquery(block.text)) {
      if (record.port == 0 || record.port == 255)
        continue;  // the switch itself; all its ports added up
      CounterSet& set = answered[{record.lid, record.port}];
      for (size_t i = 0; i < kCounters; ++i) {
        if (!record.counters.value[i]) continue;
        set.Set(static_cast<Counter>(i), *record.counters.value[i], record.extended);
        set.clash[i] = set.clash[i] || record.counters.clash[i];
      }
    }
  }
  const auto subject = [&](const PortKey& key) {
    const auto it = names.find(key);
    return Subject{SubjectKind::kPort,
                   it != names.end() ? it->second : fmt::format("lid{}/{}", key.first, key.second)};
  };
  for (const auto& [key, set] : answered) {
    if (!listed || names.contains(key)) {
      ObserveCounters(set, subject(key), true, "", builder);
      continue;
    }
    for (const CounterName& name : CounterTable()) {
      builder.AddUnobserved(subject(key), name.fact, UnknownReason::kUnparsable,
                            "the list of ports does not say whose LID this is");
    }
  }
  for (const auto& [key, command] : silent) {
    if (answered.contains(key)) continue;
    for (const CounterName& name : CounterTable()) {
      builder.AddUnobserved(subject(key), name.fact, UnknownReason::kNotObserved,
                            fmt::format("\"{}\" gave no counters", command));
    }
  }
  return builder.Take();
}

}  // namespace muster::infiniband
