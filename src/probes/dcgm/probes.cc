#include "probes/dcgm/probes.h"

#include <array>

#include "probes/dcgm/diag.h"

namespace muster {
namespace {

Reading CollectDiag(const HostPorts& ports) {
  return ReadCommand(
      ports, "dcgm.diag",
      {.argv = {"dcgmi", "diag", "-r", "3", "-j"}, .timeout = std::chrono::minutes(30)});
}

}  // namespace

std::span<const Probe> DcgmProbes() {
  static const std::array<Probe, 1> kProbes = {{
      {"dcgm.diag",
       "json",
       {"dcgm.result", "dcgm.hidden_errors", "dcgm.tests_run"},
       CollectDiag,
       dcgm::ParseDiag},
  }};
  return kProbes;
}

}  // namespace muster
