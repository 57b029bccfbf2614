#include "backend/kubernetes/sched/volcano_job.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "backend/kubernetes/sched/volcano_plugins.h"
#include "backend/kubernetes/sched/volcano_policies.h"
#include "kube/base64.h"

namespace muster::kubesched {

namespace volcano {
namespace {

constexpr int kMostPods = 10'000;

class Planner {
 public:
  explicit Planner(const Json& job)
      : meta_(ObjectAt(job, "metadata")),
        spec_(ObjectAt(job, "spec")),
        status_(ObjectAt(job, "status")),
        name_(TextAt(meta_, "name")),
        ns_(TextAt(meta_, "namespace")),
        uid_(TextAt(meta_, "uid")),
        plugins_(spec_, name_, ns_, tasks_) {}

  Result<VolcanoJobPlan> Plan(const std::vector<VolcanoPod>& pods, TimePoint now) {
    TRY_VOID(ReadTasks());
    plan_.group_name = name_ + "-" + uid_;
    plan_.group =
        Object("scheduling.volcano.sh/v1beta1", "PodGroup", plan_.group_name, "spec", GroupSpec());
    if (plugins_.service()) {
      plan_.service_name = name_;
      plan_.service = Object("v1", "Service", name_, "spec", plugins_.Service());
    }
    if (const std::string hosts = plugins_.hosts_name(); !hosts.empty())
      plan_.hosts = Object("v1", "ConfigMap", hosts, "data", plugins_.Hosts());
    plan_.secret_name = plugins_.secret_name();
    Note();
    const std::string before = TextAt(status_, "state", "phase");
    const Judged judged =
        Judge(spec_, tasks_, pods, before, CountAt(status_, "retryCount", 0), now);
    plan_.phase = judged.phase, plan_.retries = judged.retries, plan_.look_at = judged.look_at;
    plan_.version = CountAt(status_, "version", 0) + (judged.killed ? 1 : 0);
    for (const VolcanoPod& pod : pods) {
      if (judged.remove.count(pod.name) != 0) plan_.remove.push_back(pod);
    }
    WriteStatus(pods, before, now);
    if (HasEnded(plan_.phase)) {
      JudgeAge(before, now);
    } else if (plan_.remove.empty() && !judged.look_at) {
      MakePods(pods);
    }
    return plan_;
  }

  Result<std::string> Secret(const SshKeys& keys) {
    TRY_VOID(ReadTasks());
    return Object("v1", "Secret", plugins_.secret_name(), "data",
                  {{"id_rsa", kube::ToBase64(keys.private_pem)},
                   {"id_rsa.pub", kube::ToBase64(keys.public_line)},
                   {"config", kube::ToBase64(plugins_.SshConfig())}});
  }

 private:
  Status ReadTasks() {
    for (const Json& one : ListAt(spec_, "tasks")) {
      Task task;
      task.name = TextAt(one, "name");
      if (task.name.empty()) task.name = fmt::format("default{}", tasks_.size());
      task.replicas = CountAt(one, "replicas", 1);
      task.spec = &one;
      pod_count_ += task.replicas;
      if (pod_count_ > kMostPods)
        return Fail(Code::kInvalid, fmt::format("job {}: more than {} pods", name_, kMostPods));
      if (ObjectAt(one, "template").empty() || ObjectAt(one, "template", "spec").empty())
        return Fail(Code::kInvalid,
                    fmt::format("job {}: spec.tasks {} has no template.spec", name_, task.name));
      tasks_.push_back(task);
    }
    if (pod_count_ == 0 || name_.empty())
      return Fail(Code::kInvalid, fmt::format("job {}: spec.tasks makes no pods", name_));
    return {};
  }

  Json Owner() const {
    return {{"apiVersion", "batch.volcano.sh/v1alpha1"},
            {"kind", "Job"},
            {"name", name_},
            {"uid", uid_},
            {"controller", true}};
  }

  std::string Object(const char* version, const char* kind, const std::string& name,
                     const char* part, Json content) const {
    return Json(
               {{"apiVersion", version},
                {"kind", kind},
                {"metadata",
                 {{"name", name}, {"namespace", ns_}, {"ownerReferences", Json::array({Owner()})}}},
                {part, std::move(content)}})
        .dump();
  }

