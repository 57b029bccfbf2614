#include "backend/kubernetes/sched/serve.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"
#include "kube/json.h"

namespace muster::kubesched {

namespace {

using kube::Json;

// A binding may not arrive after another leads: leases are renewed for longer than they are used
// (15 s and 10 s), and this lies between.
constexpr Duration kWriteWithin = std::chrono::seconds(4);

// So long a kind that cannot be followed holds up every decision. A server that comes back answers
// one watch before another, and a lowered quota must not be overlooked meanwhile; a kind that stays
// broken must not stop the cluster.
constexpr Duration kHoldFor = std::chrono::seconds(30);

}  // namespace

kube::Resource GroupResource(Dialect dialect) {
  switch (dialect) {
    case Dialect::kVolcano:
      return {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};
    case Dialect::kCoscheduling:
      return {"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"};
    case Dialect::kKai:
      return {"scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"};
    case Dialect::kNative:
      return {"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"};
    case Dialect::kJob:
      return kube::kJobs;
    case Dialect::kJobSet:
      return {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};
    default:
      return kube::kPods;
  }
}

namespace {
std::string MessageOf(const SayGang& say) {
  if (say.ignored.empty()) return Shorten(say.message, 900);
  return Shorten(say.message, 500) + "; not acted on: " + Shorten(say.ignored, 400);
}
}  // namespace

kube::Saying SayingOf(const SayGang& say) {
  return {.about = say.is_pod ? kube::kPods : GroupResource(say.dialect),
          .ns = say.about.ns,
          .name = say.about.name,
          .uid = say.about.uid,
          .reason = say.reason,
          .message = fmt::format("{}: {}", say.gang, MessageOf(say)),
          .warning = say.warning};
}

kube::Request FieldsEvent(const FieldsNote& note, TimePoint now) {
  const Identity& about = note.about;
  kube::Saying saying{.about = note.resource,
                      .ns = about.ns,
                      .name = about.name,
                      .uid = about.uid,
                      .reason = "FieldsNotActedOn",
                      .message = "not acted on: " + Shorten(note.message, 900)};
  return kube::CreateEvent(saying, Sha256Hex(about.uid + saying.message).substr(0, 16), now);
}

std::string GroupStatusBody(const SayGang& say, const std::string& now) {
  if (say.is_pod) return "";
  const bool placed = say.reason == "GangScheduled";
  const std::string message = MessageOf(say);
  Json status;
  if (say.dialect == Dialect::kNative) {
    status["conditions"] = Json::array({{{"type", "PodGroupInitiallyScheduled"},
                                         {"status", placed ? "True" : "False"},
                                         {"reason", placed ? "Scheduled" : "Unschedulable"},
                                         {"message", message},
                                         {"lastTransitionTime", now}}});
  } else if (say.dialect == Dialect::kVolcano) {
    status["phase"] = placed ? "Running" : "Pending";
    status["conditions"] = Json::array(
        {{{"type", placed ? "Scheduled" : "Unschedulable"},
          {"status", "True"},
          {"reason", placed ? "tasks in gang are ready to be scheduled" : "NotEnoughResources"},
          {"message", message},
          {"lastTransitionTime", now}}});
  } else if (say.dialect == Dialect::kCoscheduling) {
    status["phase"] = placed ? "Scheduled" : "Pending";
  } else {
    return "";
  }
  return kube::Dump({{"status", status}});
}

Serve::Serve(kube::Client& client, ServeOptions options, OnNote on_note)
    : client_(client),
      options_(std::move(options)),
      on_note_(std::move(on_note)),
      elector_(
          client, options_.lease, [this](bool leading) { OnLeading(leading); },
          [this](const Error& error) {
            const std::string text = Printable(error.ToString());
            if (on_note_ && text != lease_trouble_) on_note_("lease: " + text);
            lease_trouble_ = text;
          }) {}

Serve::~Serve() = default;

void Serve::Start() { elector_.Start(); }

// Whoever begins to lead lists everything after it took the lease: what the one before wrote last
// is in it.
void Serve::OnLeading(bool leading) {
  alive_ = std::make_shared<bool>(true);
  under_way_ = 0;
  due_.clear();
  said_synced_ = decided_ = false;
  noted_.clear(), lease_trouble_.clear();
  // The reflectors may be calling us: they end with the next turn of the loop.
  client_.After(Duration::zero(), [volcano = std::shared_ptr<VolcanoJobs>(std::move(volcano_)),
                                   kueue = std::shared_ptr<kueue::Admission>(std::move(kueue_)),
                                   mirror = std::shared_ptr<Mirror>(std::move(mirror_)),
                                   core = std::shared_ptr<Core>(std::move(core_))] {});
  if (on_note_) on_note_(leading ? "leading" : "not leading");
  if (!leading) return;
  core_ = std::make_unique<Core>(options_.core);
  mirror_ = std::make_unique<Mirror>(client_, *core_, on_note_);
  mirror_->Start();
  if (options_.kueue) {
    kueue_ = std::make_unique<kueue::Admission>(
        client_, [this] { return elector_.Leading(); }, on_note_, options_.wait_for_pods_ready);
    kueue_->Start();
  }
  if (!options_.volcano_jobs) return;
  volcano_ =
      std::make_unique<VolcanoJobs>(client_, [this] { return elector_.Leading(); }, on_note_);
  volcano_->Start();
}

int64_t Serve::NowMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(client_.clock().Monotonic()).count();
}

