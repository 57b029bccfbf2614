#include "backend/lab/lab_tool.h"

#include <cstdio>
#include <cstdlib>

#include "backend/lab/lab_hosts.h"

namespace muster::lab {

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<CommandResult> RunTool(std::span<const std::string> args, World& world) {
  const std::string folder = Variable("MUSTER_LAB"), node = Variable("MUSTER_NODE");
  if (folder.empty() || node.empty() || args.empty())
    return Fail(Code::kInvalid, "MUSTER_LAB, MUSTER_NODE and a tool are needed");
  TRY(LabState state, LoadLab(world.files, folder));
  LabHosts hosts(std::move(state), world);
  TRY(const HostPorts ports, hosts.At(node));
  Command command;
  command.argv.assign(args.begin(), args.end());
  return ports.world.processes.Run(command);
}

}  // namespace

int LabToolMain(std::span<const std::string> args, World& world) {
  const auto ran = RunTool(args, world);
  if (!ran.ok()) {
    std::fprintf(stderr, "%s\n", ran.error().ToString().c_str());
    return ran.error().code == Code::kNotFound ? 127 : 64;
  }
  std::fwrite(ran->out.data(), 1, ran->out.size(), stdout);
  std::fwrite(ran->err.data(), 1, ran->err.size(), stderr);
  return ran->exit_code;
}

}  // namespace muster::lab
