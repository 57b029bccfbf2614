// How fast a node's GPU evidence is written by the lab and understood by the probes. Goal: XML and
// JSON at 150 MB/s or better per core; 1,024 nodes within a few seconds in all.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "backend/lab/nvidia/tools.h"
#include "probes/dcgm/diag.h"
#include "probes/dcgm/diag_document.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/nvidia_smi/query.h"

namespace {

using muster::Reading;

std::string Print(const muster::lab::LabState& state, const muster::Node& node,
                  std::string_view program, std::vector<std::string> args) {
  for (const auto& tool : muster::lab::NvidiaTools())
    if (tool.program == program) return tool.run({state, &node, args, state.created}).out;
  return {};
}
muster::lab::LabState Lab(int nodes) {
  muster::ClusterSpec spec;
  spec.nodes = nodes;
  return muster::lab::MakeLab(spec, 1, muster::TimePoint(std::chrono::seconds(1'795'000'000)));
}
Reading Of(std::string text) {
  Reading reading;
  reading.host = "node000";
  reading.text = std::move(text);
  return reading;
}
void Rate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes));
  state.SetLabel(fmt::format("{} KB a document", bytes / 1000));
}

// A bare-metal H100 also lists 110 supported clocks a GPU; that part is put in here, because real
// documents have it.
std::string WithClocks(std::string xml) {
  std::string clocks =
      "<supported_clocks>\n\t\t\t<supported_mem_clock>\n\t\t\t\t<value>2619 MHz</value>\n";
  for (int mhz = 1980; mhz >= 345; mhz -= 15)
    clocks +=
        fmt::format("\t\t\t\t<supported_graphics_clock>{} MHz</supported_graphics_clock>\n", mhz);
  clocks += "\t\t\t</supported_mem_clock>\n\t\t</supported_clocks>";
  const std::string_view none = "<supported_clocks>N/A</supported_clocks>";
  for (size_t at = xml.find(none); at != std::string::npos; at = xml.find(none, at + 1))
    xml.replace(at, none.size(), clocks);
  return xml;
}

void NvidiaSmiXml(benchmark::State& state) {
  const auto lab = Lab(1);
  const Reading reading =
      Of(WithClocks(Print(lab, lab.cluster.nodes[0], "nvidia-smi", {"-q", "-x"})));
  for (auto _ : state) benchmark::DoNotOptimize(muster::nvidia_smi::ParseQuery(reading));
  Rate(state, reading.text.size());
}
BENCHMARK(NvidiaSmiXml);

void NvidiaSmiXmlShort(benchmark::State& state) {
  const auto lab = Lab(1);
  const Reading reading = Of(Print(lab, lab.cluster.nodes[0], "nvidia-smi", {"-q", "-x"}));
  for (auto _ : state) benchmark::DoNotOptimize(muster::nvidia_smi::ParseQuery(reading));
  Rate(state, reading.text.size());
}
BENCHMARK(NvidiaSmiXmlShort);

void DcgmJson(benchmark::State& state) {
  const auto lab = Lab(1);
  const Reading reading = Of(Print(lab, lab.cluster.nodes[0], "dcgmi", {"diag", "-r", "3", "-j"}));
  for (auto _ : state) benchmark::DoNotOptimize(muster::dcgm::ParseDiag(reading));
  Rate(state, reading.text.size());
}
BENCHMARK(DcgmJson);

void KernelLog(benchmark::State& state) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text +=
        fmt::format("[{:>12.6f}] usb 1-{}: new high-speed USB device number {} using xhci_hcd\n",
                    i * 0.7, i % 8, i);
  for (auto _ : state) benchmark::DoNotOptimize(muster::kernel_log::ParseKernelLog(text));
  Rate(state, text.size());
}
BENCHMARK(KernelLog);

void LabRendersAndProbesRead1024Nodes(benchmark::State& state) {
  const auto lab = Lab(1024);
  size_t bytes = 0, observations = 0;
  for (auto _ : state) {
    bytes = observations = 0;
    for (const auto& node : lab.cluster.nodes) {
      Reading xml = Of(Print(lab, node, "nvidia-smi", {"-q", "-x"})),
              diag = Of(Print(lab, node, "dcgmi", {"diag", "-r", "3", "-j"}));
      const std::string log = Print(lab, node, "dmesg", {});
      bytes += xml.text.size() + diag.text.size() + log.size();
      observations +=
          muster::nvidia_smi::ParseQuery(xml).size() + muster::dcgm::ParseDiag(diag).size();
      benchmark::DoNotOptimize(muster::kernel_log::ParseKernelLog(log));
    }
  }
  Rate(state, bytes);
  state.SetLabel(fmt::format("{} MB, {} observations", bytes / 1000000, observations));
}
BENCHMARK(LabRendersAndProbesRead1024Nodes)->Unit(benchmark::kMillisecond)->Iterations(2);

}  // namespace
