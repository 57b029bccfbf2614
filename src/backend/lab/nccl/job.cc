#include "backend/lab/nccl/job.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

double Factor(int world) { return world < 2 ? 0 : 2.0 * (world - 1) / world; }

// A field of nccl-tests: as many decimals as the width leaves.
std::string FloatText(double value, int width) {
  int power = 0;
  for (double limit = 1; value >= limit && power < 19; limit *= 10) ++power;
  if (power < width - 2) return fmt::format("{:{}.2f}", value, width);
  if (power < width - 1) return fmt::format("{:{}.1f}", value, width);
  if (power < width + 1) return fmt::format("{:{}.0f}", value, width);
  return fmt::format("{:{}.1e}", value, width);
}

double LargeBusBandwidth(const Job& job, uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (job.nodes.size() == 1)
    return BusBandwidth(*job.state, job.nodes, job.ranks_per_node, size, job.now);
  const double ring = RingBandwidth(*job.state, job.nodes, job.rails, size, job.now);
  if (job.nodes.size() != 2 || AlgorithmFor(job, bytes) != "TREE") return ring;
  // Two nodes on a tree: NVIDIA/nccl-tests issue 309 saw 470 to 480 over 400 GB/s of adapters.
  // NVLink is the limit then.
  double inside = 1e9;
  for (const std::string& node : job.nodes) {
    if (job.ranks_per_node > 1) {
      inside =
          std::min(inside, BusBandwidth(*job.state, {node}, job.ranks_per_node, size, job.now));
    }
  }
  return std::min(Factor(job.world()) * ring, inside);
}

}  // namespace

bool HcaWanted(std::string_view filter, std::string_view device) {
  if (filter.empty()) return true;
  const bool exclude = filter.starts_with('^');
  if (exclude) filter.remove_prefix(1);
  const bool exact = filter.starts_with('=');
  if (exact) filter.remove_prefix(1);
  bool named = false;
  for (std::string_view entry : Split(filter, ',')) {
    const std::string_view name = Trim(entry.substr(0, entry.find(':')));
    if (!name.empty()) named = named || (exact ? device == name : device.starts_with(name));
  }
  return named != exclude;
}

const Node& Job::NodeOf(int rank) const {
  return *state->cluster.FindNode(nodes[static_cast<size_t>(rank / ranks_per_node)]);
}

Result<Job> MakeJob(const LabState& state, std::vector<std::string> nodes, int ranks_per_node,
                    SweepArgs sweep, NcclEnv env, TimePoint now) {
  if (nodes.empty() || ranks_per_node < 1)
    return Fail(Code::kInvalid, "an all-reduce needs a rank");
  for (const std::string& name : nodes) {
    const Node* node = state.cluster.FindNode(name);
    if (node == nullptr) return Fail(Code::kInvalid, fmt::format("the lab has no node {}", name));
    int usable = 0;
    for (const Gpu& gpu : node->gpus) {
      const GpuTruth truth = GpuNow(state, *node, gpu.index, now);
      usable += truth.present && !truth.lost ? 1 : 0;
    }
    if (!node->gpus.empty() && usable < ranks_per_node) {
      return Fail(Code::kInvalid,
                  fmt::format("Invalid number of GPUs: {} requested but only {} were found.",
                              ranks_per_node, usable));
    }
  }
  Job job{&state, std::move(nodes), ranks_per_node, {}, sweep, std::move(env), now};
  if (job.nodes.size() > 1) {
    // One rail a rank at most: a ring of one GPU a node has one adapter to cross.
    const int most = std::min(ranks_per_node, state.cluster.RailCount());
    const Node& first = *state.cluster.FindNode(job.nodes.front());
    for (const Nic& nic : first.nics) {
      if (HcaWanted(job.env.hca, nic.device)) job.rails.push_back(nic.rail);
    }
    std::sort(job.rails.begin(), job.rails.end());
    if (static_cast<int>(job.rails.size()) > most) job.rails.resize(static_cast<size_t>(most));
  }
  return job;
}

std::string_view AlgorithmFor(const Job& job, uint64_t bytes) {
  if (EqualsIgnoreCase(job.env.algo, "ring")) return "RING";
  if (EqualsIgnoreCase(job.env.algo, "tree")) return "TREE";
  return bytes < (1u << 20) || job.nodes.size() == 2 ? "TREE" : "RING";
}

