#include "app/alerts/alert_desk.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Stage = AlertEpisode::Stage;
using engine::End;

constexpr Duration kRunsLookedAt = std::chrono::hours(24);

Result<AlertBook> BookOf(const journal::Contents& contents) {
  AlertBook book;
  for (const journal::Record& stored : contents.records) {
    const auto at = [&] {
      return fmt::format("record {} at byte {}", stored.sequence, stored.offset);
    };
    TRY(const AlertRecord record, DecodeAlertRecord(stored.type, stored.payload).Context(at()));
    TRY_VOID(book.Apply(record).Context(at()));
  }
  return book;
}

// Something was done there, or found to be more than could be done: an alert from before it is old
// news.
bool Handled(End end) {
  return end == End::kDone || end == End::kRolledBack || end == End::kParked ||
         end == End::kInDoubt || end == End::kNeedsPerson || end == End::kTakenOver;
}

// The run, of whatever origin, that ended on this target after the alert began.
std::string HandledBy(Files& files, const SitePaths& site, const Subject& on, TimePoint since) {
  const RunbookPaths paths(site);
  const auto runs = ListRunbookRuns(files, paths);
  if (!runs.ok()) return "";
  const std::string oldest = "r-" + [&] {
    std::string text = FormatTime(std::chrono::floor<std::chrono::seconds>(since - kRunsLookedAt));
    std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
    return text;
  }();
  for (const std::string& run : *runs) {
    if (run < oldest) continue;
    const auto view = ViewRun(files, site, run);
    for (size_t i = 0; view.ok() && i < view->plan.targets.size(); ++i) {
      const engine::TargetState& target = view->stored.state.targets[i];
      if (view->plan.targets[i].on.Host() == on.Host() && Handled(target.end) &&
          target.ended > since)
        return run;
    }
  }
  return "";
}

// An answer, not a trouble of the moment: asking again would give the same.
bool Final(const Error& error) {
  if (error.retryable) return false;
  return error.code == Code::kInvalid || error.code == Code::kRefused ||
         error.code == Code::kNotFound || error.code == Code::kCorrupt;
}

std::string EndOf(const RunOutcome& outcome) {
  return std::string(ToString(engine::WorstEnd(outcome.state)));
}

}  // namespace

Result<AlertBook> ReadAlertBook(Files& files, const SitePaths& site) {
  const AlertPaths paths(site);
  const auto contents = journal::Load(files, paths.Journal());
  if (!contents.ok() && contents.error().code == Code::kNotFound) return AlertBook();
  if (!contents.ok()) return Fail(contents.error());
  return BookOf(*contents).Context(paths.Journal());
}

Status ApproveAlert(World& world, const SitePaths& site, const std::string& id,
                    const std::string& by, const std::string& plan) {
  if (Trim(by).empty()) return Fail(Code::kInvalid, "a word is a person's: it has a name");
  TRY(const AlertBook book, ReadAlertBook(world.files, site));
  const AlertEpisode* episode = book.Find(id);
  if (episode == nullptr)
    return Fail(Code::kNotFound, fmt::format("there is no alert {}", Printable(id)));
  if (episode->stage == Stage::kClosed)
    return Fail(Code::kRefused, fmt::format("alert {} is over: {}", id, episode->end));
  if (episode->stage != Stage::kPlanned)
    return Fail(Code::kNotFound, fmt::format("alert {} has no plan yet", id));
  if (!StartsWith(episode->plan_hash, plan))
    return Fail(Code::kRefused, fmt::format("alert {} has plan {}, not {}", id,
                                            episode->plan_hash.substr(0, 16), Printable(plan)));
  const AlertPaths paths(site);
  TRY_VOID(world.files.MakeFolders(paths.Requests()));
  const nlohmann::json json = {{"id", id}, {"by", by}, {"plan", episode->plan_hash}};
  return world.files.WriteAtomic(
      fmt::format("{}/{:016x}.json", paths.Requests(), world.random.Next()), json.dump() + "\n");
}

