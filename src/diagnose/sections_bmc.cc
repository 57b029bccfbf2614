// A sensor's whole record, as `ipmitool -v sdr` prints it: the states that it asserts now, told
// from the lists of states that it could assert.
#include <array>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

bool SensorRecord(std::string_view line) {
  return line.starts_with("Sensor ID ") && Contains(line, ": ");
}

std::string_view TextAfter(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : Trim(line.substr(at + mark.size()));
}

// The keys of a record, in the order in which they are printed; others may stand between them.
size_t KeyRank(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "Sensor ID",       "Entity ID",        "Sensor Type",     "Sensor Reading",
      "Status",          "Event Message Co", "States Asserted", "Assertion Events",
      "Assertions Enab", "Deassertions Ena"};
  for (size_t i = 0; i < std::size(kKeys); ++i)
    if (key.starts_with(kKeys[i])) return i + 1;
  return 0;
}

void ReadRecord(const Section& s, FactStore& facts) {
  std::string name, type, list;
  size_t offset = 0, rank = 0;
  bool in_order = true;
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    const std::string_view text = Trim(line);
    if (SensorRecord(line)) {
      name = TextAfter(line, ": ");
      name = name.substr(0, name.find(" ("));
      type.clear();
      rank = 1;
      list.clear();
    } else if (text.starts_with("[")) {
      if (list != "States Asserted" && list != "Event Status") continue;
      const std::string_view state = text.substr(1, text.find(']') - 1);
      facts.Add(s.Make("sensor.state",
                       {{"name", name}, {"type", type}, {"state", std::string(state)}}, s.At(at),
                       line));
    } else if (const size_t colon = line.find(": "); colon != std::string_view::npos) {
      list = Trim(line.substr(0, colon));
      if (const size_t next = KeyRank(list); next > 0) {
        // Where it came from and of what type it is stand right below its name.
        in_order = in_order && next > rank && (rank >= 3 || next == rank + 1);
        rank = next;
      }
      if (list.starts_with("Sensor Type")) type = TextAfter(line, ": ");
      if (list == "Status")
        facts.Add(
            s.Make("sensor.status",
                   {{"name", name}, {"type", type}, {"state", std::string(TextAfter(line, ": "))}},
                   s.At(at), line));
    }
  }
  if (!in_order) AddDamage(s, facts, "a sensor's record has lost or mixed lines");
  if (s.cut) AddDamage(s, facts, "a sensor's record is cut");
}

constexpr std::array kBmc = {SectionKind{
    "ipmitool sensor record", "sensor id  ", SensorRecord,
    [](std::string_view l) { return l.empty() || l[0] == ' ' || SensorRecord(l); }, ReadRecord}};

}  // namespace

std::span<const SectionKind> BmcSections() { return kBmc; }

}  // namespace muster::diagnose
