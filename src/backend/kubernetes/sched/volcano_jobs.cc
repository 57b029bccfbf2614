#include "backend/kubernetes/sched/volcano_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/kubernetes/sched/serve.h"
#include "base/strings.h"

namespace muster::kubesched {

namespace {

const kube::Resource kVolcanoJobs{"batch.volcano.sh", "v1alpha1", "jobs", "Job"};
const kube::Resource kVolcanoGroups{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"};

std::string JobKeyOf(const kube::Pod& pod) {
  const std::string* name = pod.meta.Label("volcano.sh/job-name");
  return name == nullptr ? "" : pod.meta.ns + "/" + *name;
}

}  // namespace

VolcanoJobs::VolcanoJobs(kube::Client& client, std::function<bool()> leads, OnNote on_note)
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
            kube::DecodePod, [this](const kube::Change<kube::Pod>& change) {
              if (change.before != nullptr)
                pods_of_[JobKeyOf(*change.before)].erase(change.before->meta.Key());
              if (change.after != nullptr)
                pods_of_[JobKeyOf(*change.after)].insert(change.after->meta.Key());
              dirty_.insert(JobKeyOf(change.after != nullptr ? *change.after : *change.before));
            }) {}

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

void VolcanoJobs::Ask(kube::Request request, const std::string& key) {
  request.timeout = request.patience = std::chrono::seconds(4);
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

void VolcanoJobs::Look(const std::string& key) {
  const kube::Object* job = jobs_.known().Find(key);
  if (job == nullptr || job->meta.deleted) return;
  auto& leaving = leaving_[key];
  std::set<std::string> still;
  std::vector<VolcanoPod> pods;
  for (const std::string& pod_key : pods_of_[key]) {
    const kube::Pod* pod = pods_.known().Find(pod_key);
    if (pod == nullptr) continue;
    if (leaving.count(pod->meta.uid) != 0) still.insert(pod->meta.uid);
    const std::string* task = pod->meta.Label("volcano.sh/task-spec");
    pods.push_back({pod->meta.name, pod->meta.uid, task == nullptr ? "" : *task, pod->phase,
                    pod->meta.deleted.has_value()});
  }
  leaving = still;
  if (!leaving.empty()) return;  // looked at again when they are gone
  const auto plan = PlanVolcanoJob(job->json, pods);
  if (!plan.ok()) {
    if (on_note_ && noted_.insert(job->meta.uid).second)
      on_note_(Printable(key + ": " + plan.error().message));
    return;
  }
  if (noted_.insert(job->meta.uid).second && !plan->notes.empty()) {
    const std::string all = fmt::format("{}", fmt::join(plan->notes, "; "));
    if (on_note_) on_note_(Printable(key + ": " + all));
    const kube::Meta& meta = job->meta;
    const auto now = std::chrono::floor<std::chrono::seconds>(client_.clock().Now());
    Create(
        kube::kEvents, meta.ns,
        FieldsEventBody({kVolcanoJobs, {meta.ns, meta.name, meta.uid, meta.resource_version}, all},
                        FormatTime(now)),
        key);
  }
  if (made_.insert(job->meta.uid).second) {
    Create(kVolcanoGroups, job->meta.ns, plan->group, key);
    Create(kube::kServices, job->meta.ns, plan->service, key);
  }
  for (const std::string& pod : plan->pods) Create(kube::kPods, job->meta.ns, pod, key);
  for (const VolcanoPod& pod : plan->remove) {
    leaving.insert(pod.uid);
    Ask(kube::Delete(kube::kPods, job->meta.ns, pod.name, {pod.uid, ""}), key);
  }
  const std::string phase = kube::ValueAt(job->json, "/status/state/phase").value_or("");
  const std::string retries = kube::ValueAt(job->json, "/status/retryCount").value_or("0");
  if (phase != plan->phase || retries != std::to_string(plan->retries))
    Ask(kube::MergePatch(kVolcanoJobs, job->meta.ns, job->meta.name,
                         fmt::format(R"({{"status":{{"state":{{"phase":"{}"}},"retryCount":{}}}}})",
                                     plan->phase, plan->retries),
                         "status"),
        key);
}

}  // namespace muster::kubesched