Result<std::unique_ptr<AlertDesk>> AlertDesk::Open(const std::string& site_file, World world,
                                                   const OpenOptions& open) {
  std::unique_ptr<AlertDesk> desk(new AlertDesk(site_file, world, open));
  TRY(const LoadedSite site, ReadSiteFile(world.files, site_file));
  desk->policy_ = site.site.alerts;
  desk->cluster_ = site.site.cluster;
  TRY(desk->known_, KnownRunbooks(world.files, desk->paths_.folder));
  for (const KnownRunbook& known : desk->known_) desk->books_.push_back(&known.book);
  for (const std::string& id : desk->policy_.alone) {
    const bool there = std::any_of(desk->books_.begin(), desk->books_.end(),
                                   [&](const Runbook* b) { return EqualsIgnoreCase(b->id, id); });
    if (!there)
      return Fail(Code::kInvalid,
                  fmt::format("{}: alerts.alone: there is no runbook {}", site_file, id));
  }
  const AlertPaths paths(desk->paths_);
  TRY_VOID(world.files.MakeFolders(paths.root + "/plans"));
  TRY(journal::Opened opened,
      journal::Writer::Open(world.files, paths.Journal(), {.holder = "muster alerts serve"}));
  TRY(desk->book_, BookOf(opened.recovered).Context(paths.Journal()));
  desk->writer_ = std::move(opened.writer);
  return desk;
}

Status AlertDesk::Record(AlertRecord record) {
  const bool closing = record.type != AlertRecordType::kHeard;
  TRY_VOID(writer_->Commit(static_cast<uint32_t>(record.type), EncodeAlertRecord(record),
                           closing ? journal::Need::kClosing : journal::Need::kNormal));
  return book_.Apply(record);
}

Status AlertDesk::Write(AlertRecordType type, AlertEpisode fields) {
  const std::lock_guard lock(mutex_);
  AlertRecord record{type, std::move(fields), {}};
  record.at = std::chrono::floor<std::chrono::milliseconds>(world_.clock.Now());
  return Record(std::move(record));
}

Status AlertDesk::Close(const AlertEpisode& episode, std::string end, std::string why) {
  AlertEpisode fields;
  fields.id = episode.id;
  fields.end = std::move(end);
  fields.why = std::move(why);
  return Write(AlertRecordType::kClosed, std::move(fields));
}

Result<size_t> AlertDesk::Forget() {
  const std::lock_guard lock(mutex_);
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(world_.clock.Now());
  const size_t many = book_.Forgettable(now, now - kKeptFor);
  if (many < kForgetFrom) return size_t{0};
  const AlertPaths paths(paths_);
  TRY(const journal::Contents contents, journal::Load(world_.files, paths.Journal()));
  AlertRecord mark{AlertRecordType::kForgotten, {}, now};
  mark.episode.id = book_.episodes()[many - 1].id;
  AlertBook book;
  TRY_VOID(book.Apply(mark));
  std::vector<journal::Record> kept(1);
  kept[0].type = static_cast<uint32_t>(mark.type);
  kept[0].payload = EncodeAlertRecord(mark);
  for (const journal::Record& stored : contents.records) {
    TRY(const AlertRecord record, DecodeAlertRecord(stored.type, stored.payload));
    if (AlertBook::NumberOf(record.episode.id) <= book.forgotten()) continue;
    TRY_VOID(book.Apply(record));
    kept.push_back(stored);
  }
  TRY_VOID(writer_->Replace(kept));
  // The runs have their plans in their own journals.
  for (size_t i = 0; i < many; ++i) (void)world_.files.Remove(paths.Plan(book_.episodes()[i].id));
  book_ = std::move(book);
  return many;
}

AlertBook AlertDesk::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return book_;
}

AlertEpisode AlertDesk::Copy(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const AlertEpisode* found = book_.Find(id);
  return found == nullptr ? AlertEpisode{} : *found;
}

Result<AlertDesk::Heard> AlertDesk::Hear(std::string_view body) {
  TRY(const std::vector<Alert> alerts, ParseAlerts(body));
  const std::lock_guard lock(mutex_);
  Heard heard;
  for (const Alert& alert : alerts) {
    const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(world_.clock.Now());
    const AlertMatch match = MatchAlert(alert, books_, cluster_);
    const AlertDecision decision = book_.Decide(alert, match, now);
    AlertRecord record;
    record.at = now;
    switch (decision.kind) {
      case AlertDecision::Kind::kDuplicate:
        ++heard.duplicate;
        continue;
      case AlertDecision::Kind::kNothing:
        ++heard.nothing;
        heard.notes.push_back(fmt::format("{}: {}", Printable(alert.name), decision.why));
        continue;
      case AlertDecision::Kind::kResolves:
        record.type = AlertRecordType::kResolved;
        record.episode.id = decision.episode;
        TRY_VOID(Record(std::move(record)));
        ++heard.resolved;
        continue;
      case AlertDecision::Kind::kOpens:
        break;
    }
    if (book_.open() >= kMostOpen)
      return Fail(Code::kUnavailable, fmt::format("{} alerts are open already", kMostOpen));
    record.episode.id = book_.NextId();
    record.episode.alert = alert;
    record.episode.runbook = match.runbook;
    record.episode.on = match.on;
    record.episode.inputs = match.inputs;
    record.episode.stale_after = match.stale_after;
    heard.notes.push_back(fmt::format("{}: {} on {} asks for {}", record.episode.id,
                                      Printable(alert.name), match.on.id, match.runbook));
    TRY_VOID(Record(std::move(record)));
    ++heard.opened;
  }
  return heard;
}

