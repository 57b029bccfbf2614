#include "probes/nccl_tests/probes.h"

#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_tests/collective_run.h"

namespace muster {
namespace {

constexpr std::string_view kId = "nccl_tests.all_reduce";
constexpr auto kTimeout = std::chrono::minutes(10);

// All GPUs of the host in one process, as nvidia-smi counts them.
Reading CollectAllReduce(const HostPorts& ports) {
  Reading list = ReadCommand(ports, kId, Command{{"nvidia-smi", "-L"}});
  if (list.fault) return list;
  int gpus = 0;
  for (std::string_view line : Lines(list.text)) gpus += StartsWith(line, "GPU ") ? 1 : 0;
  if (gpus == 0) {
    list.fault = Unobserved{UnknownReason::kNotObserved, "nvidia-smi -L lists no GPU"};
    return list;
  }
  Command run{{"all_reduce_perf", "-b", "8", "-e", "8G", "-f", "2", "-g", fmt::format("{}", gpus),
               "-c", "1"}};
  run.env = {{"NCCL_DEBUG", "INFO"}};
  run.timeout = kTimeout;
  return ReadCommand(ports, kId, run);
}

Observations ParseAllReduce(const Reading& reading) {
  ObservationBuilder out(reading);
  const Subject scope{SubjectKind::kScope, reading.host};
  if (reading.fault) {
    for (std::string_view fact : {"collective.plateau", "collective.rows", "collective.wrong"}) {
      out.AddUnobserved(scope, fact, reading.fault->reason, reading.fault->detail);
    }
    return out.Take();
  }
  auto run = nccl_tests::ParseCollective(reading.text);
  if (reading.exit_code != 0) {
    run.failures.push_back(fmt::format("exit code {}: {}", reading.exit_code,
                                       Shorten(Printable(Trim(reading.stderr_text)), 120)));
  }
  nccl_tests::AddObservations(run, scope, out);
  return out.Take();
}

const std::array<Probe, 1> kProbes = {
    {{kId,
      "txt",
      {"collective.plateau", "collective.rows", "collective.wrong"},
      CollectAllReduce,
      ParseAllReduce}}};

}  // namespace

std::span<const Probe> NcclTestsProbes() { return kProbes; }

}  // namespace muster
