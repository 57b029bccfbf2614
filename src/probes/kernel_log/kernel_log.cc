#include "probes/kernel_log/kernel_log.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::kernel_log {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}
// A number at the beginning of the text, of at most nine digits.
std::optional<int> LeadingNumber(std::string_view text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  auto read = ParseInt(digits);
  return read.ok() ? std::optional(static_cast<int>(*read)) : std::nullopt;
}
std::optional<std::string_view> Behind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == std::string_view::npos ? std::nullopt : std::optional(text.substr(at + mark.size()));
}

// "[  123.456789]" and kmsg's microseconds give the time since boot, ISO prefixes a date; other
// prefixes are left alone.
void ReadStamp(std::string_view line, Event& event) {
  if (auto semicolon = line.find(';'); semicolon != std::string_view::npos && semicolon < 64) {
    const auto fields = Split(line.substr(0, semicolon), ',');
    if (fields.size() >= 4 && AllDigits(fields[0]) && AllDigits(fields[1]) &&
        AllDigits(fields[2])) {
      if (auto us = ParseInt(fields[2]); us.ok() && *us < (int64_t{1} << 53))
        event.since_boot = std::chrono::microseconds(*us);
      return;
    }
  }
  if (line.size() > 20 && line[4] == '-' && line[10] == 'T') {
    std::string stamp(line.substr(0, line.find(' ')));
    std::replace(stamp.begin(), stamp.end(), ',', '.');
    // journalctl writes "+0000".
    if (stamp.size() > 5 && (stamp[stamp.size() - 5] == '+' || stamp[stamp.size() - 5] == '-'))
      stamp.insert(stamp.size() - 2, ":");
    if (auto read = ParseTime(stamp); read.ok()) event.at = *read;
    return;
  }
  const size_t open = line.find('['), close = line.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      open > 24)
    return;
  auto seconds = ParseDouble(Trim(line.substr(open + 1, close - open - 1)));
  if (seconds.ok() && *seconds >= 0 && *seconds < 1e9) event.since_boot = FromSeconds(*seconds);
}

void ReadAddress(std::string_view text, Event& event) {
  if (auto slot = PciSlot(text)) {
    event.pci = std::string(Trim(text));
    event.pci_key = *slot;
  }
}

// ", pid=1234, name=python, rest" in any of its spellings; the driver prints "<unknown>" with and
// without quotes.
std::string_view ReadProcess(std::string_view rest, Event& event) {
  auto value = [&](std::string_view key) -> std::optional<std::string_view> {
    const auto found = After(Trim(rest), key);
    if (!found) return std::nullopt;
    const size_t comma = found->find(',');
    rest = comma == std::string_view::npos ? std::string_view() : found->substr(comma + 1);
    std::string_view word = Trim(found->substr(0, comma));
    if (word.size() >= 2 && (word.front() == '\'' || word.front() == '"') &&
        word.back() == word.front())
      word = word.substr(1, word.size() - 2);
    return word;
  };
  if (auto pid = value("pid="))
    if (auto read = ParseInt(*pid); read.ok()) event.pid = *read;
  if (auto name = value("name=")) event.process = Shorten(Printable(*name), 64);
  return Trim(rest);
}

// "NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x004505c6 0x00000000 ...)"
void ReadNvlink5(std::string_view text, Event& event) {
  for (auto word : SplitBlank(text)) {
    if (EqualsIgnoreCase(word, "Nonfatal") || EqualsIgnoreCase(word, "Non-fatal"))
      event.severity = Severity::kNonFatal;
    else if (EqualsIgnoreCase(word, "Fatal"))
      event.severity = Severity::kFatal;
  }
  const auto words = SplitBlank(text);
  if (!words.empty()) event.unit = Printable(words[0]);
  if (auto link = Behind(text, "Link "))
    if (auto read = ParseInt(link->substr(0, link->find_first_of(" ,(")));
        read.ok() && *read >= -1 && *read < 1024)
      event.link = static_cast<int>(*read);
  if (auto list = Behind(text, "(")) {
    for (auto word : SplitBlank(list->substr(0, list->find(')'))))
      if (auto read = ParseHex(word); read.ok() && *read <= 0xffffffffu)
        event.words.push_back(static_cast<uint32_t>(*read));
  }
}

// "Xid (PCI:0000:1b:00): 79, pid=..., name=..., text"; older drivers leave "PCI:" and the process
// out.
bool ReadXid(std::string_view line, Event& event) {
  auto rest = Behind(line, "Xid (");
  if (!rest) return false;
  const size_t close = rest->find(')');
  if (close == std::string_view::npos) return false;
  std::string_view address = rest->substr(0, close);
  if (auto bare = After(address, "PCI:")) address = *bare;
  ReadAddress(address, event);
  auto tail = After(rest->substr(close), "):");
  if (!tail) return false;
  const std::string_view after = Trim(*tail);
  const auto code = LeadingNumber(after);
  if (!code) return false;
  event.kind = EventKind::kXid;
  event.code = *code;
  const size_t comma = after.find(',');
  const std::string_view text = comma == std::string_view::npos
                                    ? std::string_view()
                                    : ReadProcess(after.substr(comma + 1), event);
  event.text = Shorten(Printable(text), 160);
  if (event.code >= 144 && event.code <= 150) ReadNvlink5(text, event);
  if (auto cause = Behind(text, "caused by previous Xid ")) event.caused_by = LeadingNumber(*cause);
  if (event.code == 154)
    if (auto to = Behind(text, " to 0x"))
      if (auto read = ParseHex(to->substr(0, to->find_first_not_of("0123456789abcdefABCDEF")));
          read.ok() && *read < 256)
        event.recovery = static_cast<int>(*read);
  return true;
}

