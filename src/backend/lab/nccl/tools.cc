#include "backend/lab/nccl/tools.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace muster::lab {
namespace {

constexpr std::string_view kNothingMoved =
    "times and results come from the lab's modelled fabric, no data was moved";
constexpr int kFirstPid = 40000;  // as the device list says
constexpr int kToolBadUse = 1, kToolNotImplemented = 5;

CommandResult RunAllReduce(const ToolCall& call) {
  if (call.node == nullptr)
    return Complained("all_reduce_perf: no CUDA-capable device is detected\n", 2);
  const auto sweep = ParseSweepArgs(call.args);
  if (!sweep.ok()) return Complained(sweep.error().message + "\n", kToolBadUse);
  const auto job = MakeJob(call.state, {call.node->name}, sweep->gpus, *sweep, {}, call.now);
  if (!job.ok()) return Complained(job.error().message + "\n", kToolNotImplemented);
  std::string text;
  int exit_code = 0;
  for (int rank = 0; rank < job->world(); ++rank) {
    const CommandResult one = ModelledRank(*job, rank);
    text += one.out;
    exit_code = std::max(exit_code, one.exit_code);
  }
  return Printed(std::move(text), exit_code);
}

constexpr std::array kTools = {Tool{"all_reduce_perf", RunAllReduce}};

}  // namespace

std::span<const Tool> NcclTools() { return kTools; }

CommandResult ModelledRank(const Job& job, int rank) {
  std::string text;
  if (rank == 0) text += TableHead(job, kNothingMoved);
  text += RankLog(job, rank, kFirstPid + rank);
  if (rank != 0) return Printed(std::move(text), ModelledWrong(job) > 0 ? kToolBadUse : 0);
  text += TableColumns();
  const int64_t wrong = job.sweep.check ? ModelledWrong(job) : 0;
  int64_t total = 0;
  for (uint64_t bytes : job.sweep.Sizes()) {
    const int64_t of_row =
        std::min(wrong, job.world() * static_cast<int64_t>(bytes / sizeof(float)));
    text += TuningLine(job, kFirstPid, bytes) + TableRow(job, bytes, {job.sweep.check, of_row});
    total += 2 * of_row;
  }
  text += TableFoot(job, total);
  return Printed(std::move(text), total > 0 ? kToolBadUse : 0);
}

CommandResult ModelledAllReduce(const LabState& state, const std::vector<std::string>& nodes,
                                int ranks_per_node, TimePoint now,
                                std::span<const std::string> args, const NcclEnv& env) {
  const auto sweep = ParseSweepArgs(args);
  if (!sweep.ok()) return Complained(sweep.error().message + "\n", kToolBadUse);
  const auto job = MakeJob(state, nodes, ranks_per_node, *sweep, env, now);
  if (!job.ok()) return Complained(job.error().message + "\n", kToolNotImplemented);
  CommandResult all;
  for (int rank = 0; rank < job->world(); ++rank) {
    const CommandResult one = ModelledRank(*job, rank);
    all.out += one.out;
    all.exit_code = std::max(all.exit_code, one.exit_code);
  }
  return all;
}

CommandResult ModelledAllReduce(const LabState& state, const std::vector<std::string>& nodes,
                                int ranks_per_node, TimePoint now) {
  const std::vector<std::string> args = {"-b", "8", "-e", "8G", "-f", "2", "-g", "1", "-c", "1"};
  return ModelledAllReduce(state, nodes, ranks_per_node, now, args, {"Ring", "", true});
}

}  // namespace muster::lab
