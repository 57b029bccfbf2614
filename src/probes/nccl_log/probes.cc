#include "probes/nccl_log/probes.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_log/nccl_map.h"

namespace muster {
namespace {

constexpr std::string_view kId = "nccl_log.transport";
constexpr auto kTimeout = std::chrono::minutes(10);

// One short all-reduce over the GPUs of the host: enough for NCCL to say which version and paths it
// would use.
Reading CollectLog(const HostPorts& ports) {
  Command run{{"all_reduce_perf", "-b", "1G", "-e", "1G", "-g", "1", "-n", "1", "-w", "1"}};
  run.env = {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,ENV,TUNING"}};
  run.timeout = kTimeout;
  return ReadCommand(ports, kId, run);
}

Observations ParseLog(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject scope{SubjectKind::kScope, reading.host};
  if (reading.fault) {
    out.AddUnobserved(scope, "collective.algorithm", reading.fault->reason, reading.fault->detail);
    return out.Take();
  }
  // NCCL writes to stdout unless NCCL_DEBUG_FILE says otherwise; launchers may send it to stderr.
  // The end of stdout stays the end of the text, so that a cut there is seen.
  std::string text = reading.stderr_text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += reading.text;
  const auto map = nccl_log::ParseNcclLog(text);
  nccl_log::AddObservations(map, scope, nccl_log::RailByName, out);
  return out.Take();
}

const std::array<Probe, 1> kProbes = {
    {{kId,
      "log",
      {"nccl.net", "nccl.gdr", "nccl.net_of_node", "nccl.gdr_of_node", "nccl.version",
       "collective.algorithm", "sharp.used"},
      CollectLog,
      ParseLog}}};

}  // namespace

std::span<const Probe> NcclLogProbes() { return kProbes; }

}  // namespace muster