  Json GroupSpec() const {
    Json spec = {{"minMember", CountAt(spec_, "minAvailable", pod_count_)}};
    const std::string queue = TextAt(spec_, "queue"), priority = TextAt(spec_, "priorityClassName");
    spec["queue"] = queue.empty() ? "default" : queue;
    if (!priority.empty()) spec["priorityClassName"] = priority;
    Json roles = Json::object();
    for (const Task& task : tasks_) {
      if (task.spec->contains("minAvailable"))
        roles[task.name] = CountAt(*task.spec, "minAvailable", task.replicas);
    }
    if (!roles.empty()) spec["minTaskMember"] = roles;
    if (spec_.contains("networkTopology")) spec["networkTopology"] = spec_["networkTopology"];
    return spec;
  }

  void MakePods(const std::vector<VolcanoPod>& pods) {
    std::set<std::string> there;
    for (const VolcanoPod& pod : pods) there.insert(pod.name);
    for (const Task& task : tasks_) {
      for (int i = 0; i < task.replicas; ++i) {
        const std::string pod = fmt::format("{}-{}-{}", name_, task.name, i);
        if (there.count(pod) == 0) plan_.pods.push_back(Pod(task, i, pod));
      }
    }
  }

  std::string Pod(const Task& task, int index, const std::string& name) const {
    const Json& pod_template = ObjectAt(*task.spec, "template");
    Json meta = ObjectAt(pod_template, "metadata");
    meta["name"] = name;
    meta["namespace"] = ns_;
    meta["ownerReferences"] = Json::array({Owner()});
    for (const char* key : {"labels", "annotations"}) {
      if (!meta.contains(key) || !meta[key].is_object()) meta[key] = Json::object();
      meta[key]["volcano.sh/job-name"] = name_;
      meta[key]["volcano.sh/task-spec"] = task.name;
    }
    meta["annotations"]["scheduling.k8s.io/group-name"] = name_ + "-" + uid_;
    meta["annotations"]["volcano.sh/job-version"] = std::to_string(plan_.version);
    meta["annotations"]["volcano.sh/job-retry-count"] = std::to_string(plan_.retries);
    meta["labels"]["volcano.sh/job-namespace"] = ns_;
    meta["labels"]["volcano.sh/task-index"] = std::to_string(index);
    Json spec = ObjectAt(pod_template, "spec");
    const std::string scheduler = TextAt(spec_, "schedulerName");
    if (TextAt(spec, "schedulerName").empty())
      spec["schedulerName"] = scheduler.empty() ? "volcano" : scheduler;
    plugins_.Extend(task, index, name, spec);
    return Json({{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta}, {"spec", spec}}).dump();
  }

  // Counts as Volcano keeps them, and a condition for each phase that it was in.
  void WriteStatus(const std::vector<VolcanoPod>& pods, const std::string& before, TimePoint now) {
    std::map<std::string, int> all;
    std::map<std::string, std::map<std::string, int>> of_task;
    for (const Task& task : tasks_) of_task[task.name];
    for (const VolcanoPod& pod : pods) {
      const std::string phase = pod.leaving ? "Terminating" : pod.phase;
      ++all[phase], ++of_task[pod.task][phase];
    }
    Json status = {{"minAvailable", CountAt(spec_, "minAvailable", pod_count_)},
                   {"retryCount", plan_.retries},
                   {"version", plan_.version}};
    for (const auto& [key, phase] :
         {std::pair{"pending", "Pending"}, std::pair{"running", "Running"},
          std::pair{"succeeded", "Succeeded"}, std::pair{"failed", "Failed"},
          std::pair{"terminating", "Terminating"}})
      status[key] = all.count(phase) != 0 ? all[phase] : 0;
    for (const auto& [task, phases] : of_task) {
      Json counts = Json::object();
      // A merge patch takes away only what it names.
      for (const char* phase : {"Pending", "Running", "Succeeded", "Failed", "Terminating"}) {
        const auto count = phases.find(phase);
        if (count != phases.end()) counts[phase] = count->second;
        const bool stood = ObjectAt(status_, "taskStatusCount", task, "phase").contains(phase);
        if (count == phases.end() && stood) counts[phase] = nullptr;
      }
      status["taskStatusCount"][task]["phase"] = std::move(counts);
    }
    if (plan_.phase != before) {
      const std::string time = FormatTime(std::chrono::floor<std::chrono::seconds>(now));
      status["state"] = {{"phase", plan_.phase}, {"lastTransitionTime", time}};
      constexpr size_t kMostConditions = 50;
      Json conditions = ListAt(status_, "conditions");
      while (conditions.size() >= kMostConditions) conditions.erase(conditions.begin());
      conditions.push_back({{"status", plan_.phase}, {"lastTransitionTime", time}});
      status["conditions"] = std::move(conditions);
    }
    Json after = status_;
    after.merge_patch(status);
    if (after != status_) plan_.status = Json({{"status", std::move(status)}}).dump();
  }

