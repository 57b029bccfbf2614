#include "backend/kubernetes/sched/volcano_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/kubernetes/sched/serve.h"
#include "base/strings.h"

namespace muster::kubesched {

namespace {

const kube::Resource kVolcanoJobs{"batch.volcano.sh", "v1alpha1", "jobs", "Job"};
const kube::Resource kSecrets{"", "v1", "secrets", "Secret"};
const kube::Resource kVolcanoGroups{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};

std::string JobKeyOf(const kube::Meta& pod) {
  const std::string* name = pod.Label("volcano.sh/job-name");
  return name == nullptr ? "" : pod.ns + "/" + *name;
}

}  // namespace

VolcanoJobs::VolcanoJobs(kube::Client& client, std::function<bool()> leads, OnNote on_note,
                         MakeKeys make_keys)
    : client_(client),
      leads_(std::move(leads)),
      on_note_(std::move(on_note)),
      jobs_(
          client, kube::Followed{.resource = kVolcanoJobs}, kube::DecodeObject,
          [this](const kube::Change<kube::Object>& change) {
            if (change.after != nullptr) dirty_.insert(change.after->meta.Key());
          },
          [this](const Error& error, bool) {
            if (on_note_) on_note_("Volcano Jobs: " + Printable(error.ToString()));
          }),
      pods_(client,
            kube::Followed{.resource = kube::kPods, .selector = {"volcano.sh/job-name", ""}},
            DecodeVolcanoPod,
            [this](const kube::Change<VolcanoPodSeen>& change) {
              if (change.before != nullptr)
                pods_of_[JobKeyOf(change.before->meta)].erase(change.before->meta.Key());
              if (change.after != nullptr)
                pods_of_[JobKeyOf(change.after->meta)].insert(change.after->meta.Key());
              const VolcanoPodSeen& seen = change.after != nullptr ? *change.after : *change.before;
              const std::string key = JobKeyOf(seen.meta);
              const bool over = seen.pod.phase == "Succeeded" || seen.pod.phase == "Failed";
              if (change.after == nullptr && !over && leaving_[key].count(seen.pod.uid) == 0)
                vanished_[key][seen.pod.uid] = seen.pod;
              dirty_.insert(key);
            }),
      make_keys_(std::move(make_keys)) {}

void VolcanoJobs::Start() {
  jobs_.Start();
  pods_.Start();
}

void VolcanoJobs::Turn() {
  if (!synced() || !leads_()) return;
  for (const std::string& key : std::exchange(dirty_, {})) {
    if (busy_.count(key) != 0) {
      dirty_.insert(key);
    } else {
      Look(key);
    }
  }
}

void VolcanoJobs::LookAgainAt(TimePoint at, const std::string& key) {
  if (const auto known = look_at_.find(key); known != look_at_.end() && known->second == at) return;
  look_at_[key] = at;
  // A second more: times in objects are whole seconds.
  const Duration wait = std::max<Duration>(at - client_.clock().Now(), Duration::zero());
  client_.After(
      wait + std::chrono::seconds(1), [this, at, key, alive = std::weak_ptr<bool>(alive_)] {
        if (alive.expired()) return;
        if (const auto known = look_at_.find(key); known != look_at_.end() && known->second == at)
          look_at_.erase(known);
        dirty_.insert(key);
      });
}

void VolcanoJobs::Ask(kube::Request request, const std::string& key) {
  request.EndWithin(std::chrono::seconds(4));
  ++under_way_;
  ++busy_[key];
  client_.Start(std::move(request),
                [this, key, alive = std::weak_ptr<bool>(alive_)](const kube::Answer& answer) {
                  if (alive.expired()) return;
                  --under_way_;
                  if (--busy_[key] == 0) busy_.erase(key);
                  // 409: it is there, or it is another by now; 404: it is gone.
                  if (answer.ok() || answer.status == 409 || answer.status == 404) return;
                  if (on_note_) on_note_(Printable(answer.error->ToString()));
                  client_.After(std::chrono::seconds(1), [this, key, still = alive] {
                    if (!still.expired()) dirty_.insert(key);
                  });
                });
}

void VolcanoJobs::Create(const kube::Resource& resource, const std::string& ns,
                         const std::string& body, const std::string& key) {
  if (!body.empty()) Ask(kube::Create(resource, ns, body), key);
}

// What somebody else took away is told of once, as on its way out.
std::vector<VolcanoPod> VolcanoJobs::PodsOf(const std::string& key) {
  std::set<std::string> still;
  auto& leaving = leaving_[key];
  std::vector<VolcanoPod> pods;
  for (const std::string& pod_key : pods_of_[key]) {
    const VolcanoPodSeen* seen = pods_.known().Find(pod_key);
    if (seen == nullptr) continue;
    if (leaving.count(seen->pod.uid) != 0) still.insert(seen->pod.uid);
    pods.push_back(seen->pod);
  }
  leaving = still;
  if (!leaving.empty()) return pods;
  for (auto& [uid, pod] : std::exchange(vanished_[key], {})) {
    pod.leaving = true;
    pods.push_back(pod);
  }
  return pods;
}

void VolcanoJobs::SayNotes(const kube::Object& job, const VolcanoJobPlan& plan,
                           const std::string& key) {
  if (!noted_.insert(job.meta.uid).second || plan.notes.empty()) return;
  const std::string all = fmt::format("{}", fmt::join(plan.notes, "; "));
  if (on_note_) on_note_(Printable(key + ": " + all));
  const kube::Meta& meta = job.meta;
  Ask(FieldsEvent({kVolcanoJobs, {meta.ns, meta.name, meta.uid, meta.resource_version}, all},
                  client_.clock().Now()),
      key);
}

void VolcanoJobs::MakeObjects(const kube::Object& job, const VolcanoJobPlan& plan,
                              const std::string& key) {
  if (!made_.insert(job.meta.uid).second) return;
  const std::string& ns = job.meta.ns;
  Create(kVolcanoGroups, ns, plan.group, key);
  Create(kube::kServices, ns, plan.service, key);
  Create(kube::kConfigMaps, ns, plan.hosts, key);
  if (plan.secret_name.empty()) return;
  // One that is there already keeps its keys: the server refuses a second of its name.
  const auto keys = make_keys_();
  if (keys.ok()) return Create(kSecrets, ns, VolcanoSecretBody(job.json, *keys), key);
  made_.erase(job.meta.uid);
  if (on_note_) on_note_(Printable(key + ": " + keys.error().message));
}

void VolcanoJobs::Look(const std::string& key) {
  const kube::Object* job = jobs_.known().Find(key);
  if (job == nullptr || job->meta.deleted) {
    vanished_.erase(key);
    return;
  }
  const std::vector<VolcanoPod> pods = PodsOf(key);
  auto& leaving = leaving_[key];
  if (!leaving.empty()) return;  // looked at again when they are gone
  const auto plan = PlanVolcanoJob(job->json, pods, client_.clock().Now());
  if (!plan.ok()) {
    if (on_note_ && noted_.insert(job->meta.uid).second)
      on_note_(Printable(key + ": " + plan.error().message));
    return;
  }
  SayNotes(*job, *plan, key);
  if (plan->over)
    return Ask(kube::Delete(kVolcanoJobs, job->meta.ns, job->meta.name, {job->meta.uid, ""}, {},
                            "Background"),
               key);
  MakeObjects(*job, *plan, key);
  for (const std::string& pod : plan->pods) Create(kube::kPods, job->meta.ns, pod, key);
  // One restart for all that leave with it, whoever told them to.
  for (const VolcanoPod& pod : pods) {
    if (!plan->remove.empty() && pod.leaving && pods_.known().Find(job->meta.ns + "/" + pod.name))
      leaving.insert(pod.uid);
  }
  for (const VolcanoPod& pod : plan->remove) {
    if (pod.leaving) continue;
    leaving.insert(pod.uid);
    Ask(kube::Delete(kube::kPods, job->meta.ns, pod.name, {pod.uid, ""}), key);
  }
  if (plan->look_at) LookAgainAt(*plan->look_at, key);
  if (!plan->status.empty())
    Ask(kube::MergePatch(kVolcanoJobs, job->meta.ns, job->meta.name, plan->status, "status"), key);
}

}  // namespace muster::kubesched
