#include "app/runbooks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/look_for_facts.h"
#include "app/site_looker.h"
#include "base/digest.h"
#include "base/strings.h"
#include "catalogue/catalogue.h"
#include "plan/templates.h"

namespace muster {

namespace {

std::vector<std::string> Codes() {
  std::vector<std::string> codes;
  if (const auto catalogue = LoadEmbedded(); catalogue.ok()) {
    for (const Criterion& criterion : (*catalogue)->criteria) codes.push_back(criterion.code);
  }
  return codes;
}

Result<Subject> TargetFrom(const Runbook& book, const std::string& text) {
  const size_t slash = text.find('/');
  if (book.on == SubjectKind::kNode && slash == std::string::npos) return NodeSubject(text);
  if (book.on == SubjectKind::kGpu && slash != std::string::npos)
    return Subject{SubjectKind::kGpu, text};
  return Fail(
      Code::kInvalid,
      fmt::format("--on {}: {} is planned for a {}, expected {}", Printable(text), book.id,
                  ToString(book.on), book.on == SubjectKind::kGpu ? "node-07/gpu3" : "node-07"));
}

// Each host once, in the order of the targets.
std::vector<std::string> HostsOf(const std::vector<Subject>& on) {
  std::vector<std::string> hosts;
  std::set<std::string_view> known;
  for (const Subject& subject : on) {
    if (known.insert(subject.Host()).second) hosts.emplace_back(subject.Host());
  }
  return hosts;
}

// UUID and serial of the GPUs that are looked at, and the nodes themselves.
std::map<std::string, std::string> Identities(const std::vector<Subject>& on,
                                              const Observations& seen) {
  std::map<std::string, std::string> identity;
  for (const Subject& subject : on) {
    if (subject.kind == SubjectKind::kNode) identity[subject.ToString()] = subject.id;
  }
  if (on.empty() || on.front().kind != SubjectKind::kGpu) return identity;
  std::map<std::string, std::string> serials;
  for (const Observation& o : seen) {
    if (o.value() == nullptr) continue;
    if (o.fact == "gpu.uuid") identity[o.subject.ToString()] = FormatValue(*o.value(), o.unit);
    if (o.fact == "gpu.serial") serials[o.subject.ToString()] = FormatValue(*o.value(), o.unit);
  }
  for (auto& [subject, id] : identity) {
    if (const auto serial = serials.find(subject); serial != serials.end())
      id += " " + serial->second;
  }
  return identity;
}

// All hosts are asked at once, each once: for what the targets are, and for what the plan asks.
constexpr int kPlanGate = 3;
Observations LookAtTargets(SiteContext& site, const std::vector<Subject>& on,
                           const Runbook* book = nullptr) {
  std::set<std::string> facts;
  if (!on.empty() && on.front().kind == SubjectKind::kGpu) facts = {"gpu.uuid", "gpu.serial"};
  const std::vector<StepSpec> none;
  for (const StepSpec& step : book == nullptr ? none : book->steps) {
    for (const Check& check : step.skip_when) {
      const bool here = GateOfFact(*site.catalogue, check.fact) == kPlanGate;
      if (check.form == Check::Form::kFact && here && !StartsWith(check.fact, "dcgm."))
        facts.insert(check.fact);
    }
  }
  return LookForFacts(site, kPlanGate, HostsOf(on), facts);
}

Result<Actuator*> ActuatorOf(SiteContext& site) {
  if (site.actuator != nullptr) return site.actuator.get();
  return Fail(Code::kInvalid,
              fmt::format("a site of type {} can be looked at, not acted on, by this "
                          "binary",
                          ToString(site.site().kind)));
}

std::vector<Subject> TargetsOf(const Plan& plan) {
  std::vector<Subject> on;
  for (const PlannedTarget& target : plan.targets) on.push_back(target.on);
  return on;
}

}  // namespace

Result<std::vector<KnownRunbook>> KnownRunbooks(Files& files, const std::string& site_folder) {
  std::vector<KnownRunbook> known;
  TRY(std::vector<Runbook> books, LoadEmbeddedRunbooks());
  for (Runbook& book : books) {
    const std::string name = book.file.substr(std::string("catalogue/").size());
    known.push_back({book, std::string(FindEmbedded(name).value_or("")), false});
  }
  if (site_folder.empty()) return known;
  const auto own = files.List(site_folder + "/runbooks");
  if (!own.ok() && own.error().code == Code::kNotFound) return known;
  if (!own.ok()) return Fail(own.error());
  const auto codes = Codes();
  for (const FileInfo& info : *own) {
    if (!EndsWith(info.name, ".yaml")) continue;
    const std::string path = site_folder + "/runbooks/" + info.name;
    TRY(const std::string text, files.Read(path, 1 << 20));
    TRY(Runbook book, ParseRunbook(text, path, codes));
    std::erase_if(known, [&](const KnownRunbook& k) { return k.book.id == book.id; });
    known.push_back({std::move(book), text, true});
  }
  return known;
}

std::string CommitOf(Processes& processes, const KnownRunbook& known) {
  if (!known.own) return "";
  const size_t slash = known.book.file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : known.book.file.substr(0, slash);
  const auto git = [&](std::vector<std::string> words) {
    muster::Command command;
    command.argv = {"git", "-C", folder};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.timeout = std::chrono::seconds(10);
    auto ran = processes.Run(command);
    if (ran.ok() && (ran->timed_out || ran->exit_code != 0))
      return Result<std::string>(Fail(Code::kNotFound, std::string(Trim(ran->err))));
    return ran.ok() ? Result<std::string>(std::string(Trim(ran->out)))
                    : Result<std::string>(Fail(ran.error()));
  };
  const auto head = git({"rev-parse", "HEAD"});
  if (!head.ok()) return "not in git: " + Shorten(Printable(head.error().message), 120);
  const auto changed = git({"status", "--porcelain", "--untracked-files=all", "--", "."});
  if (!changed.ok()) return fmt::format("git {}; what differs from it is not known", *head);
  if (changed->empty()) return "git " + *head;
  std::vector<std::string> names;
  for (const std::string_view line : Lines(*changed)) {
    // "XY path"; the first line's blank may be trimmed away.
    const size_t at = line.find(' ', 1);
    names.push_back(Printable(Trim(at == std::string_view::npos ? line : line.substr(at))));
  }
  return fmt::format("git {}, changed since: {}", *head, Shorten(Join(names, ", "), 400));
}

Result<Runbook> LintRunbookFile(Files& files, const std::string& path) {
  TRY(const std::string text, files.Read(path, 1 << 20).Context(path));
  return ParseRunbook(text, path, Codes());
}

Result<KnownRunbook> FindRunbook(Files& files, const std::string& site_folder,
                                 const std::string& id) {
  TRY(const auto known, KnownRunbooks(files, site_folder));
  std::vector<std::string> ids;
  for (const KnownRunbook& k : known) {
    if (EqualsIgnoreCase(k.book.id, id) || EqualsIgnoreCase(k.book.slug, id)) return k;
    ids.push_back(k.book.id);
    ids.push_back(k.book.slug);
  }
  const auto near = Nearest(id, ids);
  return Fail(Code::kNotFound, fmt::format("there is no runbook {}{}", Printable(id),
                                           near ? "; did you mean " + *near + "?"
                                                : "; muster runbook list shows them"));
}

namespace {

// What holds of a step's skip_when; "" = the step is planned.
std::string WhySkipped(SiteLooker& looker, const StepSpec& step, const Subject& on,
                       const TemplateValues& values) {
  std::string why;
  for (const Check& check : step.skip_when) {
    const engine::Looked looked = looker.Look(check, on, values);
    if (looked.level != (check.wants_pass ? Level::kPass : Level::kFail)) return "";
    why += (why.empty() ? "" : "; ") + check.ToString();
  }
  return why;
}

}  // namespace

Result<Plan> PlanRunbook(SiteContext& site, const KnownRunbook& known, const PlanOptions& options,
                         const OpenOptions& open) {
  TRY(Actuator* const actuator, ActuatorOf(site));
  PlanRequest request;
  request.site = site.site().name;
  request.by = options.by;
  request.now = std::chrono::floor<std::chrono::milliseconds>(site.world.clock.Now());
  request.inputs = options.inputs;
  request.at_once = options.at_once;
  request.runbook_commit = CommitOf(site.world.processes, known);
  for (const std::string& text : options.on) {
    TRY(Subject on, TargetFrom(known.book, text));
    if (site.site().cluster.FindNode(on.Host()) == nullptr)
      return Fail(Code::kInvalid, fmt::format("the site has no node {}", Printable(on.Host())));
    request.on.push_back(std::move(on));
  }
  TRY(const Actuator::Fleet fleet, actuator->ReadFleet());
  Observations seen = LookAtTargets(site, request.on, &known.book);
  const auto identity = Identities(request.on, seen);
  SiteLooker looker(site.paths.site_file, site.world, open, "plan", "");
  looker.Seen(kPlanGate, std::move(seen));
  std::map<std::string, std::vector<RunningJob>> jobs;
  std::map<std::pair<std::string, std::string>, std::string> skip;
  for (const Subject& on : request.on) {
    const std::string node(on.Host());
    // A node is in a plan once: its other GPUs are left out.
    if (jobs.contains(node)) continue;
    TRY(jobs[node], actuator->JobsOn(node));
    const auto id = identity.find(on.ToString());
    const TemplateValues values =
        ValuesFor(on, id == identity.end() ? "" : id->second, options.inputs);
    for (const StepSpec& step : known.book.steps) {
      if (const std::string why = WhySkipped(looker, step, on, values); !why.empty())
        skip[{on.ToString(), step.id}] = why;
    }
  }
  const Origin evidence = std::max(looker.origin(), site.hosts->origin());
  const PlanFacts facts{site.site().cluster, fleet,   std::move(jobs), identity,
                        std::move(skip),     evidence};
  return MakePlan(known.book, known.text, request, facts, *actuator);
}

namespace {

// One engine on one journal, until it ends, needs a person, or cannot go on.
Result<RunOutcome> Lead(SiteContext& site, const Plan& plan, const std::string& run,
                        std::unique_ptr<engine::JournalLog> log, const RunOptions& options,
                        Progress& progress) {
  TRY(Actuator* const actuator, ActuatorOf(site));
  World& world = site.world;
  const RunbookPaths paths(site.paths);
  SiteLooker looker(site.paths.site_file, world, options.open, run, paths.Evidence(run));
  engine::FileLocks locks = SiteLocks(world, paths, *actuator);
  JournalHistory history(world.files, paths, run);
  FolderRequests requests(world.files, paths.Requests(run));
  engine::EngineOptions engine_options;
  engine_options.run = run;
  engine_options.by = options.by;
  // A rehearsal's acts take no time, so there is nothing to wait for between waves.
  const bool rehearsed = actuator->origin() == Origin::kRehearsed;
  engine_options.skip_soak = rehearsed;
  if (rehearsed) {
    engine_options.poll = std::chrono::milliseconds(500);
    engine_options.grace = std::chrono::seconds(1);
    engine_options.lock_wait = std::chrono::seconds(2);
  }
  engine_options.closed = [&site, &plan](TimePoint at) {
    return WhyClosed(AskWindows(site.site().change_windows, plan.runbook.id, at), plan.runbook.id);
  };
  engine::Engine engine(plan, {*log, *actuator, looker, locks, history, requests}, engine_options,
                        log->stored().state);
  const auto now = [&] { return world.clock.Now(); };
  TRY_VOID(engine.Begin(now()));
  if (options.approve)
    TRY_VOID(FolderRequests::Put(world, paths.Requests(run),
                                 {engine::Requests::Request::Kind::kApprove, "*", options.by,
                                  plan.hash, "given with the run"}));
  if (!options.now_by.empty())
    TRY_VOID(FolderRequests::Put(world, paths.Requests(run),
                                 {engine::Requests::Request::Kind::kUnbind, "", options.now_by,
                                  plan.hash, options.now_reason}));
  RunOutcome outcome;
  outcome.run = run;
  std::string said;
  while (true) {
    if (progress.Stopped())
      return Fail(Code::kCancelled, fmt::format("stopped; muster runbook resume {} goes on", run));
    TRY(const engine::Progress step, engine.Advance(now()));
    if (step.kind == engine::Progress::Kind::kClosed) break;
    if (step.kind == engine::Progress::Kind::kWorked) continue;
    if (!step.why.empty() && step.why != said) progress.Note(step.why);
    said = step.why;
    if (step.kind == engine::Progress::Kind::kBlocked && !options.wait) {
      outcome.blocked = step.why;
      break;
    }
    const Duration most = std::chrono::seconds(1);
    const Duration until =
        step.kind == engine::Progress::Kind::kWait ? Duration(step.until - now()) : most;
    world.clock.SleepFor(std::clamp<Duration>(until, std::chrono::milliseconds(1), most));
  }
  outcome.state = engine.state();
  outcome.syncs = log->syncs();
  outcome.exit_code = engine::ExitCodeOf(outcome.state);
  log.reset();
  TRY(engine::StoredRun stored, engine::ReadRun(world.files, paths.Journal(run)));
  outcome.entries = std::move(stored.entries);
  return outcome;
}

}  // namespace

Result<RunOutcome> RunPlan(SiteContext& site, const Plan& plan, const RunOptions& options,
                           Progress& progress) {
  TRY(Actuator* const actuator, ActuatorOf(site));
  if (plan.site != site.site().name)
    return Fail(Code::kRefused,
                fmt::format("the plan is for site {}, this is {}", plan.site, site.site().name));
  TRY(const Actuator::Fleet fleet, actuator->ReadFleet());
  const std::vector<Subject> on = TargetsOf(plan);
  const auto differences = WorldDifferences(
      plan, MarkWorld(plan.targets, fleet, Identities(on, LookAtTargets(site, on))));
  if (!differences.empty())
    return Fail(Code::kRefused, "the world is not the one this plan was made for; plan again: " +
                                    Join(differences, "; "));
  const WindowAnswer window =
      AskWindows(site.site().change_windows, plan.runbook.id, site.world.clock.Now());
  if (!window.open && options.now_by.empty())
    return Fail(Code::kRefused,
                WhyClosed(window, plan.runbook.id) +
                    "; --now --by NAME --reason TEXT begins it all the same, and is recorded");
  const RunbookPaths paths(site.paths);
  const std::string run =
      options.run.empty() ? NewRunName(site.world.clock.Now(), site.world.random) : options.run;
  TRY_VOID(site.world.files.MakeFolders(paths.Folder(run)));
  TRY(auto log, engine::JournalLog::Open(site.world.files, paths.Journal(run),
                                         "muster runbook run " + options.by));
  progress.Note("run " + run);
  return Lead(site, plan, run, std::move(log), options, progress);
}

Result<RunOutcome> ResumeRun(SiteContext& site, const std::string& name, const RunOptions& options,
                             Progress& progress) {
  TRY(const RunbookRun view, ViewRun(site.world.files, site.paths, name));
  if (view.stored.state.closed)
    return Fail(Code::kRefused, fmt::format("run {} is closed", view.run));
  const RunbookPaths paths(site.paths);
  TRY(auto log, engine::JournalLog::Open(site.world.files, paths.Journal(view.run),
                                         "muster runbook resume " + options.by));
  if (!log->stored().note.empty()) progress.Note(log->stored().note);
  TRY_VOID(FolderRequests::Put(
      site.world, paths.Requests(view.run),
      {engine::Requests::Request::Kind::kContinue, "", options.by, view.plan.hash, "resumed"}));
  return Lead(site, view.plan, view.run, std::move(log), options, progress);
}

}  // namespace muster