std::optional<Error> Serve::fatal() const {
  return mirror_ ? mirror_->fatal() : std::optional<Error>();
}

bool Serve::idle() const {
  if (volcano_ != nullptr && !volcano_->idle()) return false;
  if (kueue_ != nullptr && !kueue_->idle()) return false;
  return mirror_ != nullptr && decided_ && under_way_ == 0 && due_.empty() && !core_->repeats() &&
         mirror_->synced();
}

void Serve::Turn(Duration longest) {
  const auto not_beyond = [&](int64_t next) {
    if (next >= 0)
      longest = std::clamp<Duration>(std::chrono::milliseconds(next - NowMs()), Duration::zero(),
                                     longest);
  };
  if (core_ != nullptr && decided_) not_beyond(core_->NextAt());
  if (kueue_ != nullptr) not_beyond(kueue_->NextAt());
  client_.Poll(longest);
  const Duration began = client_.clock().Monotonic();
  DecideAndWrite();
  WriteDue();
  stats_.longest_turn = std::max(stats_.longest_turn, client_.clock().Monotonic() - began);
}

bool Serve::Held() {
  const auto lost = mirror_ == nullptr ? std::nullopt : mirror_->lost();
  if (!lost) {
    lost_said_ = false;
    return false;
  }
  if (client_.clock().Monotonic() - lost->since < kHoldFor) return true;
  if (on_note_ && !std::exchange(lost_said_, true))
    on_note_(fmt::format("{} cannot be followed for {}: deciding by what was known before",
                         lost->what, FormatDuration(kHoldFor)));
  return false;
}

void Serve::DecideAndWrite() {
  if (Held()) return;
  if (volcano_ != nullptr) volcano_->Turn();
  if (kueue_ != nullptr) kueue_->Turn();
  if (mirror_ == nullptr || !mirror_->synced() || !elector_.Leading()) return;
  // Pods of a Job that was never let in are about to go.
  if (kueue_ != nullptr && (!kueue_->synced() || kueue_->holding())) return;
  if (!said_synced_ && on_note_)
    on_note_(fmt::format("{} nodes and {} pods are known", mirror_->nodes(), mirror_->pods()));
  said_synced_ = true;
  const int64_t next = core_->NextAt(), now = NowMs();
  if (decided_ && !mirror_->TakeChanged() && !answered_ && (next < 0 || next > now)) return;
  answered_ = false;
  decided_ = true;
  if (mirror_->Prepare()) SayQueueNotes();
  std::vector<Act> acts;
  // As much as is sent at once: bindings that wait for their turn stay with the core.
  const size_t busy = under_way_ + due_.size(), most = options_.writes_at_once;
  core_->Decide(now, acts, most > busy ? most - busy : 0);
  due_.insert(due_.end(), std::make_move_iterator(acts.begin()),
              std::make_move_iterator(acts.end()));
  const auto& troubles = core_->troubles();
  for (; troubles_said_ < troubles.size(); ++troubles_said_) {
    if (on_note_) on_note_(Printable(troubles[troubles_said_]));
  }
}

