#include "probes/kernel_log/xid_facts.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/kernel_log/xid_table.h"

namespace muster::kernel_log {
namespace {

constexpr std::string_view kFacts[] = {"gpu.fatal_xids", "gpu.last_fatal_xid"};

struct Parts {
  std::string_view addresses, log;
  bool has_map = false, whole = false;
};

// A text without marks is a bare log.
Parts Divide(std::string_view text) {
  Parts parts;
  parts.log = text;
  const size_t map = text.find(kMapMark);
  if (map != 0) return parts;
  const size_t log = text.find(kLogMark);
  if (log == std::string_view::npos) {
    parts.log = {};
    return parts;
  }
  auto after_line = [&](size_t at) {
    const size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
  };
  parts.has_map = true;
  parts.addresses = text.substr(after_line(map), log - std::min(log, after_line(map)));
  parts.log = text.substr(after_line(log));
  const std::string end = fmt::format("{}\n", kEndMark);
  parts.whole = EndsWith(parts.log, end) && (parts.log.size() == end.size() ||
                                             parts.log[parts.log.size() - end.size() - 1] == '\n');
  if (parts.whole) parts.log.remove_suffix(end.size());
  return parts;
}

// "0, 00000000:1B:00.0" a line; anything else damages the whole list, because a GPU left out would
// look like one without faults.
std::optional<std::map<uint64_t, int>> ReadAddresses(std::string_view text) {
  std::map<uint64_t, int> index_of;
  for (auto line : Lines(text)) {
    // A GPU that the tool cannot open is named in a line of its own before the list.
    if (Trim(line).empty() || StartsWith(line, "Unable to determine the device handle for GPU"))
      continue;
    const auto cells = Split(line, ',');
    if (cells.size() != 2) return std::nullopt;
    const auto index = ParseInt(Trim(cells[0]));
    const auto slot = PciSlot(cells[1]);
    if (!index.ok() || *index < 0 || *index >= 1024 || !slot ||
        !index_of.emplace(*slot, static_cast<int>(*index)).second)
      return std::nullopt;
  }
  if (index_of.empty()) return std::nullopt;
  return index_of;
}

struct GpuXids {
  int64_t fatal = 0;
  int last = 0;
  std::string line;
  int unknown = 0;  // a code that the catalogue does not have
  std::string unknown_line;
  std::optional<int> recovery;  // of the last Xid 154
  std::string recovery_line;
  bool was_reset = false;
};

void Count(GpuXids& gpu, int code, const std::string& line) {
  ++gpu.fatal;
  gpu.last = code;
  gpu.line = line;
}

void Note(GpuXids& gpu, const Event& event) {
  const XidEntry* entry = FindXid(event.code);
  if (entry == nullptr) {
    gpu.unknown = event.code;
    gpu.unknown_line = event.line;
  } else if (event.code == 154) {
    gpu.recovery = event.recovery;
    gpu.recovery_line = event.line;
  } else if (entry->fatal == XidFatal::kYes ||
             (entry->fatal == XidFatal::kByLine && event.severity != Severity::kNonFatal)) {
    Count(gpu, event.code, event.line);
  }
}

// What stands in the log before a GPU's last reset is over. An event without an address is nobody's
// to clear.
std::vector<Event> SinceReset(const std::vector<Event>& events,
                              std::map<uint64_t, GpuXids>& of_slot) {
  std::map<uint64_t, size_t> last;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == EventKind::kGpuReset) last[events[i].pci_key] = i;
  }
  for (const auto& [slot, at] : last) of_slot[slot].was_reset = true;
  std::vector<Event> left;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto reset = last.find(events[i].pci_key);
    const bool over = !events[i].pci.empty() && reset != last.end() && i <= reset->second;
    if (!over) left.push_back(events[i]);
  }
  return left;
}

