#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/advise/advise.h"
#include "cli/alerts/alerts.h"
#include "cli/baseline/baseline.h"
#include "cli/bom/bom.h"
#include "cli/bringup/bringup.h"
#include "cli/bundle/bundle.h"
#include "cli/capture/capture.h"
#include "cli/check/check.h"
#include "cli/completion/completion.h"
#include "cli/diagnose/diagnose.h"
#include "cli/explain/explain.h"
#include "cli/gate/gate.h"
#include "cli/get/get.h"
#include "cli/init/init.h"
#include "cli/install/install.h"
#include "cli/kv-fit/kv_fit.h"
#include "cli/lab/lab.h"
#include "cli/lint/lint.h"
#include "cli/man/man.h"
#include "cli/nccl/nccl.h"
#include "cli/nccl_profile/nccl_profile.h"
#include "cli/node/node.h"
#include "cli/output.h"
#include "cli/pool/pool.h"
#include "cli/preflight/preflight.h"
#include "cli/runbook/runbook.h"
#include "cli/sched/plot.h"
#include "cli/sched/replay.h"
#include "cli/sched/sched.h"
#include "cli/sched/serve.h"
#include "cli/sched/shapes.h"
#include "cli/schema/schema.h"
#include "cli/submit/submit.h"
#include "cli/table.h"
#include "cli/top/top.h"
#include "cli/verify/verify.h"
#include "cli/version/version.h"
#include "cli/whatif/whatif.h"
#include "cli/why/why.h"

