#include "measure/collective/sweep.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {
namespace {

// 8589934592 is "8G", as the program prints and people read it.
std::string SizeText(uint64_t bytes) {
  constexpr std::string_view kUnits = "KMG";
  for (size_t i = kUnits.size(); i-- > 0;) {
    const uint64_t unit = uint64_t{1} << (10 * (i + 1));
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, kUnits[i]);
  }
  return fmt::format("{}", bytes);
}

}  // namespace

SweepSpec ShortSweep(size_t nodes) {
  SweepSpec spec;
  spec.from_bytes = uint64_t{1} << 30;
  spec.to_bytes = uint64_t{4} << 30;
  spec.iterations = 10;
  spec.nodes = nodes;
  return spec;
}

std::vector<std::string> AllReduceArgv(const SweepSpec& spec) {
  std::vector<std::string> argv = {spec.program,
                                   "-b",
                                   SizeText(spec.from_bytes),
                                   "-e",
                                   SizeText(spec.to_bytes),
                                   "-f",
                                   fmt::format("{}", spec.factor),
                                   "-g",
                                   fmt::format("{}", spec.gpus_per_rank),
                                   "-c",
                                   "1"};
  if (spec.iterations > 0) {
    argv.emplace_back("-n");
    argv.push_back(fmt::format("{}", spec.iterations));
  }
  return argv;
}

std::map<std::string, std::string> AllReduceEnv(const SweepSpec& spec) {
  std::map<std::string, std::string> env = {
      {"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV,NET,GRAPH,TUNING"}};
  if (spec.nodes == 2) env["NCCL_ALGO"] = "Ring";
  // "=" makes the names exact; without it mlx5_1 also takes mlx5_10.
  if (!spec.adapters.empty()) env["NCCL_IB_HCA"] = "=" + Join(spec.adapters, ",");
  if (spec.never_tcp) env["NCCL_NET"] = "IB";
  return env;
}

std::vector<std::string> MpirunArgv(const std::vector<std::string>& mpirun,
                                    const std::vector<std::string>& hosts, int ranks_per_host,
                                    const std::map<std::string, std::string>& env,
                                    const std::vector<std::string>& program) {
  std::vector<std::string> slots;
  for (const std::string& host : hosts) slots.push_back(fmt::format("{}:{}", host, ranks_per_host));
  std::vector<std::string> argv = mpirun;
  argv.insert(argv.end(),
              {"-np", std::to_string(hosts.size() * static_cast<size_t>(ranks_per_host)), "--host",
               Join(slots, ","), "--map-by", fmt::format("ppr:{}:node", ranks_per_host)});
  for (const auto& [name, value] : env)
    argv.insert(argv.end(), {"-x", fmt::format("{}={}", name, value)});
  argv.insert(argv.end(), program.begin(), program.end());
  return argv;
}

}  // namespace muster