// Left in the folder until it is written down; taken twice after a crash it is the same word.
Status AlertDesk::TakeWords() {
  const std::string folder = AlertPaths(paths_).Requests();
  const auto infos = world_.files.List(folder);
  if (!infos.ok()) return {};
  for (const FileInfo& info : *infos) {
    if (!EndsWith(info.name, ".json")) continue;
    const std::string path = folder + "/" + info.name;
    const auto text = world_.files.Read(path, 64 << 10);
    if (!text.ok()) continue;
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    AlertEpisode word;
    if (json.is_object()) {
      word.id = json.value("id", "");
      word.approved_by = json.value("by", "");
      const AlertEpisode episode = Copy(word.id);
      const bool fits = episode.stage == Stage::kPlanned && episode.approved_by.empty() &&
                        episode.plan_hash == json.value("plan", "") && !word.approved_by.empty();
      if (fits) TRY_VOID(Write(AlertRecordType::kApproved, word));
    }
    TRY_VOID(world_.files.Remove(path));
  }
  return {};
}

Result<std::vector<std::string>> AlertDesk::Due() {
  TRY_VOID(TakeWords());
  std::vector<std::string> due;
  const TimePoint now = world_.clock.Now();
  const std::lock_guard lock(mutex_);
  for (const AlertEpisode& episode : book_.episodes()) {
    if (episode.stage == Stage::kClosed) continue;
    const bool alone =
        std::any_of(policy_.alone.begin(), policy_.alone.end(),
                    [&](const std::string& id) { return EqualsIgnoreCase(id, episode.runbook); });
    const bool lapsed = now - episode.planned_at > policy_.plan_waits;
    if (episode.stage == Stage::kHeard || episode.resolved || alone || lapsed ||
        !episode.approved_by.empty())
      due.push_back(episode.id);
  }
  return due;
}

std::optional<RunbookRun> AlertDesk::Begun(const AlertEpisode& episode) const {
  if (episode.run.empty()) return std::nullopt;
  auto view = ViewRun(world_.files, paths_, episode.run);
  if (!view.ok() || view->plan.hash != episode.plan_hash) return std::nullopt;
  return std::move(*view);
}

std::string AlertDesk::Overtaken(const AlertEpisode& episode, TimePoint now) const {
  // A person's word is looked at again by the run itself: by its world, and by what it repairs.
  if (episode.approved_by.empty() && now - episode.alert.starts_at > episode.stale_after)
    return fmt::format("it began {} ago, {} is for at most {}",
                       FormatDuration(now - episode.alert.starts_at), episode.runbook,
                       FormatDuration(episode.stale_after));
  return "";
}

Status AlertDesk::Work(const std::string& id, Progress& progress) {
  const AlertEpisode episode = Copy(id);
  if (episode.id.empty()) return Fail(Code::kNotFound, fmt::format("no alert {}", Printable(id)));
  if (episode.stage == Stage::kClosed) return {};
  const TimePoint now = world_.clock.Now();
  // A run that has begun is led to its end, whatever Alertmanager says meanwhile.
  if (!Begun(episode)) {
    if (episode.resolved)
      return Close(episode, "resolved", "it was resolved before anything was done");
    if (const std::string old = Overtaken(episode, now); !old.empty())
      return Close(episode, "stale", old);
    if (episode.stage == Stage::kPlanned && now - episode.planned_at > policy_.plan_waits)
      return Close(episode, "lapsed",
                   fmt::format("nobody approved it within {}", FormatDuration(policy_.plan_waits)));
    const std::string run = HandledBy(world_.files, paths_, episode.on, episode.alert.starts_at);
    if (!run.empty())
      return Close(episode, "handled", fmt::format("run {} ended there after it began", run));
  }
  auto site = OpenSite(site_file_, world_, open_);
  if (!site.ok()) return Fail(site.error());
  if (episode.stage == Stage::kHeard) return MakeThePlan(*site, episode, progress);
  return Lead(*site, episode, progress);
}

