#include "probes/infiniband/sysfs.h"

#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

constexpr std::string_view kRoot = "/sys/class/infiniband";

// A path below the root: device, port (0 for the device's own files) and what follows.
struct SysfsPath {
  std::string device;
  int port = 0;
  std::string_view file;  // "state", "counters/symbol_error", "fw_ver"
};
std::optional<SysfsPath> ReadPath(std::string_view path) {
  const auto below = After(path, kRoot);
  if (!below || !StartsWith(*below, "/")) return std::nullopt;
  std::string_view rest = below->substr(1);
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  SysfsPath result;
  result.device = std::string(rest.substr(0, slash));
  rest.remove_prefix(slash + 1);
  if (Take(rest, "ports/")) {
    const auto port = TakeNumber(rest);
    if (!port || *port < 1 || *port > 254 || !Take(rest, "/")) return std::nullopt;
    result.port = static_cast<int>(*port);
  }
  result.file = rest;
  return result;
}

void SetFile(SysfsPort& port, std::string_view file, std::string_view value) {
  if (file == "state") {
    port.status.state = StateOfSysfs(value);
    port.status.excerpt = fmt::format("state {}", value);
  } else if (file == "phys_state") {
    port.status.physical_state = PhysicalStateOfSysfs(value);
  } else if (file == "rate") {
    port.status.rate_gbit_per_s = RateOfSysfs(value);
  } else if (file == "link_layer") {
    port.status.link_layer = std::string(value);
  } else if (const auto name = After(file, "counters/")) {
    const CounterName* counter = FindCounterFile(*name);
    const auto number = ParseInt(value);
    if (counter != nullptr && number.ok() && *number >= 0) {
      port.counters.Set(counter->counter, *number, false);
    }
  }
}

}  // namespace

std::map<std::pair<std::string, int>, SysfsPort> ParseSysfs(std::string_view text) {
  std::map<std::pair<std::string, int>, SysfsPort> ports;
  std::map<std::string, std::string> firmware;
  std::map<std::string_view, std::string_view> files;
  std::set<std::string_view> twice;
  for (const std::string_view line : WholeLines(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view path = line.substr(0, colon);
    if (!files.emplace(path, Trim(line.substr(colon + 1))).second) twice.insert(path);
  }
  for (const auto& [path, value] : files) {
    const auto where = ReadPath(path);
    if (!where || twice.contains(path) || value.empty()) continue;
    if (where->port == 0) {
      if (where->file == "fw_ver") firmware[where->device] = std::string(value);
      continue;
    }
    SysfsPort& port = ports[{where->device, where->port}];
    port.status.device = where->device;
    port.status.port = where->port;
    SetFile(port, where->file, value);
  }
  for (auto& [key, port] : ports) {
    const auto it = firmware.find(key.first);
    if (it != firmware.end()) port.status.firmware = it->second;
  }
  return ports;
}

Reading CollectSysfs(const HostPorts& host) {
  Reading reading;
  reading.probe = "infiniband.sysfs";
  reading.host = host.host;
  reading.command = fmt::format("read path {}", kRoot);
  reading.origin = host.origin;
  Files& files = host.world.files;
  const Duration begin = host.world.clock.Monotonic();
  const auto read = [&](const std::string& path) {
    const auto text = files.Read(path, 4096);
    if (text.ok()) reading.text += fmt::format("{}:{}\n", path, Trim(*text));
  };
  const auto devices = files.List(std::string(kRoot));
  if (!devices.ok()) {
    const Code code = devices.error().code;
    const UnknownReason reason = code == Code::kPermission ? UnknownReason::kNotPermitted
                                 : code == Code::kNotFound ? UnknownReason::kNotObserved
                                                           : UnknownReason::kUnreachable;
    reading.fault = Unobserved{reason, devices.error().ToString()};
    reading.exit_code = 1;
  } else {
    for (const FileInfo& device : *devices) {
      const std::string base = fmt::format("{}/{}", kRoot, device.name);
      read(base + "/fw_ver");
      const auto numbers = files.List(base + "/ports");
      if (!numbers.ok()) continue;
      for (const FileInfo& port : *numbers) {
        const std::string folder = fmt::format("{}/ports/{}", base, port.name);
        for (const std::string_view file : {"state", "phys_state", "rate", "link_layer"}) {
          read(fmt::format("{}/{}", folder, file));
        }
        for (const CounterName& name : CounterTable()) {
          read(fmt::format("{}/counters/{}", folder, name.file));
        }
      }
    }
  }
  reading.at = host.world.clock.Now();
  reading.took = host.world.clock.Monotonic() - begin;
  return reading;
}

Observations ParseSysfsReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  for (const auto& [key, port] : ParseSysfs(reading.text)) {
    ObservePort(port.status, reading.host, builder);
    if (key.second == 1 && port.status.firmware) {
      builder.Add(HcaSubject(reading.host, key.first), "hca.firmware", *port.status.firmware,
                  Unit::kNone, fmt::format("fw_ver {}", *port.status.firmware));
    }
    const std::string device = fmt::format("{}/{}", reading.host, key.first);
    ObserveCounters(port.counters, PortSubject(device, key.second), true, "", builder);
  }
  return builder.Take();
}

}  // namespace muster::infiniband
