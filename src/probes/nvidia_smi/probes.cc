#include "probes/nvidia_smi/probes.h"

#include <array>

#include "probes/nvidia_smi/nvlink.h"
#include "probes/nvidia_smi/query.h"
#include "probes/nvidia_smi/topo.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

Reading CollectQuery(const HostPorts& ports) {
  return ReadCommand(ports, "nvidia_smi.query",
                     {.argv = {"nvidia-smi", "-q", "-x"}, .timeout = 60s});
}
Reading CollectTopo(const HostPorts& ports) {
  return ReadCommand(ports, "nvidia_smi.topo",
                     {.argv = {"nvidia-smi", "topo", "-m"}, .timeout = 60s});
}
Reading CollectNvlink(const HostPorts& ports) {
  return ReadCommand(ports, "nvidia_smi.nvlink",
                     {.argv = {"nvidia-smi", "nvlink", "-s"}, .timeout = 60s});
}

}  // namespace

std::span<const Probe> NvidiaSmiProbes() {
  static const std::array<Probe, 3> kProbes = {{
      {"nvidia_smi.query",
       "xml",
       {nvidia_smi::QueryFacts().begin(), nvidia_smi::QueryFacts().end()},
       CollectQuery,
       nvidia_smi::ParseQuery},
      {"nvidia_smi.topo",
       "txt",
       {"gpu.numa", "gpu.nearest_hca"},
       CollectTopo,
       nvidia_smi::ParseTopo},
      {"nvidia_smi.nvlink", "txt", {"nvlink.active"}, CollectNvlink, nvidia_smi::ParseNvlink},
  }};
  return kProbes;
}

}  // namespace muster
