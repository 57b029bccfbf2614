#include "backend/lab/kubernetes/kubelets_main.h"

#include <cstdio>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "backend/lab/kubernetes/dns_server.h"
#include "backend/lab/kubernetes/kubelet_api.h"
#include "backend/lab/kubernetes/player.h"
#include "base/strings.h"
#include "kube/connection.h"

namespace muster::lab {

std::string FormatKubeletsSpec(const KubeletsSpec& spec) {
  return fmt::format("{} {} {} {} {}\n", spec.nodes, spec.gpus, spec.topology_policy,
                     spec.run_commands ? "run" : "play",
                     std::chrono::duration_cast<std::chrono::milliseconds>(spec.dns_delay).count());
}

Result<KubeletsSpec> ParseKubeletsSpec(std::string_view text) {
  const auto words = SplitBlank(Trim(text));
  KubeletsSpec spec;
  if (words.size() != 5)
    return Fail(
        Code::kInvalid,
        "expected five words: nodes, GPUs, topology policy, run or play, milliseconds until "
        "a name is published");
  TRY(const int64_t nodes, ParseInt(words[0]));
  TRY(const int64_t gpus, ParseInt(words[1]));
  if (nodes < 1 || nodes > 5000 || gpus < 0 || gpus > 16)
    return Fail(Code::kInvalid, "expected 1 to 5,000 nodes and 0 to 16 GPUs");
  spec.nodes = static_cast<int>(nodes), spec.gpus = static_cast<int>(gpus);
  spec.topology_policy = words[2];
  spec.run_commands = words[3] == "run";
  TRY(const int64_t delay_ms, ParseInt(words[4]));
  if (delay_ms < 0 || delay_ms > 600'000)
    return Fail(Code::kInvalid, "expected names to be published within ten minutes");
  spec.dns_delay = std::chrono::milliseconds(delay_ms);
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

namespace {

// A lab of its own: 127.64.0.10:53 and pods in 127.64/16, or, where another lab of this machine has
// that, 127.65 and so on. Nothing when no port 53 of loopback can be had.
std::unique_ptr<DnsServer> ServeNames(DnsZone& zone, Clock& clock, PodShell& shell,
                                      const std::function<void(const std::string&)>& say) {
  std::string why;
  for (int net = 64; net < 128; ++net) {
    const std::string address = fmt::format("127.{}.0.10", net);
    auto server = DnsServer::Start(zone, clock, address, 53);
    if (server.ok()) {
      shell.net = fmt::format("127.{}", net);
      shell.nameserver = address;
      say("names of the cluster are answered at " + address);
      return std::move(*server);
    }
    why = server.error().ToString();
  }
  say(why +
      "; pods resolve no names of the cluster. Port 53 needs root, a network namespace "
      "(unshare -rn) or net.ipv4.ip_unprivileged_port_start=53");
  return nullptr;
}

}  // namespace

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
  DnsZone zone(DnsTimes{.publication = spec->dns_delay});
  std::unique_ptr<DnsServer> names;
  if (spec->run_commands) {
    options.shell.enter = FindWayIn(world.processes, say);
    options.files = &world.files;
    if (!options.shell.enter.empty()) names = ServeNames(zone, world.clock, options.shell, say);
    if (names != nullptr) options.zone = &zone;
  }
  auto player = Player::Make(connection.client(), world.processes, options, say);
  if (!player.ok()) {
    say(player.error().ToString());
    return 2;
  }
  (*player)->Start();
  // Only pods that really run have a log to ask for.
  std::unique_ptr<KubeletApi> api;
  if (spec->run_commands) {
    auto started = KubeletApi::Start(world, *config, args[0], options.nodes.front());
    if (!started.ok()) {
      say(started.error().ToString());
      return 2;
    }
    api = std::move(*started);
  }
  for (bool said = false;;) {
    connection.client().Poll(std::chrono::milliseconds(spec->run_commands ? 50 : 1000));
    (*player)->Tick();
    if (!said && (*player)->ready()) {
      if (api != nullptr) {
        for (const PlayedNodeSpec& node : options.nodes) {
          const Status announced = api->Announce(connection.client(), node.name);
          if (!announced.ok()) say(announced.error().ToString());
        }
      }
      say(fmt::format("{} nodes are played", spec->nodes));
      said = true;
    }
  }
}

}  // namespace muster::lab
