#include "backend/lab/lab_jobs.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/lab/gang_label.h"
#include "backend/lab/nccl/sweep_args.h"
#include "backend/lab/nccl/tools.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"
#include "world/posix/free_port.h"

namespace muster::lab {

namespace {

constexpr Duration kPoll = std::chrono::milliseconds(5);

// Programs that the binary plays itself (hidden verb lab-rank).
bool IsOwnProgram(std::string_view program) {
  return program == "all_reduce_perf" || program == "muster-train" || program == "true";
}

bool NameIsSound(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) > ' ' && c != '/' && c != 0x7f;
         });
}

int UsableGpus(const LabState& state, const Node& node, TimePoint now) {
  int usable = 0;
  for (const Gpu& gpu : node.gpus) {
    const GpuTruth truth = GpuNow(state, node, gpu.index, now);
    if (truth.present && !truth.lost) ++usable;
  }
  const NodeTruth of_node = NodeNow(state, node, now);
  return of_node.module_built ? usable * of_node.advertised_per_gpu : 0;
}

std::string EnvOf(const GangSpec& spec, const std::string& name) {
  const auto it = spec.env.find(name);
  return it == spec.env.end() ? "" : it->second;
}

}  // namespace

struct LabJobs::Rank {
  int number = 0;
  std::string node;
  std::unique_ptr<Child> child;
  Duration started{}, ended{};
  std::optional<int> exit;
  bool timed_out = false;
};

LabJobs::LabJobs(LabState state, World base, LabJobsOptions options)
    : state_(std::move(state)), base_(base), options_(std::move(options)) {}

std::string LabJobs::LabelPath(const std::string& gang_name) const {
  return fmt::format("{}/gangs/{}.json", state_.folder, gang_name);
}

Status LabJobs::CheckPlacement(const GangSpec& spec) const {
  const auto refuse = [&](std::string why) -> Status {
    return Fail(Code::kRefused,
                fmt::format("gang {}: {}; nothing was started", Printable(spec.name), why));
  };
  if (!NameIsSound(spec.name))
    return Fail(Code::kInvalid, "a gang needs a name without blanks or '/'");
  if (spec.argv.empty() || spec.argv[0].empty())
    return Fail(Code::kInvalid, "a gang needs a command");
  if (spec.nodes.empty() || spec.ranks_per_node < 1 || spec.gpus_per_rank < 0) {
    return Fail(Code::kInvalid,
                "a gang needs nodes, at least one rank on each, and no negative GPUs");
  }
  std::set<std::string_view> seen;
  const TimePoint now = base_.clock.Now();
  for (const std::string& name : spec.nodes) {
    const Node* node = state_.cluster.FindNode(name);
    if (node == nullptr) return refuse(fmt::format("there is no node {}", Printable(name)));
    if (!seen.insert(name).second) return refuse(fmt::format("node {} is named twice", name));
    if (!NodeNow(state_, *node, now).reachable)
      return refuse(fmt::format("node {} does not answer", name));
    const int wanted = spec.ranks_per_node * spec.gpus_per_rank,
              usable = UsableGpus(state_, *node, now);
    if (wanted > usable) {
      return refuse(fmt::format("node {} offers {} GPUs that answer, the gang asks for {} there",
                                name, usable, wanted));
    }
  }
  return {};
}

bool LabJobs::NeverStarts(const GangSpec& spec, const std::string& node) const {
  // The training image is what does not come up there; plain programs do.
  const bool plain = spec.argv[0] == "true" || spec.argv[0] == "all_reduce_perf";
  return !plain && state_.Has("rank_never_starts", NodeSubject(node));
}

