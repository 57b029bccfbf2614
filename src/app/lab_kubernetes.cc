#include "app/lab_kubernetes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "backend/lab/kubernetes/control_plane.h"
#include "backend/lab/kubernetes/kubelets_main.h"
#include "base/strings.h"
#include "kube/connection.h"
#include "kube/core.h"
#include "kube/stream_reader.h"
#include "world/posix/free_port.h"

namespace muster {

namespace {

constexpr const char* kMarker = "muster-lab-kubernetes";
constexpr Duration kPatience = std::chrono::minutes(2);

std::string DefaultBinaries() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string named = variable("MUSTER_KUBERNETES_BIN"); !named.empty()) return named;
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") + "/.cache";
  return cache + "/muster/kubernetes/bin";
}

std::string Absolute(const std::string& folder) {
  std::error_code ignored;
  const auto path = std::filesystem::absolute(folder, ignored).lexically_normal().string();
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

Status NeedBinaries(World& world, const std::string& folder) {
  for (const char* name : {"etcd", "kube-apiserver", "kube-controller-manager"}) {
    if (world.files.Stat(folder + "/" + name).ok()) continue;
    return Fail(Code::kNotFound,
                fmt::format("{}/{} is missing: the control plane is built once from Go modules by "
                            "tests/kubernetes/build.sh of the source tree (Go 1.26, about ten "
                            "minutes); --binaries and MUSTER_KUBERNETES_BIN name another folder",
                            folder, name));
  }
  return {};
}

Result<std::string> KeptToken(World& world, const std::string& path) {
  if (auto kept = world.files.Read(path); kept.ok() && !kept->empty()) return kept;
  const std::string token = fmt::format("{:016x}{:016x}", world.random.Next(), world.random.Next());
  TRY_VOID(world.files.WriteAtomic(path, token));
  return token;
}

Status RunTool(World& world, std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  TRY(const CommandResult ran, world.processes.Run(command));
  if (ran.exit_code != 0)
    return Fail(Code::kInternal, command.argv.front() + ": " + Printable(ran.err));
  return {};
}

// The mark is the first thing in a folder of ours: from there on, whoever is killed is followed.
Status MarkFolder(World& world, const std::string& folder) {
  const std::string mark = folder + "/" + kMarker;
  if (world.files.Stat(mark).ok()) return {};
  const auto inside = world.files.List(folder);
  // Its beginning may lie there, of one that was killed while it wrote it.
  const bool foreign =
      inside.ok() && std::any_of(inside->begin(), inside->end(),
                                 [](const auto& e) { return !StartsWith(e.name, kMarker); });
  if (foreign)
    return Fail(Code::kInvalid, folder + " is there and is no lab of ours: name another --dir");
  TRY_VOID(world.files.MakeFolders(folder));
  return world.files.WriteAtomic(mark, "made by muster lab kubernetes up\n");
}

// Keys, tokens, kubeconfigs and ports: made once, then kept, so that a restart finds its clients.
Status MakeFolder(World& world, lab::ControlPlaneSpec& spec) {
  const std::string& s = spec.folder;
  for (const char* sub : {"/pki", "/log", "/pid", "/pods"})
    TRY_VOID(world.files.MakeFolders(s + sub));
  // Tokens of an administrator lie in there.
  TRY_VOID(RunTool(world, {"chmod", "700", s, s + "/pki"}));
  if (auto ports = world.files.Read(s + "/ports"); ports.ok()) {
    const auto words = SplitBlank(*ports);
    if (words.size() == 2) {
      spec.port = static_cast<int>(ParseInt(words[0]).value_or(0));
      spec.etcd_port = static_cast<int>(ParseInt(words[1]).value_or(0));
    }
  }
  if (spec.port == 0 || spec.etcd_port == 0) {
    TRY(spec.port, FreeLoopbackPort());
    do {
      TRY(spec.etcd_port, FreeLoopbackPort());
    } while (spec.etcd_port == spec.port);
    TRY_VOID(
        world.files.WriteAtomic(s + "/ports", fmt::format("{} {}\n", spec.port, spec.etcd_port)));
  }
  if (!world.files.Stat(s + "/pki/sa.pub").ok()) {
    TRY_VOID(RunTool(world, {"openssl", "genrsa", "-out", s + "/pki/sa.key", "2048"}));
    TRY_VOID(RunTool(
        world, {"openssl", "rsa", "-in", s + "/pki/sa.key", "-pubout", "-out", s + "/pki/sa.pub"}));
  }
  TRY(const std::string admin, KeptToken(world, s + "/pki/admin.token"));
  TRY(const std::string controllers, KeptToken(world, s + "/pki/controllers.token"));
  TRY_VOID(world.files.WriteAtomic(s + "/pki/tokens.csv",
                                   fmt::format("{},muster-admin,muster-admin,\"system:masters\"\n"
                                               "{},system:kube-controller-manager,controllers,\n",
                                               admin, controllers)));
  TRY_VOID(world.files.WriteAtomic(s + "/kubeconfig", lab::PlaneKubeconfig(spec, "admin", admin)));
  return world.files.WriteAtomic(s + "/controllers.kubeconfig",
                                 lab::PlaneKubeconfig(spec, "controllers", controllers));
}

// Asks until `ready`, while the component that it depends on runs.
Status WaitFor(World& world, lab::RecordedProcesses& processes, const std::string& component,
               const std::string& what, const std::function<bool()>& ready) {
  const Duration until = world.clock.Monotonic() + kPatience;
  while (!ready()) {
    if (!processes.Running(component))
      return Fail(Code::kInternal, fmt::format("{} ended: {}", component,
                                               Printable(processes.LogTail(component, 600))));
    if (world.clock.Monotonic() > until)
      return Fail(
          Code::kTimeout,
          fmt::format("{} after two minutes; `muster lab kubernetes down` ends it, up again "
                      "goes on",
                      what));
    world.clock.SleepFor(std::chrono::milliseconds(200));
  }
  return {};
}

kube::Request Quick(kube::Request request) {
  request.timeout = std::chrono::seconds(5);
  request.patience = std::chrono::seconds(5);
  return request;
}

// The API server makes its certificate when it first starts; before that nobody can be asked.
bool ServerAnswers(World& world, const std::string& folder, const kube::Request& request) {
  if (!world.files.Stat(folder + "/pki/apiserver.crt").ok()) return false;
  const auto config = kube::ReadKubeconfig(world.files, {folder + "/kubeconfig"});
  if (!config.ok()) return false;
  kube::Connection connection(world, *config);
  return connection.client().Ask(Quick(request)).ok();
}

Result<int> PlayedNodes(World& world, const std::string& folder) {
  TRY(const auto config, kube::ReadKubeconfig(world.files, {folder + "/kubeconfig"}));
  kube::Connection connection(world, config);
  int ready = 0;
  TRY(const std::string body,
      connection.client().Ask(Quick(kube::List(kube::kNodes, "", {"muster.dev/played=true", ""}))));
  TRY_VOID(kube::ReadList(body, [&](std::string_view json) -> Status {
    TRY(const kube::Node node, kube::DecodeNode(json));
    ready += node.Ready() ? 1 : 0;
    return {};
  }));
  return ready;
}

}  // namespace

