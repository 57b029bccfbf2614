// muster lab kubernetes up|down.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/lab_kubernetes.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/lab/lab.h"
#include "cli/output.h"

namespace muster::cli {

ExitCode LabKubernetesStart(const Invocation& invocation) {
  OutputOptions output;
  LabKubernetesOptions options;
  std::string dns_delay;
  Args args("lab kubernetes up",
            "A real Kubernetes API server on this machine, with nodes that are played");
  args.Option("--dir", options.folder, "DIR", "Where its state goes");
  args.Option("--nodes", options.nodes, "N", "Nodes to play (1 to 5,000)");
  args.Option("--gpus", options.gpus, "N", "GPUs of each");
  args.Option("--topology-policy", options.topology_policy, "POLICY",
              "Of the kubelets: none, best-effort, restricted, single-numa-node");
  args.Flag("--run-commands", options.run_commands,
            "Pods annotated muster.dev/run: \"true\" run their command on this machine, as you");
  args.Option(
      "--dns-delay", dns_delay, "TIME",
      "Until the name of such a pod behind a headless Service is published (default 500ms)");
  args.Option("--binaries", options.binaries, "DIR",
              "etcd, kube-apiserver, kube-controller-manager (default: where "
              "tests/kubernetes/build.sh puts them)");
  output.AddTo(args);
  args.Example("muster lab kubernetes up --nodes 16");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  options.self_binary = context.self_binary;
  if (!dns_delay.empty()) {
    const auto delay = ParseDuration(dns_delay).Context("--dns-delay");
    if (!delay.ok()) return Complain(context, delay.error());
    options.dns_delay = *delay;
  }
  const auto up = LabKubernetesUp(context.world, options, [&](const std::string& text) {
    context.err << text << "\n" << std::flush;
  });
  if (!up.ok()) {
    if (up.error().code != Code::kNotFound) return Complain(context, up.error());
    Complain(context, up.error());
    return ExitCode::kUnknown;
  }
  Document doc;
  doc.kind = "LabKubernetes";
  *doc.json = {{"kubeconfig", up->kubeconfig}, {"server", up->server},   {"version", up->version},
               {"nodes", up->nodes},           {"started", up->started}, {"running", up->running}};
  doc.table = fmt::format(
      "{}\n  Kubernetes {} at {}, {}, kubelets and devices are played\n"
      "next:\n  export KUBECONFIG={}\n  muster sched serve --kubernetes &\n"
      "  muster get nodes\n  muster lab kubernetes down --dir {}\n",
      up->kubeconfig, up->version, up->server, Counted(static_cast<size_t>(up->nodes), "node"),
      up->kubeconfig, options.folder);
  doc.brief = up->kubeconfig + "\n";
  doc.cases = {{"lab", "kubernetes", Level::kPass, up->kubeconfig}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabKubernetesEnd(const Invocation& invocation) {
  OutputOptions output;
  std::string folder = LabKubernetesOptions{}.folder;
  bool wipe = false;
  Args args("lab kubernetes down", "End what `lab kubernetes up` started, by its records");
  args.Option("--dir", folder, "DIR", "Where its state is");
  args.Flag("--wipe", wipe, "Remove its state too");
  output.AddTo(args);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto ended = LabKubernetesDown(context.world, folder, wipe);
  if (!ended.ok()) return Complain(context, ended.error());
  Document doc;
  doc.kind = "LabKubernetesEnded";
  *doc.json = {{"ended", *ended}, {"wiped", wipe}};
  doc.table = ended->empty() ? "nothing of it ran\n" : "ended: " + Join(*ended, ", ") + "\n";
  doc.cases = {{"lab", "kubernetes", Level::kPass, ""}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