Result<std::vector<Command>> LabJobs::Commands(const GangSpec& spec) const {
  TRY(const int port, FreeLoopbackPort());
  const int world = static_cast<int>(spec.nodes.size()) * spec.ranks_per_node;
  Command common;
  common.argv = spec.argv;
  if (!options_.self_binary.empty() && IsOwnProgram(spec.argv[0])) {
    common.argv.insert(common.argv.begin(), {options_.self_binary, "lab-rank"});
  }
  common.env = spec.env;
  common.env["WORLD_SIZE"] = std::to_string(world);
  common.env["LOCAL_WORLD_SIZE"] = std::to_string(spec.ranks_per_node);
  common.env["MASTER_ADDR"] = "127.0.0.1";
  common.env["MASTER_PORT"] = std::to_string(port);
  common.env[std::string(kLabVariable)] = state_.folder;
  common.env[std::string(kGangVariable)] = spec.name;
  common.timeout = spec.timeout;
  std::vector<Command> commands;
  for (int rank = 0; rank < world; ++rank) {
    Command& command = commands.emplace_back(common);
    const int node_rank = rank / spec.ranks_per_node;
    command.env["RANK"] = std::to_string(rank);
    command.env["LOCAL_RANK"] = std::to_string(rank % spec.ranks_per_node);
    command.env["NODE_RANK"] = std::to_string(node_rank);
    command.env["MUSTER_NODE"] = spec.nodes[static_cast<size_t>(node_rank)];
  }
  return commands;
}

Result<std::vector<LabJobs::Rank>> LabJobs::StartAll(const GangSpec& spec, Duration began) {
  TRY(const std::vector<Command> commands, Commands(spec));
  std::vector<Rank> ranks;
  for (size_t r = 0; r < commands.size(); ++r) {
    const std::string& node = commands[r].env.at("MUSTER_NODE");
    if (NeverStarts(spec, node)) continue;
    auto child = base_.processes.Start(commands[r], "");
    if (!child.ok()) {
      // All or none: those that run are ended as `ranks` goes.
      return Fail(std::move(child.error())
                      .Context(fmt::format("starting rank {} of gang {}", r, spec.name)));
    }
    ranks.push_back({static_cast<int>(r),
                     node,
                     std::move(*child),
                     base_.clock.Monotonic() - began,
                     {},
                     std::nullopt,
                     false});
  }
  return ranks;
}

GangResult LabJobs::Watch(const GangSpec& spec, std::vector<Rank> ranks, Duration began) {
  Duration deadline = began + spec.timeout;
  bool failed = false;
  for (size_t running = ranks.size(); running > 0;) {
    const Duration now = base_.clock.Monotonic();
    for (Rank& rank : ranks) {
      if (rank.exit || !(rank.exit = rank.child->Poll())) continue;
      rank.ended = now;
      --running;
      if (*rank.exit != 0 && !failed) {
        failed = true;
        deadline = std::min(deadline, now + options_.grace);
      }
    }
    if (running == 0) break;
    if (now >= deadline) {
      for (Rank& rank : ranks) {
        if (rank.exit) continue;
        // Ended for another's failure is no time-out of the gang.
        rank.timed_out = now >= began + spec.timeout;
        rank.child->Kill();
      }
      for (Rank& rank : ranks) {
        if (rank.exit) continue;
        rank.exit = rank.child->Wait(std::chrono::seconds(5)).value_or(137);
        rank.ended = base_.clock.Monotonic();
      }
      break;
    }
    base_.clock.SleepFor(kPoll);
  }
  GangResult result;
  result.all_started = ranks.size() == spec.nodes.size() * static_cast<size_t>(spec.ranks_per_node);
  for (Rank& rank : ranks) {
    RankResult& r = result.ranks.emplace_back();
    r.rank = rank.number;
    r.node = rank.node;
    r.started_after = rank.started;
    r.result.exit_code = *rank.exit;
    r.result.timed_out = rank.timed_out;
    r.result.out = rank.child->Output();
    r.result.took = rank.ended - began - rank.started;
  }
  result.took = base_.clock.Monotonic() - began;
  return result;
}

