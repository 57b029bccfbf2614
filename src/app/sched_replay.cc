#include "app/sched_replay.h"

#include <algorithm>

#include "sched/packing/openb.h"

namespace muster {

namespace {

void Summarise(ReplayReport& report) {
  const auto count = static_cast<double>(report.runs.size());
  size_t steps = report.runs[0].steps.size();
  for (const auto& run : report.runs) {
    steps = std::min(steps, run.steps.size());
    report.alloc_pct += run.alloc_pct / count;
    report.frag_pct += run.frag_pct / count;
  }
  for (size_t i = 0; i < steps; ++i) {
    const int load_pct = report.runs[0].steps[i].load_pct;
    if (load_pct % 5 != 0 && i + 1 != steps) continue;
    ReplayReport::Step step{load_pct, 0, report.runs[0].steps[i].frag_pct < 0 ? -1.0 : 0.0};
    for (const auto& run : report.runs) {
      step.alloc_pct += run.steps[i].alloc_pct / count;
      if (step.frag_pct >= 0) step.frag_pct += run.steps[i].frag_pct / count;
    }
    report.steps.push_back(step);
  }
}

}  // namespace

Result<ReplayReport> ReplayOpenb(Files& files, const ReplayRequest& request) {
  if (!(request.load > 0 && request.load <= 10))
    return Fail(Code::kInvalid, "--load: more than 0 and at most 10 was expected");
  if (request.seeds < 1 || request.seeds > 1000)
    return Fail(Code::kInvalid, "--seeds: 1 to 1000 was expected");
  TRY(const std::string nodes_text, files.Read(request.nodes_path));
  TRY(const packing::OpenbNodes nodes,
      packing::ParseOpenbNodes(nodes_text).Context("reading " + request.nodes_path));
  TRY(const std::string pods_text, files.Read(request.pods_path));
  TRY(const std::vector<packing::Demand> list,
      packing::ParseOpenbPods(pods_text, nodes.models).Context("reading " + request.pods_path));

  ReplayReport report;
  report.nodes = nodes.nodes.size();
  report.nodes_without_gpus = nodes.without_gpus;
  report.pods_in_list = list.size();
  for (const packing::Residual& node : nodes.nodes) report.gpus += node.gpus;
  for (int i = 0; i < request.seeds; ++i) {
    const uint64_t seed = request.seed + static_cast<uint64_t>(i);
    TRY(const std::vector<packing::Demand> pods,
        packing::DrawPods(list, report.gpus * packing::kWholeGpu, request.load, seed)
            .Context("reading " + request.pods_path));
    report.runs.push_back(
        packing::RunLoad(nodes.nodes, nodes.models.size(), pods, request.policy, seed));
  }
  Summarise(report);
  return report;
}

}  // namespace muster
