#include "probes/node/probes.h"

#include <array>

#include <fmt/format.h>

#include "probes/node/parse.h"
#include "probes/node/sections.h"
#include "probes/node/software.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

std::string Epoch(TimePoint t) {
  const auto ns = t.time_since_epoch().count();
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

Reading CollectIdentity(const HostPorts& ports) {
  constexpr std::string_view kId = "node.identity";
  // A first command pays for the connection, so that the second one's round trip is the network's
  // alone.
  Reading first = ReadCommand(ports, kId, {.argv = {"true"}, .timeout = 15s});
  if (first.fault) return first;
  const TimePoint asked = ports.world.clock.Now();
  Reading reading = ReadCommand(ports, kId, {.argv = {"date", "+%s.%N"}, .timeout = 15s});
  if (reading.fault) return reading;
  const Reading boot = ReadFile(ports, kId, "/proc/sys/kernel/random/boot_id");
  std::string text;
  node::AddSection(text, "asked", Epoch(asked));
  node::AddSection(text, "answered", Epoch(reading.at));
  node::AddSection(text, "date", reading.text);
  node::AddSection(text, "boot_id", boot.text);
  node::AddSection(text, "end", "");
  reading.text = std::move(text);
  return reading;
}

Reading CollectServices(const HostPorts& ports) {
  return ReadCommand(ports, "node.services",
                     {.argv = {"systemctl", "is-active", "nvidia-fabricmanager"}, .timeout = 15s});
}

Reading CollectModules(const HostPorts& ports) {
  constexpr std::string_view kId = "node.modules";
  // The module list is on every Linux: without it the host cannot be read at all. The rest may be
  // missing and says so itself.
  Reading reading = ReadFile(ports, kId, "/proc/modules");
  reading.command =
      "read /proc/modules, /proc/driver/nvidia/version, /proc/sys/kernel/osrelease; modinfo -F "
      "version nvidia; "
      "nvidia-smi --version; nv-fabricmanager --version";
  if (reading.fault) return reading;
  auto said = [&](std::vector<std::string> argv) {
    const Reading one = ReadCommand(ports, kId, {.argv = std::move(argv), .timeout = 30s});
    reading.took += one.took;
    reading.at = one.at;
    return one.fault ? std::string() : one.text;
  };
  std::string text;
  node::AddSection(text, "kernel", ReadFile(ports, kId, "/proc/sys/kernel/osrelease").text);
  node::AddSection(text, "modules", reading.text);
  node::AddSection(text, "loaded", ReadFile(ports, kId, "/proc/driver/nvidia/version").text);
  node::AddSection(text, "on_disk", said({"modinfo", "-F", "version", "nvidia"}));
  node::AddSection(text, "smi", said({"nvidia-smi", "--version"}));
  node::AddSection(text, "fabric_manager", said({"nv-fabricmanager", "--version"}));
  node::AddSection(text, "end", "");
  reading.text = std::move(text);
  return reading;
}

}  // namespace

std::span<const Probe> NodeProbes() {
  static const std::array<Probe, 4> kProbes = {{
      {"node.identity",
       "txt",
       {"node.reachable", "node.clock_offset", "node.boot_id"},
       CollectIdentity,
       node::ParseIdentity},
      {"node.services", "txt", {"node.fabric_manager"}, CollectServices, node::ParseServices},
      {"node.modules",
       "txt",
       {"node.peermem", "node.driver_loaded_matches", "node.fabric_manager_matches",
        "node.fabric_manager_version"},
       CollectModules,
       node::ParseModules},
      {"node.software",
       "txt",
       {"node.kernel", "node.os"},
       node::CollectSoftware,
       node::ParseSoftware},
  }};
  return kProbes;
}

}  // namespace muster