// "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 36 LTSSM Fault Up"
bool ReadSxid(std::string_view line, Event& event) {
  auto rest = Behind(line, "SXid (PCI:");
  if (!rest) return false;
  const size_t close = rest->find("):");
  if (close == std::string_view::npos) return false;
  ReadAddress(rest->substr(0, close), event);
  const std::string_view after = Trim(rest->substr(close + 2));
  const auto code = LeadingNumber(after);
  if (!code) return false;
  event.kind = EventKind::kSxid;
  event.code = *code;
  const size_t comma = after.find(',');
  const std::string_view text =
      comma == std::string_view::npos ? std::string_view() : Trim(after.substr(comma + 1));
  // The lines that follow an event repeat its code with "Severity n Engine instance .." or "Data
  // {0x..}".
  if (StartsWith(text, "Severity ") || StartsWith(text, "Data {")) return false;
  if (StartsWith(text, "Non-fatal") || StartsWith(text, "Nonfatal"))
    event.severity = Severity::kNonFatal;
  else if (StartsWith(text, "Fatal"))
    event.severity = Severity::kFatal;
  if (auto link = Behind(text, "Link ")) event.link = LeadingNumber(*link);
  if (auto name = Behind(line, "nvidia-nvswitch"))
    event.unit = "nvswitch" + Printable(name->substr(0, name->find(':')));
  event.text = Shorten(Printable(text), 160);
  return true;
}

// The first thing that looks like an address in a text; "21:29:39" is the time of the line.
void FindAddress(std::string_view text, Event& event) {
  for (auto word : SplitBlank(text)) {
    if (auto bare = After(word, "PCI:")) word = *bare;
    while (!word.empty() && (word.back() == ':' || word.back() == ',')) word.remove_suffix(1);
    const bool time = word.size() >= 8 && word[2] == ':' && word[5] == ':';
    if (time || word.find(':') == std::string_view::npos) continue;
    if (PciSlot(word)) return ReadAddress(word, event);
  }
}

bool ReadNvrm(std::string_view line, Event& event) {
  if (Contains(line, "fallen off the bus"))
    event.kind = EventKind::kFallenOff;
  else if (Contains(line, "Rate limiting GSP RPC"))
    event.kind = EventKind::kGspNoise;
  else if (auto rest = Behind(line, "NVRM: GPU at PCI:"); rest && Contains(*rest, "GPU-")) {
    event.kind = EventKind::kGpuIdentity;
    event.text = Printable(Trim(rest->substr(rest->find("GPU-"))));
  } else {
    return false;
  }
  FindAddress(line, event);
  return true;
}

bool ReadPcie(std::string_view line, Event& event) {
  const bool dpc = Contains(line, "DPC: containment event"), slot = Contains(line, "pciehp: Slot(");
  if (!dpc && !slot && !Contains(line, "AER:")) return false;
  if (slot && !Contains(line, "Link Down") && !Contains(line, "Card not present")) return false;
  // A port that begins to watch, or that came back, has no error.
  if (Contains(line, "AER: enabled with IRQ") || Contains(line, "recovery successful"))
    return false;
  event.kind = EventKind::kAer;
  const std::string lower = ToLower(line);
  if (dpc || Contains(lower, "(fatal)"))
    event.severity = Severity::kFatal;
  else if (Contains(lower, "corrected error") || Contains(lower, "non-fatal") ||
           Contains(lower, "severity=corrected"))
    event.severity = Severity::kNonFatal;
  // The port that reports comes first; "from" or "received" names the device behind it.
  if (auto device = Behind(line, "received: "))
    FindAddress(*device, event);
  else if (auto from = Behind(line, " from "))
    FindAddress(*from, event);
  if (event.pci.empty()) FindAddress(line, event);
  return true;
}

bool ReadMlx5(std::string_view line, Event& event) {
  auto rest = Behind(line, "mlx5_core ");
  if (!rest) return false;
  const auto words = SplitBlank(*rest);
  auto port = Behind(*rest, "Port: ");
  if (words.size() < 2 || !port || !Contains(*port, "Link ")) return false;
  event.kind = EventKind::kMlx5Port;
  ReadAddress(words[0], event);
  std::string_view device = words[1];
  while (!device.empty() && device.back() == ':') device.remove_suffix(1);
  event.unit = Printable(device);
  event.text = Shorten(Printable(Trim(*Behind(*port, "Link "))), 32);
  return true;
}