Result<GangResult> LabJobs::Model(const GangSpec& spec) const {
  const std::span<const std::string> args(spec.argv.data() + 1, spec.argv.size() - 1);
  TRY(SweepArgs sweep, ParseSweepArgs(args));
  const std::string debug = ToLower(EnvOf(spec, "NCCL_DEBUG"));
  const NcclEnv env{EnvOf(spec, "NCCL_ALGO"), EnvOf(spec, "NCCL_IB_HCA"),
                    debug == "info" || debug == "trace"};
  TRY(const Job job,
      MakeJob(state_, spec.nodes, spec.ranks_per_node, std::move(sweep), env, base_.clock.Now()));
  GangResult result;
  result.all_started = true;
  for (int rank = 0; rank < job.world(); ++rank) {
    result.ranks.push_back({rank, job.NodeOf(rank).name, {}, ModelledRank(job, rank)});
  }
  return result;
}

// Who runs the gang, as the label says; empty without a label.
std::string LabJobs::Runner(const std::string& gang_name) {
  const auto label = base_.files.Read(LabelPath(gang_name), 16u << 20);
  if (!label.ok()) return "";
  const auto json = nlohmann::json::parse(*label, nullptr, false);
  if (!json.is_object() || !json.contains("runner") || !json["runner"].is_string()) return "?";
  return json["runner"].get<std::string>();
}

Status LabJobs::WriteLabel(const GangSpec& spec, int world) {
  TRY(const std::vector<LiveProcess> before,
      ProcessesOfGang(base_.files, state_.folder, spec.name));
  if (!before.empty()) {
    return Fail(Code::kConflict, fmt::format("gang {} still runs: process {} ({})", spec.name,
                                             before[0].pid, before[0].command));
  }
  if (const std::string runner = Runner(spec.name); StillLives(base_.files, runner)) {
    return Fail(Code::kConflict,
                fmt::format("gang {} is being run by process {}", spec.name, runner));
  }
  TRY_VOID(base_.files.MakeFolders(state_.folder + "/gangs"));
  const nlohmann::json text = {{"gang", spec.name},
                               {"nodes", spec.nodes},
                               {"ranks", world},
                               {"runner", ProcessMark(base_.files, "self")},
                               {"started", FormatTime(base_.clock.Now())}};
  return base_.files.WriteAtomic(LabelPath(spec.name), text.dump() + "\n");
}

Result<GangResult> LabJobs::RunGang(const GangSpec& spec) {
  TRY_VOID(CheckPlacement(spec));
  const int world = static_cast<int>(spec.nodes.size()) * spec.ranks_per_node;
  if (spec.argv[0] == "all_reduce_perf" && world > options_.most_real_ranks) return Model(spec);
  const bool labelled = !state_.folder.empty();
  if (labelled) TRY_VOID(WriteLabel(spec, world));
  const Duration began = base_.clock.Monotonic();
  Result<GangResult> result = [&]() -> Result<GangResult> {
    TRY(std::vector<Rank> ranks, StartAll(spec, began));
    return Watch(spec, std::move(ranks), began);
  }();
  // Every rank was waited for or killed; the label goes last.
  if (labelled) TRY_VOID(base_.files.Remove(LabelPath(spec.name)));
  return result;
}

Result<std::vector<std::string>> LabJobs::Leftovers(const std::string& gang_name) {
  TRY(const std::vector<LiveProcess> live, ProcessesOfGang(base_.files, state_.folder, gang_name));
  std::vector<std::string> left;
  for (const LiveProcess& process : live)
    left.push_back(fmt::format("process {} ({})", process.pid, process.command));
  if (state_.folder.empty() || !NameIsSound(gang_name)) return left;
  const std::string runner = Runner(gang_name);
  if (runner.empty()) return left;
  if (live.empty() && !StillLives(base_.files, runner)) {
    // Whoever ran it was killed. Its ranks went with it, as /proc has just shown, so the label has
    // done its work.
    TRY_VOID(base_.files.Remove(LabelPath(gang_name)));
  } else {
    left.push_back("label " + LabelPath(gang_name));
  }
  return left;
}

}  // namespace muster::lab