std::map<uint64_t, GpuXids> CountXids(const KernelLog& log) {
  std::map<uint64_t, GpuXids> of_slot;
  const std::vector<Event> events = SinceReset(log.events, of_slot);
  for (const Event& event : events)
    if (event.kind == EventKind::kXid) Note(of_slot[event.pci_key], event);
  // A lost GPU may have no Xid 79 at all; where it has one, the plain message only repeats it.
  for (const Event& event : events) {
    if (event.kind != EventKind::kFallenOff) continue;
    const bool counted = std::any_of(events.begin(), events.end(), [&](const Event& other) {
      return other.kind == EventKind::kXid && other.code == 79 &&
             (other.pci_key == event.pci_key || event.pci.empty());
    });
    if (!counted && of_slot[event.pci_key].last != 79)
      Count(of_slot[event.pci_key], 79, event.line);
  }
  // Xid 154 wins over any table: an action still asked for counts even when the codes before it do
  // not.
  for (auto& [slot, gpu] : of_slot)
    if (gpu.fatal == 0 && gpu.recovery.value_or(0) != 0) Count(gpu, 154, gpu.recovery_line);
  return of_slot;
}

void AddBoth(ObservationBuilder& out, const Subject& gpu, const GpuXids& xids) {
  const std::string line = xids.fatal > 0   ? xids.line
                           : xids.was_reset ? std::string("no fatal Xid since its reset")
                                            : std::string("no fatal Xid since boot");
  out.Add(gpu, kFacts[0], xids.fatal, Unit::kCount, line);
  out.Add(gpu, kFacts[1], static_cast<int64_t>(xids.last), Unit::kCount, line);
}
void AddUnknown(ObservationBuilder& out, const Subject& subject, UnknownReason reason,
                std::string_view detail) {
  for (auto fact : kFacts) out.AddUnobserved(subject, fact, reason, detail);
}

// Why zero cannot be said of this log, or nothing.
std::optional<Unobserved> WhyNotZero(const Parts& parts, const KernelLog& log) {
  if (log.lines == 0) return Unobserved{UnknownReason::kNotObserved, "the kernel log is empty"};
  if (!parts.whole) return Unobserved{UnknownReason::kUnparsable, "the kernel log was cut"};
  if (!log.from_boot)
    return Unobserved{UnknownReason::kNotObserved,
                      "the kernel log does not reach back to the boot"};
  return std::nullopt;
}

}  // namespace

Observations ParseXids(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  const Parts parts = Divide(reading.text);
  const KernelLog log = ParseKernelLog(parts.log);
  auto of_slot = CountXids(log);
  const auto addresses = parts.has_map ? ReadAddresses(parts.addresses) : std::nullopt;
  if (!addresses) {
    const auto first = Lines(parts.addresses);
    AddUnknown(
        out, node, parts.has_map ? UnknownReason::kToolFault : UnknownReason::kNotObserved,
        fmt::format("no list of GPU addresses to join the log with{}{}", first.empty() ? "" : ": ",
                    first.empty() ? std::string() : Shorten(Printable(Trim(first[0])), 100)));
    return out.Take();
  }
  const auto why_not = WhyNotZero(parts, log);
  for (const auto& [slot, index] : *addresses) {
    const Subject gpu = GpuSubject(reading.host, index);
    const GpuXids xids = of_slot[slot];
    of_slot.erase(slot);
    if (xids.fatal > 0)
      AddBoth(out, gpu, xids);
    else if (why_not)
      AddUnknown(out, gpu, why_not->reason, why_not->detail);
    else if (xids.unknown != 0)
      AddUnknown(out, gpu, UnknownReason::kNotObserved,
                 fmt::format("Xid {} is in no catalogue: {}", xids.unknown, xids.unknown_line));
    else
      AddBoth(out, gpu, xids);
  }
  for (const auto& [slot, xids] : of_slot)
    if (xids.fatal > 0)
      AddUnknown(out, node, UnknownReason::kNotObserved,
                 fmt::format("of a GPU that nvidia-smi does not list: {}", xids.line));
  return out.Take();
}

}  // namespace muster::kernel_log