bool ReadKilled(std::string_view line, Event& event) {
  auto rest = Behind(line, "Killed process ");
  if (!rest || !Contains(ToLower(line), "out of memory")) return false;
  event.kind = EventKind::kOutOfMemory;
  event.pid = LeadingNumber(*rest);
  if (auto name = Behind(*rest, "("))
    event.process = Shorten(Printable(name->substr(0, name->find(')'))), 64);
  return true;
}

bool ReadEvent(std::string_view line, Event& event) {
  if (Contains(line, "SXid (")) return ReadSxid(line, event);
  if (Contains(line, "NVRM:")) return ReadXid(line, event) || ReadNvrm(line, event);
  if (Contains(line, "fallen off the bus")) return ReadNvrm(line, event);
  if (ReadPcie(line, event) || ReadMlx5(line, event) || ReadKilled(line, event)) return true;
  if (Contains(line, "nvidia-peermem") && Contains(line, "ERROR")) {
    event.kind = EventKind::kPeermem;
    return true;
  }
  if (Contains(line, "segfault at") && Contains(line, "libnccl")) {
    event.kind = EventKind::kNcclCrash;
    return true;
  }
  return false;
}

// A byte that every event line has, so that most lines are passed over with one look.
bool MayMatter(std::string_view line) {
  for (std::string_view mark :
       {"NVRM", "Xid", "nvidia", "AER", "DPC", "pciehp", "mlx5", "Killed", "fallen off", "libnccl"})
    if (Contains(line, mark)) return true;
  return false;
}

// Only where it stands at the beginning of a message: a text that somebody else may choose (the
// name of a device that was plugged in, of a process) comes behind a colon.
void ReadResetMark(std::string_view line, std::vector<Event>& events) {
  const size_t at = line.find(kResetMark);
  if (at == std::string_view::npos || Contains(line.substr(0, at), ": ")) return;
  for (const std::string_view address : Split(line.substr(at + kResetMark.size()), ';')) {
    Event event;
    event.kind = EventKind::kGpuReset;
    ReadAddress(address, event);
    if (event.pci.empty()) continue;
    ReadStamp(line, event);
    event.line = Shorten(Printable(Trim(line)), 200);
    events.push_back(std::move(event));
  }
}

// The driver spreads "The NVIDIA GPU <address> ... has fallen off the bus" over several lines; the
// address is in the first.
void JoinFallenOff(std::string_view line, std::string& pending, Event& event) {
  if (event.kind == EventKind::kFallenOff && event.pci.empty() && !pending.empty())
    FindAddress(pending, event);
  if (Contains(line, "The NVIDIA GPU ")) pending = std::string(line);
}

}  // namespace

std::string_view ToString(EventKind kind) {
  switch (kind) {
    case EventKind::kXid:
      return "xid";
    case EventKind::kSxid:
      return "sxid";
    case EventKind::kFallenOff:
      return "fallen off the bus";
    case EventKind::kGpuIdentity:
      return "gpu identity";
    case EventKind::kGspNoise:
      return "gsp errors rate-limited";
    case EventKind::kAer:
      return "pcie error";
    case EventKind::kMlx5Port:
      return "adapter port";
    case EventKind::kOutOfMemory:
      return "out of memory";
    case EventKind::kPeermem:
      return "peermem";
    case EventKind::kNcclCrash:
      return "nccl crash";
    case EventKind::kGpuReset:
      return "gpu reset";
  }
  return "?";
}

std::optional<uint64_t> PciSlot(std::string_view text) {
  text = Trim(text);
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos) {
    if (text.size() != dot + 2 || text[dot + 1] < '0' || text[dot + 1] > '7') return std::nullopt;
    text = text.substr(0, dot);
  }
  const auto parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  uint64_t slot = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool domain = parts.size() == 3 && i == 0;
    if (parts[i].empty() || parts[i].size() > (domain ? 8u : 2u) ||
        parts[i].find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return std::nullopt;
    auto read = ParseHex(parts[i]);
    if (!read.ok()) return std::nullopt;
    slot = slot << 8 | *read;
  }
  return slot;
}

KernelLog ParseKernelLog(std::string_view text) {
  KernelLog log;
  std::string pending;
  for (auto line : Lines(text)) {
    if (Trim(line).empty()) continue;
    ++log.lines;
    if (!log.from_boot && log.lines < 64 && Contains(line, "Linux version ")) log.from_boot = true;
    if (Contains(line, kResetMark)) {
      ReadResetMark(line, log.events);
      continue;
    }
    if (!MayMatter(line)) continue;
    Event event;
    const bool found = ReadEvent(line, event);
    JoinFallenOff(line, pending, event);
    if (!found) continue;
    ReadStamp(line, event);
    event.line = Shorten(Printable(Trim(line)), 200);
    log.events.push_back(std::move(event));
  }
  return log;
}

}  // namespace muster::kernel_log
