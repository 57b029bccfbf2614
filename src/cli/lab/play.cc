// What else is played in a lab: jobs with their checkpoints, and acts that go wrong.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/lab_cases.h"
#include "app/words.h"
#include "base/strings.h"
#include "cli/lab/lab.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

using Json = nlohmann::ordered_json;

ExitCode LabPlayJob(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  LabJobOptions job;
  std::string every, since;
  Args args("lab job",
            "A job in the lab, with the rhythm of its durable checkpoints; or those there are");
  args.Positional("JOB", job.id, "Its name (default: list the jobs)", false);
  args.Option("--on", job.nodes, "NODES", "Where it runs: node000,node001");
  args.Option("--gpus", job.gpus, "N", "GPUs on each node");
  args.Option("--owner", job.owner, "NAME", "Whose it is");
  args.Option("--checkpoint-every", every, "SPAN",
              "A durable checkpoint so often, from its start on (default: it never writes one)");
  args.Option("--since", since, "SPAN", "It began so long ago (default: now)");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster lab job train-7 --on node000 --checkpoint-every 20s");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  for (const auto& [text, into, option] :
       {std::tuple(&every, &job.checkpoint_every, "--checkpoint-every"),
        std::tuple(&since, &job.since, "--since")}) {
    if (text->empty()) continue;
    const auto span = ParseDuration(*text);
    if (!span.ok()) return Complain(context, Error(span.error()).Context(option));
    *into = *span;
  }
  if (!job.id.empty()) {
    if (const Status put = LabStartJob(context.world, site_option.file, job); !put.has_value())
      return Complain(context, put.error());
  }
  const auto jobs = LabJobsNow(context.world, site_option.file);
  if (!jobs.ok()) return Complain(context, jobs.error());
  Document doc;
  doc.kind = "LabJobs";
  Json rows = Json::array();
  Table table({"JOB", "OWNER", "NODES", "ATTEMPT", "CHECKPOINT EVERY", "LAST DURABLE", ""});
  for (const LabJobNow& now : *jobs) {
    const std::string durable = now.durable_at ? FormatTime(*now.durable_at) : "none";
    table.Row(
        {now.id, now.owner, Join(now.nodes, ","), std::to_string(now.attempt),
         now.checkpoint_every > Duration::zero() ? FormatDuration(now.checkpoint_every) : "never",
         durable, now.ended ? "ended" : "runs"});
    rows.push_back({{"job", now.id},
                    {"owner", now.owner},
                    {"nodes", now.nodes},
                    {"attempt", now.attempt},
                    {"durable", durable},
                    {"ended", now.ended}});
    doc.cases.push_back({"lab", now.id, Level::kPass, now.ended ? "ended" : "runs"});
  }
  *doc.json = {{"jobs", rows}};
  doc.table = jobs->empty() ? "no job is in the lab\n" : table.ToString();
  Emit(context, output, doc);
  return ExitCode::kDone;
}

ExitCode LabSpoilAct(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  std::string node, act, how;
  Args args(
      "lab spoil",
      "Acts of one kind on one node go wrong from now on, to rehearse what a runbook makes of it");
  args.Positional("NODE", node, "A node of the lab");
  args.Positional("ACT", act, "reboot, gpu_reset, packages ... as runbooks name them");
  args.Positional(
      "HOW", how,
      "refuse (proven not done), fail (it says so), lie (seems done, mends nothing), harm "
      "(done, and a GPU has an error that goes with a reset), break (done, and a GPU is "
      "gone), none (as usual)");
  site_option.AddTo(args);
  output.AddTo(args);
  args.Example("muster lab spoil node000 gpu_reset lie");
  if (auto stop = site_option.Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const Status spoiled =
      LabSpoil(context.world, site_option.file, node, act, how == "none" ? "" : how);
  if (!spoiled.has_value()) return Complain(context, spoiled.error());
  Document doc;
  doc.kind = "LabSpoiled";
  *doc.json = {{"node", node}, {"act", act}, {"how", how}};
  doc.table = fmt::format("{} on {}: {}\n", act, node, how);
  doc.cases = {{"lab", act, Level::kPass, how}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
