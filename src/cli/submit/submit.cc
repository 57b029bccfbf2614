#include "cli/submit/submit.h"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/submit/cluster.h"
#include "base/strings.h"
#include "cli/output.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Wanted {
  submit::Words words;
  submit::ClusterWords where;
  std::string out, command;
  std::vector<std::string> rest;
  bool dry_run = false, prove = false, no_follow = false;
};

void Declare(Args& args, Wanted& w, OutputOptions& output) {
  submit::Words& words = w.words;
  args.Rest("FILE", w.rest, "Manifests to submit as they are; with --class: the command, after --");
  args.Option("--class", words.job_class, "CLASS",
              "Kind of job: ddp, fsdp, tensor-pipeline, deepspeed, diloco, post-training, plain");
  args.Option("--name", words.name, "NAME", "Of the job and its Service (default: the class)");
  args.Option("-n,--namespace", words.ns, "NAMESPACE", "Namespace (default: default)");
  args.Option("--shape", words.shape, "SHAPE", "PODSxGPUSxMODEL: 2x8xH100, 2x8, 4 (no GPUs)");
  args.Option("--group", words.groups, "NAME=SHAPE",
              "Pods beside the trainer, in the same gang: rollout=4x1");
  args.Option("--group-command", words.beside_commands, "NAME=WORDS", "What such a group runs");
  args.Option("--image", words.image, "IMAGE", "Container image, by digest");
  args.Option("--command", w.command, "WORDS",
              "The command in one text, split at blanks; or give it after --");
  args.Choice("--dialect", words.dialect, {"job", "jobset", "volcano", "kueue", "sbatch"},
              "Whose objects are rendered (default: job, for Muster's own scheduler)");
  args.Option("--queue", words.queue, "QUEUE", "LocalQueue, Volcano queue, or partition");
  args.Option("--scheduler", words.scheduler, "NAME", "schedulerName of the pods");
  args.Option("--priority-class", words.priority_class, "NAME", "PriorityClass");
  args.Option("--cpu", words.cpu, "AMOUNT", "CPU of a pod (default: the class's, by GPU)");
  args.Option("--memory", words.memory, "AMOUNT", "Memory of a pod (default: the class's, by GPU)");
  args.Option("--rdma", words.rdma, "RESOURCE=COUNT", "RDMA devices of a pod: rdma/ib=1");
  args.Option("--network", words.networks, "NAME", "Network attachment of every pod with GPUs");
  args.Option("--gpu-resource", words.gpu_resource, "NAME",
              "Device resource (default: nvidia.com/gpu)");
  args.Option("--gpu-product", words.gpu_product, "LABEL", "Value of nvidia.com/gpu.product");
  args.Option("--topology", words.topology, "LEVEL", "All ranks in one domain of this level");
  args.Option("--prefer-topology", words.prefer_topology, "LEVEL", "The same, where it can be had");
  args.Option("--checkpoint", words.checkpoint, "PLACE", "CLAIM:/path, or a URL such as s3://b/p");
  args.Option("--label", words.labels, "KEY=VALUE", "Tracking labels (default: owner=you)");
  args.Option("--env", words.env, "NAME=VALUE", "Variables beside the NCCL profile's");
  args.Option("--limit", words.limit, "SPAN", "Ended after this time: 24h");
  args.Option("--ttl", words.ttl, "SPAN", "Kept after its end (default: 24h)");
  args.Option("--retries", words.max_retry, "N", "Restarts of the whole gang (default: 3)");
  args.Option("--site", words.site_file, "FILE", "Inventory: shapes, adapters, NCCL profile");
  args.Option("--nodes", words.nodes_file, "FILE", "Inventory: a cluster script's nodes");
  args.Choice("--profile", words.profile, {"production", "debug"}, "NCCL profile");
  args.Flag("--dry-run", w.dry_run, "Show what would change; write nothing");
  args.Option("--out", w.out, "FILE",
              "Write the rendered job there (- for stdout); ask no cluster");
  args.Flag("--prove", w.prove, "Run the job's cheap twin first; submit only when it succeeds");
  args.Flag("--no-follow", w.no_follow, "Return once it is submitted");
  args.Option("--kubeconfig", w.where.kubeconfig, "FILE", "Kubeconfig (default: as kubectl)");
  args.Option("--context", w.where.context, "NAME", "Context of it");
  output.AddTo(args);
  args.Example(
      "muster submit --class ddp --shape 2x8xH100 --image IMAGE@sha256:... --queue research "
      "--checkpoint checkpoints:/checkpoints/llm --site site.yaml -- train.py --epochs 3");
  args.Example("muster submit job.yaml service.yaml --dry-run");
}

ExitCode CodeOf(const submit::Standing& standing) {
  return standing.phase == submit::Phase::kFailed ? ExitCode::kFail : ExitCode::kDone;
}

