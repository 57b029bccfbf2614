#include "probes/node/parse.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/node/sections.h"

namespace muster::node {
namespace {

// "1763690000.123456789" as seconds and nanoseconds, so that a double's 16 digits do not round a
// clock.
std::optional<TimePoint> EpochTime(std::string_view text) {
  text = Trim(text);
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view part =
      dot == std::string_view::npos ? std::string_view("0") : text.substr(dot + 1);
  auto digits = [](std::string_view t, size_t most) {
    return !t.empty() && t.size() <= most &&
           t.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!digits(whole, 10) || !digits(part, 9)) return std::nullopt;
  const auto seconds = ParseInt(whole);
  auto nanoseconds = ParseInt(part);
  if (!seconds.ok() || !nanoseconds.ok()) return std::nullopt;
  int64_t scaled = *nanoseconds;
  for (size_t i = part.size(); i < 9; ++i) scaled *= 10;
  return TimePoint(std::chrono::seconds(*seconds) + std::chrono::nanoseconds(scaled));
}

std::string_view FirstLine(std::string_view text) {
  for (auto line : Lines(text))
    if (!Trim(line).empty()) return Trim(line);
  return {};
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return false;
    if (!dash && !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

// A driver version as NVIDIA writes it: "570.211.01", "535.54.03".
bool IsVersion(std::string_view text) {
  const auto parts = Split(text, '.');
  if (parts.size() < 2 || parts.size() > 4) return false;
  return std::all_of(parts.begin(), parts.end(), [](auto part) {
    return !part.empty() && part.size() <= 6 &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.211.01  Mon ..." or "... UNIX Open Kernel
// Module for x86_64  570..."
std::string_view LoadedVersion(std::string_view text) {
  const std::string_view line = FirstLine(text);
  if (!StartsWith(line, "NVRM version:")) return {};
  for (auto word : SplitBlank(line))
    if (IsVersion(word)) return word;
  return {};
}

// "NVIDIA-SMI version  : 570.211.01", "Fabric Manager version is : 570.211.01"
std::string_view VersionAfter(std::string_view text, std::string_view head) {
  for (auto line : Lines(text)) {
    const auto rest = After(Trim(line), head);
    const size_t colon = rest ? rest->find(':') : std::string_view::npos;
    if (colon == std::string_view::npos) continue;
    const std::string_view version = Trim(rest->substr(colon + 1));
    return IsVersion(version) ? version : std::string_view();
  }
  return {};
}

bool AtLeast(std::string_view version, int64_t major, int64_t minor) {
  const auto parts = Split(version, '.');
  auto number = [&](size_t i) {
    auto read = i < parts.size()
                    ? ParseInt(parts[i].substr(0, parts[i].find_first_not_of("0123456789")))
                    : Result<int64_t>(0);
    return read.ok() ? *read : 0;
  };
  return number(0) > major || (number(0) == major && number(1) >= minor);
}

void AddDriverMatch(ObservationBuilder& out, const Subject& node, const Reading& reading) {
  constexpr std::string_view kFact = "node.driver_loaded_matches";
  const auto loaded_text = Section(reading.text, "loaded"), smi_text = Section(reading.text, "smi");
  const auto disk_text = Section(reading.text, "on_disk");
  if (!loaded_text || !smi_text || !disk_text)
    return out.AddUnobserved(node, kFact, UnknownReason::kUnparsable, "the reading was cut");
  if (Contains(*smi_text, "Driver/library version mismatch"))
    return out.Add(node, kFact, false, Unit::kNone, FirstLine(*smi_text));
  const std::string_view loaded = LoadedVersion(*loaded_text);
  if (loaded.empty())
    return out.AddUnobserved(node, kFact, UnknownReason::kNotObserved,
                             "no version of the loaded kernel module");
  const std::string_view user = VersionAfter(*smi_text, "NVIDIA-SMI version");
  const std::string_view disk =
      IsVersion(FirstLine(*disk_text)) ? FirstLine(*disk_text) : std::string_view();
  const std::string seen = fmt::format("loaded {}, user space {}, on disk {}", loaded,
                                       user.empty() ? "?" : user, disk.empty() ? "?" : disk);
  if (user.empty() && (disk.empty() || disk == loaded))
    return out.AddUnobserved(node, kFact, UnknownReason::kNotObserved,
                             fmt::format("no version of the user-space driver: {}", seen));
  out.Add(node, kFact, (user.empty() || user == loaded) && (disk.empty() || disk == loaded),
          Unit::kNone, seen);
}

void AddFabricManagerMatch(ObservationBuilder& out, const Subject& node, const Reading& reading) {
  constexpr std::string_view kFact = "node.fabric_manager_matches";
  const auto loaded_text = Section(reading.text, "loaded"),
             manager_text = Section(reading.text, "fabric_manager");
  if (!loaded_text || !manager_text)
    return out.AddUnobserved(node, kFact, UnknownReason::kUnparsable, "the reading was cut");
  const std::string_view manager = VersionAfter(*manager_text, "Fabric Manager version is");
  if (manager.empty())
    out.AddUnobserved(node, "node.fabric_manager_version", UnknownReason::kNotObserved,
                      "nv-fabricmanager tells no version");
  else
    out.Add(node, "node.fabric_manager_version", std::string(manager), Unit::kNone, manager);
  const auto smi = Section(reading.text, "smi");
  // Its counterpart is the driver that is installed; the loaded module has a criterion of its own.
  std::string_view driver = smi ? VersionAfter(*smi, "NVIDIA-SMI version") : std::string_view();
  if (driver.empty()) driver = LoadedVersion(*loaded_text);
  if (manager.empty() || driver.empty())
    return out.AddUnobserved(
        node, kFact, UnknownReason::kNotObserved,
        manager.empty() ? "nv-fabricmanager tells no version" : "no version of the driver");
  out.Add(node, kFact, manager == driver, Unit::kNone,
          fmt::format("fabric manager {}, driver {}", manager, driver));
}

void AddPeermem(ObservationBuilder& out, const Subject& node, const Reading& reading) {
  constexpr std::string_view kFact = "node.peermem";
  const auto modules = Section(reading.text, "modules"), loaded = Section(reading.text, "loaded");
  const auto kernel = Section(reading.text, "kernel");
  if (!modules || !loaded || !kernel)
    return out.AddUnobserved(node, kFact, UnknownReason::kUnparsable, "the reading was cut");
  bool nvidia = false;
  for (auto line : Lines(*modules)) {
    const std::string_view name = line.substr(0, line.find(' '));
    if (name == "nvidia_peermem" || name == "nv_peer_mem")
      return out.Add(node, kFact, true, Unit::kNone, line);
    nvidia = nvidia || name == "nvidia";
  }
  const std::string_view version = LoadedVersion(*loaded);
  if (Contains(FirstLine(*loaded), "Open Kernel Module") && AtLeast(version, 515, 0) &&
      AtLeast(FirstLine(*kernel), 5, 12))
    return out.Add(node, kFact, true, Unit::kNone, FirstLine(*loaded));
  if (!nvidia || version.empty())
    return out.AddUnobserved(node, kFact, UnknownReason::kNotObserved,
                             "the list of modules has no nvidia driver");
  out.Add(node, kFact, false, Unit::kNone, "nvidia is loaded, nvidia_peermem is not");
}

}  // namespace

Observations ParseIdentity(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  const auto date = Section(reading.text, "date"), asked = Section(reading.text, "asked");
  const auto answered = Section(reading.text, "answered"), boot = Section(reading.text, "boot_id");
  if (!date || !asked || !answered || !boot) {
    for (std::string_view fact : {"node.reachable", "node.clock_offset", "node.boot_id"})
      out.AddUnobserved(node, fact, UnknownReason::kUnparsable, "the reading was cut");
    return out.Take();
  }
  const auto theirs = EpochTime(FirstLine(*date)), before = EpochTime(FirstLine(*asked)),
             after = EpochTime(FirstLine(*answered));
  if (theirs)
    out.Add(node, "node.reachable", true, Unit::kNone, FirstLine(*date));
  else
    out.AddUnobserved(node, "node.reachable", UnknownReason::kUnparsable, "date printed no time");
  if (theirs && before && after && *before <= *after) {
    const TimePoint middle = *before + (*after - *before) / 2;
    out.Add(node, "node.clock_offset", std::abs(Seconds(*theirs - middle)), Unit::kSeconds,
            fmt::format("{} where {} to {} was expected", FirstLine(*date), FirstLine(*asked),
                        FirstLine(*answered)));
  } else {
    out.AddUnobserved(node, "node.clock_offset", UnknownReason::kUnparsable,
                      "the three times do not fit together");
  }
  if (IsUuid(FirstLine(*boot)))
    out.Add(node, "node.boot_id", std::string(FirstLine(*boot)), Unit::kNone, FirstLine(*boot));
  else
    out.AddUnobserved(node, "node.boot_id", UnknownReason::kNotObserved,
                      "no boot id could be read");
  return out.Take();
}

Observations ParseServices(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  static constexpr std::array<std::string_view, 7> kStates = {
      "active", "inactive", "failed", "activating", "deactivating", "reloading", "maintenance"};
  const std::string_view word = FirstLine(reading.text);
  // systemd 253 and later: exit 4, "no such unit", whatever the word; older ones print "unknown".
  if ((reading.exit_code == 4 && (word == "inactive" || word.empty())) || word == "unknown")
    out.Add(node, "node.fabric_manager", std::string("absent"), Unit::kNone,
            "there is no such unit");
  else if (EndsWith(reading.text, "\n") &&
           std::find(kStates.begin(), kStates.end(), word) != kStates.end())
    out.Add(node, "node.fabric_manager", std::string(word), Unit::kNone, word);
  else
    out.AddUnobserved(node, "node.fabric_manager", UnknownReason::kUnparsable,
                      fmt::format("systemctl printed \"{}\"", Shorten(Printable(word), 60)));
  return out.Take();
}

Observations ParseModules(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  AddPeermem(out, node, reading);
  AddDriverMatch(out, node, reading);
  AddFabricManagerMatch(out, node, reading);
  return out.Take();
}

}  // namespace muster::node