Result<LabKubernetes> LabKubernetesUp(World& world, const LabKubernetesOptions& options,
                                      const std::function<void(const std::string&)>& note) {
  lab::ControlPlaneSpec spec;
  spec.folder = Absolute(options.folder);
  spec.binaries = options.binaries.empty() ? DefaultBinaries() : options.binaries;
  spec.self = options.self_binary;
  lab::KubeletsSpec kubelets{options.nodes, options.gpus, options.topology_policy,
                             options.run_commands, options.dns_delay};
  TRY_VOID(lab::ParseKubeletsSpec(lab::FormatKubeletsSpec(kubelets)));
  for (const lab::PlayedNodeSpec& node : lab::NodesOf({1, options.gpus, options.topology_policy}))
    TRY_VOID(lab::PlayedNode::Make(node));
  TRY_VOID(NeedBinaries(world, spec.binaries));
  TRY_VOID(MarkFolder(world, spec.folder));
  TRY(const auto lock, world.files.Lock(spec.folder + "/lock", "muster lab kubernetes up"));
  TRY_VOID(MakeFolder(world, spec));
  TRY_VOID(world.files.WriteAtomic(spec.folder + "/nodes", lab::FormatKubeletsSpec(kubelets)));

  lab::RecordedProcesses processes(world, spec.folder);
  LabKubernetes up;
  up.kubeconfig = spec.folder + "/kubeconfig";
  up.server = fmt::format("https://127.0.0.1:{}", spec.port);
  // Another size of cluster needs another player; it takes over what the last one ran.
  TRY_VOID(processes.Stop("player", std::chrono::seconds(10)));
  for (const lab::PlaneProcess& process : lab::ControlPlaneProcesses(spec)) {
    if (processes.Running(process.name)) {
      up.running.push_back(process.name);
    } else {
      note("starting " + process.name);
      TRY_VOID(processes.Start(process));
      up.started.push_back(process.name);
    }
    if (process.name == "apiserver") {
      // The last of the roles that it makes at its first start; without its own the controller
      // manager waits ten seconds and ends.
      const kube::Resource bindings{"rbac.authorization.k8s.io", "v1", "rolebindings",
                                    "RoleBinding"};
      const kube::Request last =
          kube::Get(bindings, "kube-system", "system::leader-locking-kube-controller-manager");
      TRY_VOID(WaitFor(world, processes, "apiserver", "the API server is not ready",
                       [&] { return ServerAnswers(world, spec.folder, last); }));
    }
    if (process.name == "controller-manager") {
      const kube::Resource accounts{"", "v1", "serviceaccounts", "ServiceAccount"};
      TRY_VOID(WaitFor(world, processes, process.name, "no service account was made", [&] {
        return ServerAnswers(world, spec.folder, kube::Get(accounts, "default", "default"));
      }));
    }
  }
  TRY_VOID(WaitFor(world, processes, "player", "the nodes are not registered", [&] {
    const auto ready = PlayedNodes(world, spec.folder);
    if (ready.ok()) up.nodes = *ready;
    return ready.ok() && *ready >= options.nodes;
  }));
  up.version = Trim(world.files.Read(spec.binaries + "/VERSION").value_or("unknown"));
  return up;
}

Result<std::vector<std::string>> LabKubernetesDown(World& world, const std::string& folder,
                                                   bool wipe) {
  const std::string path = Absolute(folder);
  if (!world.files.Stat(path + "/" + kMarker).ok())
    return Fail(Code::kNotFound, path + " holds no lab that `muster lab kubernetes up` made");
  TRY(auto lock, world.files.Lock(path + "/lock", "muster lab kubernetes down"));
  lab::RecordedProcesses processes(world, path);
  lab::ControlPlaneSpec spec;
  auto all = lab::ControlPlaneProcesses(spec);
  std::reverse(all.begin(), all.end());
  std::vector<std::string> ended;
  for (const lab::PlaneProcess& process : all) {
    if (processes.Running(process.name)) ended.push_back(process.name);
    TRY_VOID(processes.Stop(process.name, std::chrono::seconds(15)));
  }
  if (wipe) TRY_VOID(world.files.Remove(path));
  return ended;
}

}  // namespace muster