namespace muster::cli {

namespace {

constexpr std::array kCommands = {
    Command{"init", "Begin", "Write a commented site file: a lab on this machine, or real hosts",
            Init},
    Command{"bringup plan", "Bring-up", "Show what a run would do; nothing is started",
            BringupPlan},
    Command{"bringup run", "Bring-up", "Take the site through the gates, in order, with evidence",
            BringupRun},
    Command{"bringup status", "Bring-up", "Where the site stands: verdicts, age, stale, waived",
            BringupStatus},
    Command{"bringup resume", "Bring-up", "Continue the run that was interrupted", BringupResume},
    Command{"bringup report", "Bring-up", "The sign-off report: Markdown, HTML, JSON, JUnit",
            BringupReport},
    Command{"bringup watch", "Bring-up", "Look at the gates again on a schedule", BringupWatch},
    Command{"gate sign", "Bring-up", "Sign the facility's budgets (gate 1)", GateSign},
    Command{"gate waive", "Bring-up", "Open a gate by name, with reason and expiry", GateWaive},
    Command{"gate stale", "Bring-up",
            "Say that something unobserved changed; gates on it are stale", GateStale},
    Command{"check", "Look", "Judge the site as it is now, or a captured folder; reads only",
            Check},
    Command{"pool", "Look", "NUMA domains, nearest adapters, valid shapes of a pool",
            PoolReadiness},
    Command{"preflight", "Look", "Right before an expensive job: seven quick checks", PreflightJob},
    Command{"explain", "Look", "What a code means, offline: why, how measured, source, fix, next",
            ExplainCode},
    Command{"advise", "Look", "From a failure or a workload to the control that answers it",
            AdviseControl},
    Command{"kv-fit", "Look", "Does a model's KV cache fit, before it is deployed", KvFitDeploy},
    Command{"lint", "Look", "Manifests and sbatch scripts held to the platform contract; --fix",
            LintManifests},
    Command{"nccl-profile", "Look", "The NCCL environment of a node type, with reasons",
            PrintNcclProfile},
    Command{"diagnose", "Look", "From logs and tool outputs of any kind to ranked causes",
            DiagnoseFiles},
    Command{"nccl", "Look", "A map of the job from NCCL's logs: ranks, transports, who is missing",
            NcclJob},
    Command{"verify", "Evidence", "Judge a stored run again, offline", Verify},
    Command{"baseline set", "Evidence", "Record the figures of an accepted run", BaselineSet},
    Command{"baseline diff", "Evidence", "Hold a run against a baseline", BaselineDiff},
    Command{"baseline list", "Evidence", "The recorded baselines", BaselineList},
    Command{"bundle", "Evidence", "A run's evidence in one archive", Bundle},
    Command{"capture", "Evidence", "Save what every probe reads, as files", CaptureSite},
    Command{"bom record", "Evidence", "What every node runs, as CycloneDX JSON", BomRecordFile},
    Command{"bom image", "Evidence", "What a container image of Muster holds", BomImageRoot},
    Command{"bom diff", "Evidence", "What changed since a record", BomDiffFiles},
    Command{"bom check", "Evidence", "Drift between nodes, and versions below the minimum",
            BomCheckSite},
    Command{"sched simulate", "Schedule", "Decide a cluster script in virtual time", SchedSimulate},
    Command{"sched whatif", "Schedule", "When a job would start if something changed", SchedWhatIf},
    Command{"sched plot", "Schedule", "A cluster script and its decisions as a picture", SchedPlot},
    Command{"sched replay", "Schedule",
            "A published trace through a packing policy: allocation against load", SchedReplay},
    Command{"top", "Schedule", "One moment of a cluster script: use, queues, waits, who sits where",
            Top},
    Command{"sched shapes", "Schedule",
            "Which GPU counts a node class admits, and why its kubelets refuse the others",
            SchedShapes},
    Command{"sched bench", "Schedule", "How fast the core decides on this machine", SchedBench},
    Command{"submit", "Schedule", "Render a whole job, preview it, submit it, follow it",
            SubmitJob},
    Command{"sched serve", "Schedule", "Schedule the gangs of a Kubernetes cluster",
            SchedServeCluster},
    Command{"get", "Schedule", "Gangs, jobs, nodes and queues of a cluster as it is now", GetLive},
    Command{"whatif", "Schedule", "What would become of the gangs if a node were drained",
            WhatIfLive},
    Command{"install kubernetes", "Schedule",
            "The scheduler in a cluster: roles, replicas, priority classes", InstallKubernetes},
    Command{"install kubectl", "Schedule", "kubectl muster: the plugin", InstallKubectl},
    Command{"why", "Schedule", "Why a job waits, and what would start it", WhyPending},
    Command{"runbook list", "Repair", "The runbooks there are", RunbookList},
    Command{"runbook show", "Repair", "What one does, proves, limits and takes back", RunbookShow},
    Command{"runbook plan", "Repair", "What would be done to what; nothing is done", RunbookPlan},
    Command{"runbook run", "Repair", "Do a plan, under a journal", RunbookRunPlan},
    Command{"runbook status", "Repair", "The runs of this site, or where one stands",
            RunbookStatus},
    Command{"runbook approve", "Repair", "A person's word for a step of a run", RunbookApprove},
    Command{"runbook pause", "Repair", "A run begins nothing more", RunbookPause},
    Command{"runbook resume", "Repair", "Go on with a run", RunbookResume},
    Command{"runbook rollback", "Repair", "Take a run back", RunbookRollback},
    Command{"runbook journal", "Repair", "What a run wrote down", RunbookJournal},
    Command{"runbook ticket", "Repair", "The RMA ticket of a run's target", RunbookTicket},
    Command{"runbook attest", "Repair", "Answer a check that asks a person", RunbookAttest},
    Command{"runbook lint", "Repair", "Runbook files held to the schema", RunbookLint},
    Command{"alerts serve", "Repair", "Alertmanager's webhooks start runbooks", AlertsServe},
    Command{"alerts list", "Repair", "What became of the alerts", AlertsList},
    Command{"alerts approve", "Repair", "A person's word for an alert's plan", AlertsApprove},
    Command{"node list", "Repair", "Who holds which node, why, until when", NodeList},
    Command{"node cordon", "Repair", "Nothing new on a node", NodeCordon},
    Command{"node drain", "Repair", "Cordon, and let the work end", NodeDrain},
    Command{"node return", "Repair", "Back to work, through a proof", NodeReturn},
    Command{"lab create", "Lab", "Make a cluster that is played on this machine", LabCreate},
    Command{"lab inject", "Lab", "Put a fault into it", LabInjectFault},
    Command{"lab heal", "Lab", "Take faults out", LabHealFaults},
    Command{"lab faults", "Lab", "The faults there are, and those that are in", LabListFaults},
    Command{"lab exec", "Lab", "Run a command on a lab host", LabExecCommand},
    Command{"lab job", "Lab", "A job with checkpoints, or those there are", LabPlayJob},
    Command{"lab spoil", "Lab", "Acts on a node go wrong from now on", LabSpoilAct},
    Command{"lab exam", "Lab", "Every fault in turn: which gate notices, whom it names",
            LabRunExam},
    Command{"lab kubernetes up", "Lab", "A real API server on this machine, with played nodes",
            LabKubernetesStart},
    Command{"lab kubernetes down", "Lab", "End it", LabKubernetesEnd},
    Command{"schema", "Help", "JSON schemas of -o json", Schema},
    Command{"completion", "Help", "Completions for bash, zsh, fish", Completion},
    Command{"man", "Help", "The manual page", Man},
    Command{"version", "Help", "Version and catalogue digest", Version},
};

std::string Help(const Context& context) {
  std::string text =
      "muster takes a GPU cluster from racked hardware to its first accepted workload, and keeps "
      "it accepted.\n\n"
      "Usage: muster COMMAND [OPTIONS]      muster COMMAND --help\n";
  std::string_view group;
  Table table({});
  const auto flush = [&] {
    if (!group.empty()) text += fmt::format("\n{}\n{}", Bold(context, group), table.ToString(2));
    table = Table({});
  };
  for (const Command& command : kCommands) {
    if (command.hidden) continue;
    if (command.group != group) {
      flush();
      group = command.group;
    }
    table.Row({std::string(command.name), std::string(command.about)});
  }
  flush();
  return text +
         "\nEvery command takes -o table|json|yaml|junit|short (the exit code is the same in all "
         "of them), --timeout SPAN, --no-color.\n"
         "Begin here: muster init --kind lab --out muster-lab/site.yaml && muster bringup run "
         "--site muster-lab/site.yaml\n";
}

// The command whose words begin `words`, longest first, and how many words it took.
std::pair<const Command*, size_t> Find(std::span<const std::string> words) {
  const Command* best = nullptr;
  size_t taken = 0;
  for (const Command& command : kCommands) {
    const auto name = SplitBlank(command.name);
    if (name.size() > words.size() || name.size() <= taken) continue;
    if (std::equal(name.begin(), name.end(), words.begin())) {
      best = &command;
      taken = name.size();
    }
  }
  return {best, taken};
}

ExitCode Unknown(Context& context, std::span<const std::string> words) {
  std::vector<std::string> subcommands, names;
  for (const Command& command : kCommands) {
    names.emplace_back(command.name);
    const auto first = SplitBlank(command.name).front();
    if (first == words.front()) subcommands.push_back("muster " + std::string(command.name));
  }
  const bool asks = words.size() == 1 || words[1] == "--help" || words[1] == "-h";
  if (!subcommands.empty() && asks && words.size() > 1) {
    Table table({});
    for (const Command& command : kCommands) {
      if (SplitBlank(command.name).front() == words.front())
        table.Row({"muster " + std::string(command.name), std::string(command.about)});
    }
    context.out << table.ToString();
    return ExitCode::kDone;
  }
  if (!subcommands.empty()) {
    context.err << fmt::format("muster: {} needs one of these:\n  {}\n", words.front(),
                               Join(subcommands, "\n  "));
    return ExitCode::kUsage;
  }
  const std::string asked =
      words.size() > 1 && !words[1].starts_with('-') ? words[0] + " " + words[1] : words[0];
  const auto near = Nearest(asked, names);
  const auto near_first = near ? near : Nearest(words[0], names);
  context.err << fmt::format(
      "muster: there is no command {}{}\nRun `muster --help` for the list.\n", Printable(asked),
      near_first ? fmt::format("; did you mean `muster {}`?", *near_first) : "");
  return ExitCode::kUsage;
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

std::optional<ExitCode> Begin(const Invocation& invocation, Args& args) {
  if (invocation.describe != nullptr) {
    *invocation.describe = {args.about(), args.options(), args.examples()};
    return ExitCode::kDone;
  }
  if (auto stop = args.Parse(invocation.words)) {
    (stop->code == ExitCode::kDone ? invocation.context.out : invocation.context.err)
        << stop->message;
    return stop->code;
  }
  return std::nullopt;
}

// Takes the options that every command has and none declares: --timeout SPAN and --no-color.
Result<std::vector<std::string>> TakeGlobals(Context& context, std::span<const std::string> words) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const auto inline_value = After(words[i], "--timeout=");
    if (words[i] == "--no-color") {
      context.color = false;
    } else if (words[i] == "--timeout" || inline_value) {
      if (!inline_value && i + 1 == words.size())
        return Fail(Code::kInvalid, "--timeout needs a span such as 10m");
      TRY(const Duration span,
          ParseDuration(inline_value ? *inline_value : std::string_view(words[++i]))
              .Context("--timeout"));
      if (context.end_after) context.end_after(span);
    } else {
      rest.push_back(words[i]);
    }
  }
  return rest;
}

ExitCode Dispatch(Context& context, std::span<const std::string> all_words) {
  const auto taken_globals = TakeGlobals(context, all_words);
  if (!taken_globals.ok()) return Complain(context, taken_globals.error());
  const std::span<const std::string> words = *taken_globals;
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    context.out << Help(context);
    return words.empty() ? ExitCode::kUsage : ExitCode::kDone;
  }
  if (words[0] == "--version") return Version({context, {}});
  const auto [command, taken] = Find(words);
  if (command == nullptr) return Unknown(context, words);
  return command->run({context, words.subspan(taken)});
}

}  // namespace muster::cli
