// The programs and files that tell which software a lab node runs. Forms: dpkg-query of dpkg 1.21,
// os-release(5), ofed_info -s of MLNX_OFED 24.10, nvidia-ctk 1.18, containerd 1.7.
#include <array>

#include <fmt/format.h>

#include "backend/lab/tool_table.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

struct Package {
  std::string name, version;
};

// Sorted by name, as dpkg-query lists them.
std::vector<Package> PackagesOf(const LabState& state, const Node& node, TimePoint now) {
  const NodeTruth truth = NodeNow(state, node, now);
  std::vector<Package> packages = {{"containerd.io", truth.containerd_version + "-1"}};
  const auto add = [&](std::string name, std::string version) {
    packages.push_back({std::move(name), std::move(version)});
  };
  if (!node.gpus.empty()) {
    const std::string branch = truth.driver_version.substr(0, truth.driver_version.find('.'));
    add("datacenter-gpu-manager-4-core", "1:" + truth.dcgm_version);
    add("libnccl2", "2.26.5-1+cuda12.8");
    add(fmt::format("nvidia-driver-{}-open", branch), truth.driver_version + "-0ubuntu1");
    add(fmt::format("nvidia-fabricmanager-{}", branch), truth.fabric_manager_version + "-1");
    add("nvidia-container-toolkit", truth.container_toolkit_version + "-1");
  }
  if (!node.nics.empty()) add("rdma-core", "2410mlnx54-1.2410068");
  std::sort(packages.begin(), packages.end(),
            [](const Package& a, const Package& b) { return a.name < b.name; });
  return packages;
}

bool Matches(std::string_view pattern, std::string_view name) {
  return EndsWith(pattern, "*") ? StartsWith(name, pattern.substr(0, pattern.size() - 1))
                                : pattern == name;
}

// -W [-f FORMAT] PATTERN...: the one format that probes ask for; exit 1 when a name fits nothing.
CommandResult DpkgQuery(const ToolCall& call) {
  std::vector<std::string_view> patterns;
  bool asked_status = false;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i] == "-W") continue;
    if (call.args[i] == "-f" && i + 1 < call.args.size()) {
      asked_status = StartsWith(call.args[++i], "${db:Status-Status} ");
      continue;
    }
    patterns.push_back(call.args[i]);
  }
  CommandResult result;
  for (const Package& package : PackagesOf(call.state, *call.node, call.now)) {
    const bool wanted = std::any_of(patterns.begin(), patterns.end(),
                                    [&](std::string_view p) { return Matches(p, package.name); });
    if (!wanted && !patterns.empty()) continue;
    result.out += asked_status ? fmt::format("installed {} {}\n", package.name, package.version)
                               : fmt::format("{}\t{}\n", package.name, package.version);
  }
  for (const std::string_view pattern : patterns) {
    const auto packages = PackagesOf(call.state, *call.node, call.now);
    if (std::any_of(packages.begin(), packages.end(),
                    [&](const Package& p) { return Matches(pattern, p.name); }))
      continue;
    result.err += fmt::format("dpkg-query: no packages found matching {}\n", pattern);
    result.exit_code = 1;
  }
  return result;
}

CommandResult OfedInfo(const ToolCall& call) {
  if (call.node->nics.empty()) return Complained("ofed_info: command not found\n", 127);
  return Printed(NodeNow(call.state, *call.node, call.now).ofed_version + ":\n");
}

CommandResult NvidiaCtk(const ToolCall& call) {
  if (call.node->gpus.empty()) return Complained("nvidia-ctk: command not found\n", 127);
  return Printed(fmt::format("NVIDIA Container Toolkit CLI version {}\n",
                             NodeNow(call.state, *call.node, call.now).container_toolkit_version));
}

Result<std::string> ReadOsRelease(const LabState& state, const Node& node, std::string_view,
                                  TimePoint now) {
  return fmt::format(
      "PRETTY_NAME=\"Ubuntu {} LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\n",
      NodeNow(state, node, now).os_version);
}

Result<std::vector<std::string>> ListOsRelease(const LabState&, const Node&, std::string_view path,
                                               TimePoint) {
  return Fail(Code::kNotFound, fmt::format("{}: not a folder of the lab", path));
}

}  // namespace

std::span<const Tool> SoftwareTools() {
  static constexpr Tool kTools[] = {
      {"dpkg-query", DpkgQuery}, {"ofed_info", OfedInfo}, {"nvidia-ctk", NvidiaCtk}};
  return kTools;
}

std::span<const LabFile> SoftwareFiles() {
  static constexpr LabFile kFiles[] = {{"/etc/os-release", ReadOsRelease, ListOsRelease}};
  return kFiles;
}

}  // namespace muster::lab
