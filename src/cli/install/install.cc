#include "cli/install/install.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/install/install.h"
#include "base/strings.h"
#include "cli/output.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

Json NamesOf(const render::RenderedJob& job) {
  Json list = Json::array();
  for (const auto& o : job.objects)
    list.push_back({{"kind", o.kind}, {"namespace", o.ns}, {"name", o.name}});
  return list;
}

ExitCode WriteFolder(Context& context, const OutputOptions& output, const render::RenderedJob& job,
                     const std::string& folder) {
  if (folder == "-") {
    context.out << job.Text();
    return ExitCode::kDone;
  }
  const auto paths = install::WriteInstall(context.world.files, job, folder);
  if (!paths.ok()) return Complain(context, paths.error());
  Document doc;
  doc.kind = "Installation";
  *doc.json = {{"objects", NamesOf(job)}, {"applied", false}, {"files", *paths}};
  doc.table = fmt::format("{} files in {}; apply them with: kubectl apply --server-side -k {}\n",
                          paths->size(), Printable(folder), Printable(folder));
  doc.cases.push_back({"install", folder, Level::kPass, ""});
  Emit(context, output, doc);
  return ExitCode::kDone;
}

void EmitOutcome(Context& context, const OutputOptions& output, const render::RenderedJob& job,
                 const install::InstallOutcome& outcome, bool dry_run) {
  Document doc;
  doc.kind = "Installation";
  size_t changed = 0;
  for (const submit::Change& change : outcome.changes) changed += change.diff.empty() ? 0 : 1;
  *doc.json = {{"objects", NamesOf(job)},
               {"applied", !dry_run},
               {"changed", changed},
               {"kept", outcome.kept}};
  for (const std::string& kept : outcome.kept)
    doc.table += "left as it is: " + Printable(kept) + "\n";
  doc.table += dry_run ? fmt::format("{} objects would change; nothing was written\n", changed)
                       : fmt::format("{} objects applied, {} of them changed\n",
                                     outcome.applied.size(), changed);
  doc.cases.push_back({"install", "kubernetes", Level::kPass, ""});
  Emit(context, output, doc);
}

}  // namespace

ExitCode InstallKubernetes(const Invocation& invocation) {
  OutputOptions output;
  install::InstallWords words;
  submit::ClusterWords where;
  std::string folder;
  bool apply = false, dry_run = false;
  Args args("install kubernetes",
            "The scheduler in a cluster: roles with exactly the verbs it uses, replicas, classes");
  args.Option("--out", folder, "FOLDER", "Write the objects there, a file each (- for stdout)");
  args.Flag("--apply", apply, "Send them to the cluster, server-side");
  args.Flag("--dry-run", dry_run, "With --apply: show what would change; write nothing");
  args.Option("--image", words.image, "IMAGE", "Image by digest: REGISTRY/muster@sha256:...");
  args.Option("-n,--namespace", words.ns, "NAMESPACE", "Namespace (default: muster-system)");
  args.Option("--replicas", words.replicas, "N", "Replicas; one leads (default: 2)");
  args.Option("--foreign", words.foreign, "PROJECT",
              "Open definitions of kueue, volcano, jobset, scheduler-plugins, or all, where they "
              "are not there");
  args.Option("--metrics-port", words.metrics_port, "PORT", "A Service for metrics at this port");
  args.Flag("--service-monitor", words.service_monitor,
            "And a ServiceMonitor, where its definition is in the cluster");
  args.Option("--kubeconfig", where.kubeconfig, "FILE", "Kubeconfig (default: as kubectl)");
  args.Option("--context", where.context, "NAME", "Context of it");
  output.AddTo(args);
  args.Example("muster install kubernetes --out muster-install --image REGISTRY/muster@sha256:...");
  args.Example("muster install kubernetes --apply --dry-run --image REGISTRY/muster@sha256:...");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (apply != folder.empty())
    return Complain(context, Code::kInvalid, "one of --out FOLDER and --apply");
  if (dry_run && !apply) return Complain(context, Code::kInvalid, "--dry-run goes with --apply");
  const auto request = install::MakeInstall(words);
  if (!request.ok()) return Complain(context, request.error());
  const auto job = render::RenderInstall(*request);
  if (!job.ok()) return Complain(context, job.error());
  if (!folder.empty()) return WriteFolder(context, output, *job, folder);
  const auto show = [&context](const submit::Change& change) {
    for (const std::string_view line : Lines(change.diff)) context.err << Printable(line) << "\n";
  };
  const auto outcome = install::ApplyInstall(context.world, where, *request, dry_run, show);
  if (!outcome.ok()) return Complain(context, outcome.error());
  EmitOutcome(context, output, *job, *outcome, dry_run);
  return ExitCode::kDone;
}

ExitCode InstallKubectl(const Invocation& invocation) {
  OutputOptions output;
  std::string folder;
  Args args("install kubectl", "kubectl muster WORDS: the plugin, a script of two lines");
  args.Required("--to", folder, "FOLDER", "A folder of your PATH");
  output.AddTo(args);
  args.Example("muster install kubectl --to ~/.local/bin && kubectl muster why ml/llm");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto path = install::WriteKubectlPlugin(context.world.files, context.self_binary, folder);
  if (!path.ok()) return Complain(context, path.error());
  muster::Command chmod;
  chmod.argv = {"chmod", "755", *path};
  const auto mode = context.world.processes.Run(chmod);
  if (!mode.ok()) return Complain(context, mode.error());
  Document doc;
  doc.kind = "Installation";
  *doc.json = {{"objects", Json::array()}, {"applied", true}, {"files", {*path}}};
  doc.table = "written: " + Printable(*path) + "\n";
  doc.cases.push_back({"install", "kubectl", Level::kPass, ""});
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
