// What a person does with runbooks: list, plan, run, answer, resume, roll back, read. One function
// a use case; the engine does the rest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/bringup.h"
#include "app/runbook_site.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace muster {

// The binary's, and those of a folder of the site's own (`runbooks` beside the site file, where it
// exists). A site's runbook of an id that the binary has takes its place.
struct KnownRunbook {
  Runbook book;
  std::string text;
  bool own = false;  // the site's
};
// Where a site's own runbook stands in its git: "git 9f3c...", with what differs from that commit
// named; "not in git: ...". "" for one of the binary.
std::string CommitOf(Processes& processes, const KnownRunbook& known);
// The findings of one file, as LoadRunbook of the catalogue would make them; kInvalid with one
// "file:line:column: what" a line.
Result<Runbook> LintRunbookFile(Files& files, const std::string& path);
Result<std::vector<KnownRunbook>> KnownRunbooks(Files& files, const std::string& site_folder);
Result<KnownRunbook> FindRunbook(Files& files, const std::string& site_folder,
                                 const std::string& id);

struct PlanOptions {
  std::vector<std::string> on;  // "node-07", "node-07/gpu3"
  std::map<std::string, std::string> inputs;
  int at_once = 0;
  std::string by;
};
// Looks at the site, then plans. kRefused where a guard says no.
Result<Plan> PlanRunbook(SiteContext& site, const KnownRunbook& known, const PlanOptions& options,
                         const OpenOptions& open);

struct RunOptions {
  std::string by;
  bool approve = false;  // every step that needs it, of this very plan
  bool wait = false;     // for a person's word, instead of stopping
  OpenOptions open;
  std::string run = {};  // its name, where it was given before; otherwise a new one
  // A person's leave to begin outside of the change window; both, or none.
  std::string now_by = {}, now_reason = {};
};
struct RunOutcome {
  std::string run;
  engine::RunState state;
  std::string blocked;  // not empty: what a person must say
  std::vector<engine::Entry> entries;
  int exit_code = 0;
  size_t syncs = 0;
};
// Refuses (kRefused) a plan whose world has changed, naming the differences, and one outside of its
// change window. kCancelled when the progress said Stopped: the run is resumed later.
Result<RunOutcome> RunPlan(SiteContext& site, const Plan& plan, const RunOptions& options,
                           Progress& progress);
Result<RunOutcome> ResumeRun(SiteContext& site, const std::string& run, const RunOptions& options,
                             Progress& progress);

// What a stored run came to. `run` may be a unique beginning; "" is the newest. kNotFound.
struct RunbookRun {
  std::string run;
  Plan plan;
  engine::StoredRun stored;
};
Result<RunbookRun> ViewRun(Files& files, const SitePaths& paths, const std::string& run);
Result<std::vector<RunbookRun>> ViewRuns(Files& files, const SitePaths& paths);
// Puts a word to a run; it counts when the run takes it up. kRefused for a closed run, kNotFound
// for a step that it does not have.
Status AskRun(World& world, const SitePaths& paths, const std::string& run,
              engine::Requests::Request request);

}  // namespace muster
