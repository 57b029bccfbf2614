// Stored runs of runbooks: read, and asked by a person.
#include <algorithm>

#include <fmt/format.h>

#include "app/runbooks.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {

// Names say the second; of runs that began in the same one their journals say which is newer.
std::string Newest(Files& files, const RunbookPaths& paths, const std::vector<std::string>& runs) {
  std::string newest = runs.back();
  const std::string second = newest.substr(0, newest.rfind('-'));
  TimePoint began{};
  for (const std::string& run : runs) {
    if (!StartsWith(run, second)) continue;
    const auto stored = engine::ReadRun(files, paths.Journal(run));
    if (!stored.ok() || stored->state.opened_at < began) continue;
    began = stored->state.opened_at;
    newest = run;
  }
  return newest;
}

Result<RunbookRun> ReadView(Files& files, const RunbookPaths& paths, const std::string& run) {
  RunbookRun view;
  view.run = run;
  TRY(view.stored, engine::ReadRun(files, paths.Journal(view.run)));
  if (!view.stored.state.opened)
    return Fail(Code::kNotFound, fmt::format("run {} never began: nothing was done", view.run));
  TRY(view.plan, ReadPlan(view.stored.state.plan_text, paths.Journal(view.run)));
  return view;
}

}  // namespace

Result<RunbookRun> ViewRun(Files& files, const SitePaths& site, const std::string& name) {
  const RunbookPaths paths(site);
  TRY(const auto runs, ListRunbookRuns(files, paths));
  std::vector<std::string> fit;
  for (const std::string& run : runs) {
    if (StartsWith(run, name)) fit.push_back(run);
  }
  if (name.empty() && !fit.empty()) fit = {Newest(files, paths, fit)};
  if (fit.size() != 1)
    return Fail(Code::kNotFound,
                fit.empty() ? fmt::format("there is no runbook run {}", Printable(name))
                            : fmt::format("{} runs begin with {}", fit.size(), Printable(name)));
  return ReadView(files, paths, fit.front());
}

Result<std::vector<RunbookRun>> ViewRuns(Files& files, const SitePaths& site) {
  const RunbookPaths paths(site);
  TRY(const auto runs, ListRunbookRuns(files, paths));
  std::vector<RunbookRun> views;
  for (const std::string& run : runs) {
    auto view = ReadView(files, paths, run);
    if (!view.ok() && view.error().code == Code::kNotFound) continue;
    if (!view.ok()) return Fail(view.error());
    views.push_back(std::move(*view));
  }
  return views;
}

namespace {

// The check must be one that asks, and the target be named where there are several. What the person
// saw is kept with the run's evidence.
Status FitAttest(World& world, const RunbookPaths& paths, const RunbookRun& view,
                 engine::Requests::Request& request) {
  std::vector<std::string> asking;
  const auto gather = [&](const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      if (check.form == Check::Form::kAttest) asking.push_back(check.id);
    }
  };
  const Runbook& book = view.plan.runbook;
  gather(book.prechecks);
  for (const StepSpec& step : book.steps) {
    gather(step.before);
    gather(step.verify);
  }
  gather(book.rollback.step.before);
  gather(book.rollback.step.verify);
  gather(book.rollback.verify);
  if (std::find(asking.begin(), asking.end(), request.step) == asking.end())
    return Fail(
        Code::kNotFound,
        fmt::format("{} asks no person about {}{}", book.id, Printable(request.step),
                    asking.empty() ? "; it asks nothing" : "; it asks " + Join(asking, ", ")));
  if (request.on.empty() && view.plan.targets.size() == 1)
    request.on = view.plan.targets.front().on.id;
  const bool known =
      std::any_of(view.plan.targets.begin(), view.plan.targets.end(),
                  [&](const PlannedTarget& target) { return target.on.id == request.on; });
  if (!known)
    return Fail(Code::kNotFound,
                request.on.empty()
                    ? fmt::format("run {} has {} targets: expected --on TARGET", view.run,
                                  view.plan.targets.size())
                    : fmt::format("run {} has no target {}", view.run, Printable(request.on)));
  request.evidence = Sha256Hex(request.reason);
  TRY_VOID(world.files.MakeFolders(paths.Evidence(view.run)));
  return world.files.WriteAtomic(
      fmt::format("{}/{}.txt", paths.Evidence(view.run), request.evidence), request.reason);
}

}  // namespace

Status AskRun(World& world, const SitePaths& site, const std::string& name,
              engine::Requests::Request request) {
  TRY(const RunbookRun view, ViewRun(world.files, site, name));
  if (view.stored.state.closed)
    return Fail(Code::kRefused, fmt::format("run {} is closed", view.run));
  if (request.kind == engine::Requests::Request::Kind::kApprove) {
    if (request.step != "*" && view.plan.runbook.Find(request.step) == nullptr &&
        request.step != view.plan.runbook.rollback.step.id) {
      std::vector<std::string> ids;
      for (const StepSpec& step : view.plan.runbook.steps) ids.push_back(step.id);
      return Fail(Code::kNotFound, fmt::format("{} has no step {}; it has {}", view.plan.runbook.id,
                                               Printable(request.step), Join(ids, ", ")));
    }
    if (!request.plan_hash.empty() && !StartsWith(view.plan.hash, request.plan_hash))
      return Fail(Code::kRefused, fmt::format("run {} is of plan {}, not {}", view.run,
                                              view.plan.hash.substr(0, 16), request.plan_hash));
  }
  if (request.kind == engine::Requests::Request::Kind::kAttest)
    TRY_VOID(FitAttest(world, RunbookPaths(site), view, request));
  request.plan_hash = view.plan.hash;
  return FolderRequests::Put(world, RunbookPaths(site).Requests(view.run), request);
}

}  // namespace muster