// Few at a time: what waits here is not sent once somebody else leads.
void Serve::WriteDue() {
  while (!due_.empty() && under_way_ < options_.writes_at_once && elector_.Leading()) {
    const Act act = std::move(due_.front());
    due_.pop_front();
    std::visit([this](const auto& what) { Do(what); }, act);
  }
}

void Serve::Ask(kube::Request request, kube::Client::Done done) {
  ++under_way_;
  client_.Start(std::move(request), [this, alive = std::weak_ptr<bool>(alive_),
                                     done = std::move(done)](const kube::Answer& answer) {
    if (alive.expired()) return;
    --under_way_;
    answered_ = true;
    done(answer);
  });
}

void Serve::NoteOnce(const std::string& what, const Error& error) {
  if (on_note_ && noted_.insert(what + std::string(ToString(error.code))).second)
    on_note_(Printable(error.ToString()));
}

void Serve::Do(const BindPod& bind) {
  kube::Request request = kube::Bind(bind.pod.ns, bind.pod.name, bind.pod.uid, bind.node);
  request.EndWithin(kWriteWithin);
  Ask(std::move(request), [this, uid = bind.pod.uid](const kube::Answer& answer) {
    if (answer.ok()) {
      ++stats_.bound;
      return core_->Bound(uid);
    }
    ++(answer.status == 409 ? stats_.conflicts : stats_.failed);
    const bool final = answer.status == 400 || answer.status == 403 || answer.status == 422;
    const bool refused = answer.status >= 400 && answer.status < 500 && answer.status != 409;
    if (final) NoteOnce("bind", *answer.error);
    core_->NotBound(uid, refused ? Printable(answer.error->message) : "", final, NowMs());
  });
}

void Serve::Do(const DeletePod& gone) {
  kube::Request request = kube::Delete(kube::kPods, gone.pod.ns, gone.pod.name, {gone.pod.uid, ""});
  request.EndWithin(kWriteWithin);
  Ask(std::move(request), [this, gone](const kube::Answer& answer) {
    // 409: a namesake; 404: it is gone. Anything else may or may not have happened: once more.
    if (answer.ok() || answer.status == 404 || answer.status == 409) {
      ++stats_.deleted;
      return;
    }
    NoteOnce("delete", *answer.error);
    ++under_way_;
    client_.After(std::chrono::seconds(1), [this, gone, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      --under_way_;
      due_.emplace_back(gone);
    });
  });
}

void Serve::Do(const SayGang& say) {
  const TimePoint now = client_.clock().Now();
  const std::string status = GroupStatusBody(say, kube::WholeSeconds(now));
  ++stats_.said;
  // 404: what it is about is gone.
  const auto said =
      [this, what = status.empty() ? "say" : "status of " + std::string(ToString(say.dialect))](
          const kube::Answer& answer) {
        if (!answer.ok() && answer.status != 404) NoteOnce(what, *answer.error);
      };
  // The group of scheduler-plugins has a phase and no place for words.
  const bool words = say.dialect == Dialect::kCoscheduling && !say.ignored.empty();
  if (!status.empty())
    Ask(kube::MergePatch(GroupResource(say.dialect), say.about.ns, say.about.name, status,
                         "status"),
        said);
  if (!status.empty() && !words) return;
  Ask(kube::CreateEvent(SayingOf(say), fmt::format("{:016x}", client_.random().Next()), now), said);
}

void Serve::SayQueueNotes() {
  const TimePoint now = client_.clock().Now();
  for (const FieldsNote& note : mirror_->queue_notes()) {
    if (!queue_notes_said_.insert(note.about.uid + note.message).second) continue;
    // 409: it was said before.
    Ask(FieldsEvent(note, now), [](const kube::Answer&) {});
  }
}

void Serve::Stop(std::function<void()> done) { elector_.Release(std::move(done)); }

}  // namespace muster::kubesched
