#include "backend/lab/kubernetes/kubelets_main.h"

#include <cstdio>

#include <fmt/format.h>

#include "backend/lab/kubernetes/player.h"
#include "base/strings.h"
#include "kube/connection.h"

namespace muster::lab {

std::string FormatKubeletsSpec(const KubeletsSpec& spec) {
  return fmt::format("{} {} {} {}\n", spec.nodes, spec.gpus, spec.topology_policy,
                     spec.run_commands ? "run" : "play");
}

Result<KubeletsSpec> ParseKubeletsSpec(std::string_view text) {
  const auto words = SplitBlank(Trim(text));
  KubeletsSpec spec;
  if (words.size() != 4)
    return Fail(Code::kInvalid, "expected four words: nodes, GPUs, topology policy, run or play");
  TRY(const int64_t nodes, ParseInt(words[0]));
  TRY(const int64_t gpus, ParseInt(words[1]));
  if (nodes < 1 || nodes > 5000 || gpus < 0 || gpus > 16)
    return Fail(Code::kInvalid, "expected 1 to 5,000 nodes and 0 to 16 GPUs");
  spec.nodes = static_cast<int>(nodes), spec.gpus = static_cast<int>(gpus);
  spec.topology_policy = words[2];
  spec.run_commands = words[3] == "run";
  return spec;
}

std::vector<PlayedNodeSpec> NodesOf(const KubeletsSpec& spec) {
  std::vector<PlayedNodeSpec> nodes;
  for (int i = 0; i < spec.nodes; ++i) {
    PlayedNodeSpec node;
    node.name = fmt::format("node{:03}", i);
    node.gpus = spec.gpus;
    node.topology_policy = spec.topology_policy;
    node.labels["muster.dev/leaf"] = fmt::format("leaf{:02}", i / 8);
    node.labels["muster.dev/spine"] = fmt::format("spine{:02}", i / 32);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

int KubeletsMain(const std::vector<std::string>& args, World& world) {
  if (args.size() != 1) return 2;
  const auto say = [](const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  const auto text = world.files.Read(args[0] + "/nodes");
  const auto spec = text.ok() ? ParseKubeletsSpec(*text) : Fail(text.error());
  const auto config = kube::ReadKubeconfig(world.files, {args[0] + "/kubeconfig"});
  if (!spec.ok() || !config.ok()) {
    say((!spec.ok() ? spec.error() : config.error()).ToString());
    return 2;
  }
  kube::Connection connection(world, *config);
  PlayerOptions options;
  options.nodes = NodesOf(*spec);
  options.run_commands = spec->run_commands;
  options.log_folder = args[0] + "/pods";
  auto player = Player::Make(connection.client(), world.processes, options, say);
  if (!player.ok()) {
    say(player.error().ToString());
    return 2;
  }
  (*player)->Start();
  for (bool said = false;;) {
    connection.client().Poll(std::chrono::milliseconds(spec->run_commands ? 50 : 1000));
    (*player)->Tick();
    if (!said && (*player)->ready()) {
      say(fmt::format("{} nodes are played", spec->nodes));
      said = true;
    }
  }
}

}  // namespace muster::lab