double ModelledBusBandwidth(const Job& job, uint64_t bytes) {
  if (job.world() < 2) return 0;
  // The fabric's curve is fitted to large messages. Below this size the time falls in a straight
  // line to the latency of the collective: some 30 us on one node (superbenchmark's A100 log), more
  // with every doubling of the ranks.
  constexpr uint64_t kLarge = 32u << 20;
  if (bytes >= kLarge) return LargeBusBandwidth(job, bytes);
  const double factor = Factor(job.world());
  const double large = LargeBusBandwidth(job, kLarge);
  if (large <= 0) return 0;
  const double large_us = factor * kLarge / large / 1e3;
  const double latency_us = std::min(20 + 4 * std::log2(job.world()), large_us / 2);
  const auto size = static_cast<double>(bytes);
  return factor * size / (latency_us + (large_us - latency_us) * size / kLarge) / 1e3;
}

int64_t ModelledWrong(const Job& job) {
  int64_t wrong = 0;
  for (const std::string& node : job.nodes) {
    if (const Fault* fault = job.state->Find("wrong_result", NodeSubject(node))) {
      wrong = std::max(wrong, static_cast<int64_t>(Setting(*fault, "count")));
    }
  }
  return wrong * job.world();
}

std::string TableHead(const Job& job, std::string_view note) {
  const SweepArgs& sweep = job.sweep;
  std::string text = fmt::format(
      "# nccl-tests version 2.17.4 nccl-headers=22602 nccl-library=22602\n"
      "# Collective test starting: all_reduce_perf\n"
      "# rehearsed: {}\n"
      "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: 1 validation: {} graph: 0\n"
      "#\n# Using devices\n",
      note, sweep.gpus, sweep.min_bytes, sweep.max_bytes, sweep.step,
      sweep.by_factor ? "factor" : "bytes", sweep.warmup, sweep.iterations, sweep.check ? 1 : 0);
  for (int rank = 0; rank < job.world(); ++rank) {
    const Node& node = job.NodeOf(rank);
    const int device = rank % job.ranks_per_node;
    std::string pci = "0000:00:00", model = "CPU";
    if (static_cast<size_t>(device) < node.gpus.size()) {
      const GpuTruth gpu =
          GpuNow(*job.state, node, node.gpus[static_cast<size_t>(device)].index, job.now);
      model = gpu.model;
      // "00000000:1B:00.0" is printed as "0000:1b:00".
      if (gpu.pci_bus_id.size() > 14) pci = ToLower(gpu.pci_bus_id.substr(4, 10));
    }
    text += fmt::format("#  Rank {:2d} Group {:2d} Pid {:6d} on {:>10s} device {:2d} [{}] {}\n",
                        rank, 0, 40000 + rank, node.name, device, pci, model);
  }
  return text;
}

std::string TableColumns() {
  return "#\n"
         "#                                                              out-of-place              "
         "         in-place          \n"
         "#       size         count      type   redop    root     time   algbw   busbw  #wrong    "
         " time   algbw   busbw  "
         "#wrong \n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
         " (us)  (GB/s)  (GB/s)         \n";
}

std::string TableRow(const Job& job, uint64_t bytes, RowWrong wrong) {
  const double busbw = ModelledBusBandwidth(job, bytes);
  const double factor = Factor(job.world());
  // One rank copies inside its own memory: no bus bandwidth, a time all the same.
  constexpr double kCopy = 1200;
  const double algbw = factor > 0 ? busbw / factor : kCopy;
  const double time_us = algbw > 0 ? static_cast<double>(bytes) / algbw / 1e3 : 0;
  const std::string half = fmt::format(
      "  {}  {}  {}  {}", FloatText(time_us, 7), FloatText(algbw, 6), FloatText(busbw, 6),
      wrong.checked ? fmt::format("{:6g}", static_cast<double>(wrong.count)) : "   N/A");
  return fmt::format("{:12d}  {:12d}  {:>8}  {:>6}  {:>6}{}{}\n", bytes, bytes / 4, "float", "sum",
                     -1, half, half);
}

std::string TableFoot(const Job& job, int64_t wrong) {
  double sum = 0;
  const auto sizes = job.sweep.Sizes();
  for (uint64_t bytes : sizes) sum += ModelledBusBandwidth(job, bytes);
  return fmt::format(
      "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} \n#\n# Collective test "
      "concluded: all_reduce_perf\n#\n",
      wrong, wrong == 0 ? "OK" : "FAILED",
      sizes.empty() ? 0 : sum / static_cast<double>(sizes.size()));
}

}  // namespace muster::lab