void ShowPlan(Context& context, const submit::Plan& plan) {
  for (const LintFinding& f : plan.findings)
    context.err << "lint: " << Printable(ToString(f)) << "\n";
  for (const std::string& note : plan.notes) context.err << "note: " << Printable(note) << "\n";
}

// Each line of a diff, made printable one by one: line ends stay.
std::string PrintableLines(const std::string& text) {
  std::string shown;
  for (const std::string_view line : Lines(text)) shown += Printable(line) + "\n";
  return shown;
}

submit::Callbacks CallbacksFor(Context& context, bool table, std::string& last) {
  submit::Callbacks say;
  say.change = [&context, table](const std::string& title, bool, const std::string& diff) {
    std::ostream& to = table ? context.out : context.err;
    to << (diff.empty() ? "unchanged: " + Printable(title) + "\n" : PrintableLines(diff));
  };
  say.note = [&context](const std::string& note) { context.err << Printable(note) << "\n"; };
  say.live = [&context, &last](const std::string& line) {
    if (line == last) return;
    if (context.err_is_terminal) {
      context.err << "\r\033[K" << Shorten(Printable(line), static_cast<size_t>(context.width - 1));
      context.err.flush();
    } else {
      context.err << Printable(line) << "\n";
    }
    last = line;
  };
  say.stopped = [&context] { return context.interrupted && context.interrupted(); };
  return say;
}

Json JsonOf(const submit::Plan& plan, const submit::Outcome& outcome) {
  Json objects = Json::array();
  for (const auto& o : plan.job.objects)
    objects.push_back(
        {{"apiVersion", o.api_version}, {"kind", o.kind}, {"namespace", o.ns}, {"name", o.name}});
  const submit::Standing& s = outcome.standing;
  return {{"server", outcome.server},
          {"objects", objects},
          {"changed", outcome.changed},
          {"applied", outcome.applied},
          {"proven", outcome.proven},
          {"phase", outcome.applied ? Json(ToString(s.phase)) : Json()},
          {"pods",
           {{"wanted", s.wanted},
            {"made", s.pods},
            {"bound", s.bound},
            {"running", s.running},
            {"succeeded", s.succeeded},
            {"failed", s.failed}}},
          {"reason", s.reason}};
}

ExitCode WriteOut(Context& context, const submit::Plan& plan, const std::string& out) {
  const std::string text = plan.job.Text();
  if (out == "-") {
    context.out << text;
    return ExitCode::kDone;
  }
  const Status written = context.world.files.WriteAtomic(out, text);
  if (!written.ok()) return Complain(context, written.error());
  context.err << "written: " << Printable(out) << "\n";
  return ExitCode::kDone;
}

}  // namespace

ExitCode SubmitJob(const Invocation& invocation) {
  OutputOptions output;
  Wanted w;
  Args args("submit", "Render a whole job, preview it, submit it, and say why it waits");
  Declare(args, w, output);
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  submit::Words& words = w.words;
  if (words.job_class.empty() && w.rest.empty())
    return Complain(context, Code::kInvalid, "what to submit: files, or --class with --shape");
  if (words.job_class.empty()) {
    words.files = w.rest;
  } else {
    words.command = w.rest;
    for (const std::string_view word : SplitBlank(w.command)) words.command.emplace_back(word);
    if (words.name.empty()) words.name = words.job_class;
    words.user = context.user_at_host;
  }
  const auto plan = submit::MakePlan(context.world.files, words);
  if (!plan.ok()) return Complain(context, plan.error());
  ShowPlan(context, *plan);
  if (plan->lint_errors > 0) {
    return Complain(context, Code::kInvalid,
                    fmt::format("{} errors of the platform contract: nothing was submitted",
                                plan->lint_errors));
  }
  if (!w.out.empty()) return WriteOut(context, *plan, w.out);
  if (words.dialect == "sbatch" && words.files.empty()) {
    return Complain(context, Code::kInvalid,
                    "a batch script is written and not sent: --out FILE, then sbatch FILE");
  }
  if (context.catch_interrupts && !w.dry_run) context.catch_interrupts();
  std::string last;
  const auto outcome = submit::SubmitTo(context.world, w.where, *plan,
                                        {w.dry_run, w.prove, !w.no_follow, std::chrono::seconds(1)},
                                        CallbacksFor(context, output.format == "table", last));
  if (!last.empty() && context.err_is_terminal) context.err << "\n";
  if (!outcome.ok()) return Complain(context, outcome.error());
  Document doc;
  doc.kind = "Submission";
  *doc.json = JsonOf(*plan, *outcome);
  doc.table = w.dry_run ? (outcome->changed ? "nothing was written (--dry-run)\n"
                                            : "nothing would change\n")
                        : Printable(outcome->standing.Line()) + "\n";
  doc.cases.push_back(
      {"submit", words.name,
       outcome->standing.phase == submit::Phase::kFailed ? Level::kFail : Level::kPass,
       outcome->standing.reason});
  Emit(context, output, doc);
  return CodeOf(outcome->standing);
}

}  // namespace muster::cli
