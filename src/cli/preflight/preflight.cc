#include "cli/preflight/preflight.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/preflight.h"
#include "app/preflight_job.h"
#include "cli/live_line.h"
#include "cli/output.h"
#include "cli/site_option.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode PreflightJob(const Invocation& invocation) {
  SiteOption site_option;
  OutputOptions output;
  PreflightOptions options;
  std::string job_file;
  bool no_collective = false;
  Args args("preflight",
            "Before an expensive job: GPUs, RDMA, NCCL transport, name, admission, shape, "
            "checkpoint path");
  site_option.AddTo(args);
  args.Option("--job", job_file, "FILE", "The job's manifest or sbatch script");
  args.Option("--nodes", options.nodes, "NODES", "The nodes it will run on (default: all)");
  args.Option("--checkpoint", options.checkpoint, "DIR", "Where it writes its checkpoints");
  args.Option("--rendezvous", options.rendezvous, "NAME",
              "Rank 0's name (default: the first node's)");
  args.Option("--only", options.only, "CODE", "Only these checks, such as PRE-003");
  args.Flag("--no-collective", no_collective, "Leave the short collective out; then it is UNKNOWN");
  output.AddTo(args);
  args.Example("muster preflight --site site.yaml --job train.yaml --checkpoint /scratch/run");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  options.collective = !no_collective;
  if (!job_file.empty()) {
    auto jobs = JobsOfFile(context.world.files, job_file);
    if (!jobs.ok()) return Complain(context, jobs.error());
    options.jobs = std::move(*jobs);
  }
  auto site = site_option.Open(context, true);
  if (!site.ok()) return Complain(context, site.error());
  LiveLine progress(context);
  const auto preflight = RunPreflight(*site, options, progress);
  if (!preflight.ok()) return Complain(context, preflight.error());

  Document doc;
  doc.kind = "Preflight";
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  Table table({});
  std::string details;
  for (const PreflightCheck& check : preflight->checks) {
    list.push_back({{"code", check.code},
                    {"title", check.title},
                    {"verdict", ToString(check.level)},
                    {"text", check.text},
                    {"found", check.found},
                    {"origin", ToString(check.origin)},
                    {"took_s", Seconds(check.took)},
                    {"fix", check.fix},
                    {"source", check.source}});
    table.Row({LevelWord(context, check.level), check.code, check.title, check.text});
    doc.cases.push_back({"preflight", check.code, check.level, check.text});
    if (check.level == Level::kPass || check.level == Level::kNotApplicable) continue;
    details += fmt::format("\n{}  {}\n", Bold(context, check.code), check.title);
    for (size_t i = 0; i < check.found.size() && i < 5; ++i)
      details += fmt::format("  {}\n", Folded(context, check.found[i], 4));
    if (check.found.size() > 5) details += fmt::format("  and {} more\n", check.found.size() - 5);
    details += fmt::format("  why  {}\n  fix  {}\n", Folded(context, check.why, 7),
                           Folded(context, check.fix, 7));
  }
  *doc.json = {{"verdict", ToString(preflight->level)}, {"checks", list}};
  doc.table =
      fmt::format("{}{}\npreflight of {}: {} ({})\n", table.ToString(), details, site->site().name,
                  LevelWord(context, preflight->level), ToString(site->hosts->origin()));
  Emit(context, output, doc);
  return ExitCodeFor(preflight->level, false);
}

}  // namespace muster::cli
