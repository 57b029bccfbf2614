#include "probes/rocm_smi/probes.h"

#include <array>

namespace muster {
namespace {

using namespace std::chrono_literals;
constexpr std::string_view kId = "rocm_smi.query";

Reading CollectQuery(const HostPorts& ports) {
  Reading fixed =
      ReadCommand(ports, kId, {.argv = {"amd-smi", "static", "--json"}, .timeout = 60s});
  if (fixed.fault && fixed.exit_code == 127)
    return ReadCommand(ports, kId,
                       {.argv = {"rocm-smi", "--showallinfo", "--json"}, .timeout = 60s});
  if (fixed.fault) return fixed;
  Reading live = ReadCommand(ports, kId, {.argv = {"amd-smi", "metric", "--json"}, .timeout = 60s});
  live.command = fixed.command + "; " + live.command;
  live.took += fixed.took;
  live.text = fixed.text + "\n" + live.text;
  return live;
}

}  // namespace

std::span<const Probe> RocmSmiProbes() {
  static const std::array<Probe, 1> kProbes = {{
      {kId,
       "json",
       {"gpu.count", "gpu.present", "gpu.model", "gpu.ecc_uncorrected", "gpu.temperature",
        "node.driver_version"},
       CollectQuery,
       rocm_smi::ParseQuery},
  }};
  return kProbes;
}

}  // namespace muster
