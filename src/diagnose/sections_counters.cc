// Error counters of links: ibqueryerrors, perfquery, ethtool -S. The parsers are those of the
// probes, so that a pasted text and a live host are understood alike.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/section.h"
#include "probes/infiniband/ibqueryerrors.h"
#include "probes/infiniband/perfquery.h"

namespace muster::diagnose {

namespace {

using infiniband::CounterSet;

// A row of ibqueryerrors, which needs no heading to be understood.
bool QueryErrorsRow(std::string_view line) {
  return Trim(line).starts_with("GUID 0x") && Contains(line, " port ") && Contains(line, " == ");
}

// Port kNoPort: an interface as a whole.
constexpr int kNoPort = -1;
void AddSample(const Section& s, FactStore& facts, const std::string& device, int port,
               std::string_view name, int64_t value, int64_t most, std::string_view line) {
  facts.Add(s.Make("counter.sample",
                   {{"device", device},
                    {"port", port == kNoPort ? "" : std::to_string(port)},
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
    const size_t colon = line.rfind(": ");  // "rxq0: rx_drops: 7" names a queue first
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Trim(line.substr(0, colon));
    const auto value = ParseInt(Trim(line.substr(colon + 2)));
    static constexpr std::string_view kKept[] = {
        "discard",  "out_of_buffer", "pause_duration", "symbol_err",   "link_down",
        "crc_err",  "timeout",       "out_of_seq",     "rx_pcs",       "drops_",
        "no_frags", "no_buffer",     "fifo_errors",    "missed_errors"};
    if (!value.ok() || name.empty()) continue;
    bool kept = false;
    for (const std::string_view part : kKept) kept = kept || Contains(name, part);
    if (kept)
      AddSample(s, facts, s.host.empty() ? "an interface" : s.host, kNoPort, name, *value, 0, line);
  }
}

constexpr std::array kCounters = {
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
    SectionKind{"perfquery",
                " counters:", [](std::string_view l) { return l.starts_with("# Port"); },
                [](std::string_view l) { return Contains(l, ":..") || l.starts_with("# Port"); },
                ReadPerfquery},
    SectionKind{"ethtool", "nic statistics:",
                [](std::string_view l) { return l.starts_with("NIC statistics:"); },
                [](std::string_view l) { return Indented(l); }, ReadEthtool},
};

}  // namespace

std::span<const SectionKind> CounterSections() { return kCounters; }

}  // namespace muster::diagnose