Status AlertDesk::MakeThePlan(SiteContext& site, const AlertEpisode& episode, Progress& progress) {
  const auto known = FindRunbook(world_.files, paths_.folder, episode.runbook);
  if (!known.ok())
    return Final(known.error()) ? Close(episode, "refused", known.error().message)
                                : Status(Fail(known.error()));
  PlanOptions options;
  options.on = {episode.on.id};
  options.inputs = episode.inputs;
  options.by = fmt::format("alert {} {}", episode.alert.name, episode.alert.fingerprint);
  const auto plan = PlanRunbook(site, *known, options, open_);
  if (!plan.ok()) {
    if (!Final(plan.error())) return Fail(plan.error());  // tried again, until it is stale
    return Close(episode, "refused", plan.error().message);
  }
  // Another GPU stands in that place now.
  const auto uuid = episode.alert.labels.find("UUID");
  const std::string& identity = plan->targets.front().identity;
  if (uuid != episode.alert.labels.end() && episode.on.kind == SubjectKind::kGpu &&
      !identity.empty() && !StartsWith(identity, uuid->second))
    return Close(episode, "refused",
                 fmt::format("the alert is about GPU {}, and {} is {} now", Printable(uuid->second),
                             episode.on.id, identity));
  TRY_VOID(world_.files.WriteAtomic(AlertPaths(paths_).Plan(episode.id), WritePlan(*plan)));
  AlertEpisode fields;
  fields.id = episode.id;
  fields.plan_hash = plan->hash;
  fields.run = NewRunName(world_.clock.Now(), world_.random);
  TRY_VOID(Write(AlertRecordType::kPlanned, fields));
  progress.Note(fmt::format("{}: {} on {} is planned: {}", episode.id, episode.runbook,
                            episode.on.id, AlertPaths(paths_).Plan(episode.id)));
  return {};
}

Status AlertDesk::Lead(SiteContext& site, const AlertEpisode& episode, Progress& progress) {
  const bool alone =
      std::any_of(policy_.alone.begin(), policy_.alone.end(),
                  [&](const std::string& id) { return EqualsIgnoreCase(id, episode.runbook); });
  const auto before = Begun(episode);
  if (!before && !alone && episode.approved_by.empty()) return {};
  RunOptions options;
  options.by =
      episode.approved_by.empty() ? "muster alerts, by the site's policy" : episode.approved_by;
  options.approve = !episode.approved_by.empty();
  options.wait = true;
  options.open = open_;
  options.run = episode.run;
  Result<RunOutcome> outcome = Fail(Code::kInternal, "");
  if (before) {
    if (before->stored.state.closed) {
      const End end = engine::WorstEnd(before->stored.state);
      return Close(episode, std::string(ToString(end)), "run " + episode.run);
    }
    // The word is given to the run once; a kill in between left it here.
    options.approve = options.approve && before->stored.state.approvals.empty();
    outcome = ResumeRun(site, episode.run, options, progress);
  } else {
    const auto& windows = site.site().change_windows;
    const WindowAnswer window = AskWindows(windows, episode.runbook, world_.clock.Now());
    if (!window.open) {
      progress.Note(fmt::format("{}: {}", episode.id, WhyClosed(window, episode.runbook)));
      return {};
    }

    const std::string path = AlertPaths(paths_).Plan(episode.id);
    const auto text = world_.files.Read(path, 256u << 20);
    auto plan = text.ok() ? ReadPlan(*text, path) : Result<Plan>(Fail(text.error()));
    if (plan.ok() && plan->hash != episode.plan_hash)
      plan = Fail(Code::kRefused, "the plan's file is not the one that was planned");
    if (!plan.ok())
      return Final(plan.error()) ? Close(episode, "refused", plan.error().message)
                                 : Status(Fail(plan.error()));
    outcome = RunPlan(site, *plan, options, progress);
    if (!outcome.ok() && outcome.error().code == Code::kRefused)
      return Close(episode, "refused", outcome.error().message);
  }
  if (!outcome.ok()) return Fail(outcome.error());
  if (!outcome->state.closed) return {};
  progress.Note(fmt::format("{}: run {} is over: {}", episode.id, episode.run, EndOf(*outcome)));
  return Close(episode, EndOf(*outcome), "run " + episode.run);
}

}  // namespace muster