  // ttlSecondsAfterFinished; a Job that was aborted may be resumed, and stays.
  void JudgeAge(const std::string& before, TimePoint now) {
    if (!spec_.contains("ttlSecondsAfterFinished") || plan_.phase == "Aborted") return;
    const auto since = plan_.phase != before
                           ? Result<TimePoint>(now)
                           : ParseTime(TextAt(status_, "state", "lastTransitionTime"));
    if (!since.ok()) return;
    const TimePoint due =
        *since + std::chrono::seconds(CountAt(spec_, "ttlSecondsAfterFinished", 0));
    plan_.over = due <= now && plan_.phase == before;
    if (!plan_.over) plan_.look_at = due;
  }

  void NoteRest(const Json& object, const std::set<std::string>& done, const std::string& where) {
    for (const auto& [key, value] : object.items()) {
      const bool nothing = value.is_null() || (value.is_structured() && value.empty());
      if (!nothing && done.count(key) == 0)
        plan_.notes.push_back(fmt::format("{}{}: read, and not acted on", where, key));
    }
  }
  void Note() {
    plugins_.Note(plan_.notes);
    NoteRest(spec_,
             {"schedulerName", "minAvailable", "tasks", "policies", "plugins", "queue", "maxRetry",
              "minSuccess", "priorityClassName", "networkTopology", "ttlSecondsAfterFinished"},
             "spec.");
    for (const Task& task : tasks_)
      NoteRest(*task.spec, {"name", "replicas", "minAvailable", "template", "policies"},
               "task " + task.name + " ");
    NotePolicies(spec_, tasks_, plan_.notes);
  }

  const Json &meta_, &spec_, &status_;
  const std::string name_, ns_, uid_;
  std::vector<Task> tasks_;
  int pod_count_ = 0;
  const Plugins plugins_;
  VolcanoJobPlan plan_;
};

template <typename Use>
auto WithJob(std::string_view json, Use use) -> decltype(use(std::declval<Planner&>())) {
  const Json job = Json::parse(json, nullptr, false);
  if (!job.is_object()) return Fail(Code::kParse, "a Volcano Job that is no JSON object");
  try {
    Planner planner(job);
    return use(planner);
  } catch (const Json::exception& error) {
    return Fail(Code::kInvalid,
                std::string("a Volcano Job of an unexpected form: ") + error.what());
  }
}

}  // namespace
}  // namespace volcano

Result<VolcanoJobPlan> PlanVolcanoJob(std::string_view json, const std::vector<VolcanoPod>& pods,
                                      TimePoint now) {
  return volcano::WithJob(json, [&](volcano::Planner& planner) { return planner.Plan(pods, now); });
}

std::string VolcanoSecretBody(std::string_view json, const SshKeys& keys) {
  const auto body =
      volcano::WithJob(json, [&](volcano::Planner& planner) { return planner.Secret(keys); });
  return body.value_or("");
}

Result<VolcanoPodSeen> DecodeVolcanoPod(std::string_view json) {
  TRY(kube::Object object, kube::DecodeObject(json));
  VolcanoPodSeen seen;
  VolcanoPod& pod = seen.pod;
  pod.name = object.meta.name, pod.uid = object.meta.uid;
  if (const std::string* task = object.meta.Label("volcano.sh/task-spec")) pod.task = *task;
  pod.leaving = object.meta.deleted.has_value();
  const volcano::Json root = volcano::Json::parse(json, nullptr, false);
  const volcano::Json& status = volcano::ObjectAt(root, "status");
  pod.phase = volcano::TextAt(status, "phase");
  pod.reason = volcano::TextAt(status, "reason");
  for (const volcano::Json& container : volcano::ListAt(status, "containerStatuses")) {
    const volcano::Json& ended = volcano::ObjectAt(container, "state", "terminated");
    if (ended.empty()) continue;
    const int code = volcano::CountAt(ended, "exitCode", 0);
    if (code != 0 && !pod.exit_code) pod.exit_code = code;
    if (const auto at = ParseTime(volcano::TextAt(ended, "finishedAt")); at.ok())
      pod.ended = std::max(pod.ended.value_or(*at), *at);
  }
  seen.meta = std::move(object.meta);
  return seen;
}

}  // namespace muster::kubesched
