#include "app/collective_sweep.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster {

namespace {

// "ops@gpu-01.example:22" is gpu-01.example to mpirun, whose own ssh knows user and port.
std::string MpiHost(const Site& site, const std::string& name) {
  const Node* node = site.cluster.FindNode(name);
  std::string address = node == nullptr || node->address.empty() ? name : node->address;
  address = address.substr(address.find('@') == std::string::npos ? 0 : address.find('@') + 1);
  return std::count(address.begin(), address.end(), ':') == 1 ? address.substr(0, address.find(':'))
                                                              : address;
}

// nccl-tests find each other by MPI or not at all: in one process on one host, by mpirun over
// several; a lab's ranks meet by MASTER_ADDR.
GangSpec GangOf(const SweepContext& context, CollectiveSweep sweep) {
  const CollectiveTarget& target = context.site.collective;
  GangSpec gang;
  gang.name = fmt::format("{}-nccl-{}", context.run, sweep.subject.id);
  std::replace(gang.name.begin(), gang.name.end(), '/', '-');
  gang.nodes = sweep.nodes;
  gang.ranks_per_node = sweep.ranks_per_node;
  gang.env = AllReduceEnv(sweep.spec);
  gang.timeout = sweep.timeout;
  // It is the nodes that are measured, not who places: rails and pairs name theirs.
  gang.pod_a_node = gang.exactly_there = true;
  gang.image = target.image;
  if (context.site.kind == SiteKind::kLab) {
    gang.argv = AllReduceArgv(sweep.spec);
    return gang;
  }
  if (!target.command.empty()) {
    const std::vector<std::string> options = AllReduceArgv(sweep.spec);
    gang.argv = target.command;
    gang.argv.insert(gang.argv.end(), options.begin() + 1, options.end());
    return gang;
  }
  sweep.spec.program = target.program;
  gang.gpus_per_rank = sweep.ranks_per_node;  // one process of ours a host
  gang.ranks_per_node = 1;
  if (sweep.nodes.size() == 1) {
    sweep.spec.gpus_per_rank = sweep.ranks_per_node;
    gang.argv = AllReduceArgv(sweep.spec);
    return gang;
  }
  gang.nodes = {sweep.nodes.front()};
  std::vector<std::string> hosts;
  for (const std::string& name : sweep.nodes) hosts.push_back(MpiHost(context.site, name));
  gang.argv =
      MpirunArgv(target.mpirun, hosts, sweep.ranks_per_node, gang.env, AllReduceArgv(sweep.spec));
  return gang;
}

// Why a sweep is not even started; empty = it is.
std::string WhyNot(const Site& site, const CollectiveSweep& sweep) {
  if (site.kind == SiteKind::kLab || sweep.nodes.size() == 1 || site.collective.mpi) return "";
  if (site.kind == SiteKind::kKubernetes) {
    return site.collective.command.empty()
               ? "over several pods ranks meet by MASTER_ADDR and MASTER_PORT: name in the site "
                 "file what each of them runs, collective: {command: [...]}"
               : "";
  }
  return "over several hosts all_reduce_perf meets by MPI: name nccl-tests built with MPI=1 in "
         "the site file, collective: {program: PATH, mpi: true}";
}

}  // namespace

int RanksPerNode(const Site& site, const std::vector<std::string>& nodes) {
  size_t least = 64;
  for (const std::string& name : nodes) {
    if (const Node* node = site.cluster.FindNode(name))
      least = std::min(least, std::max<size_t>(1, node->gpus.size()));
  }
  return static_cast<int>(least);
}

std::vector<Reading> RunSweep(const SweepContext& context, const CollectiveSweep& sweep) {
  Reading table;
  table.probe = "nccl_tests.all_reduce";
  table.host = sweep.subject.id;
  table.command = "(not started)";
  table.at = context.clock.Now();
  table.origin = context.hosts.origin();
  if (const std::string why = WhyNot(context.site, sweep); !why.empty()) {
    table.fault = Unobserved{UnknownReason::kNotObserved, why};
    Reading log = table;
    log.probe = "nccl_log.transport";
    return {std::move(table), std::move(log)};
  }
  const GangSpec gang = GangOf(context, sweep);
  const auto result = context.jobs.RunGang(gang);
  table.command = fmt::format(
      "{} ranks on {} nodes: {}", sweep.nodes.size() * static_cast<size_t>(sweep.ranks_per_node),
      sweep.nodes.size(), Command{.argv = gang.argv, .env = gang.env}.ToString());
  table.at = context.clock.Now();
  Reading log = table;
  log.probe = "nccl_log.transport";
  if (!result.ok()) {
    table.fault = Unobserved{result.error().code == Code::kTimeout ? UnknownReason::kToolFault
                                                                   : UnknownReason::kNotObserved,
                             result.error().ToString()};
    log.fault = table.fault;
    return {std::move(table), std::move(log)};
  }
  table.took = log.took = result->took;
  for (const RankResult& rank : result->ranks) {
    if (rank.rank == 0) table.text = rank.result.out;
    if (rank.result.exit_code != 0) table.exit_code = log.exit_code = rank.result.exit_code;
    log.text += rank.result.out;
    if (!log.text.empty() && log.text.back() != '\n') log.text += '\n';
    log.stderr_text += rank.result.err;
    if (rank.result.timed_out && !table.fault) {
      table.fault =
          Unobserved{UnknownReason::kToolFault,
                     fmt::format("rank {} on {} did not end in time", rank.rank, rank.node)};
    }
  }
  if (!result->all_started) {
    table.fault = Unobserved{UnknownReason::kNotObserved, "not every rank started"};
    log.fault = table.fault;
  }
  return {std::move(table), std::move(log)};
}

}  // namespace muster
