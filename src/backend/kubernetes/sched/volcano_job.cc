#include "backend/kubernetes/sched/volcano_job.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace muster::kubesched {

namespace {

using Json = nlohmann::json;
constexpr int kMostPods = 10'000;
constexpr int kVolcanosMaxRetry = 3;

struct Task {
  std::string name;
  int replicas = 1, first = 0;  // first: of its pods among the Job's
  const Json* spec = nullptr;
};

// Volcano's pytorch plugin: where the master is, and each pod's rank.
// (volcano pkg/controllers/job/plugins/distributed-framework/pytorch)
struct Pytorch {
  bool on = false;
  std::string master = "master", worker = "worker", port = "23456";
};

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
int Number(const Json& object, const char* key, int otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return otherwise;
  return static_cast<int>(std::clamp<int64_t>(found->get<int64_t>(), 0, 1'000'000));
}
const Json& Member(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}
const Json& List(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

Pytorch ReadPytorch(const Json& plugins) {
  Pytorch pytorch;
  if (!plugins.contains("pytorch")) return pytorch;
  pytorch.on = true;
  for (const Json& argument : List(plugins, "pytorch")) {
    if (!argument.is_string()) continue;
    std::string text = argument.get<std::string>();
    text.erase(0, std::min(text.find_first_not_of('-'), text.size()));
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = text.substr(0, equals), value = text.substr(equals + 1);
    if (key == "master") pytorch.master = value;
    if (key == "worker") pytorch.worker = value;
    if (key == "port") pytorch.port = value;
  }
  return pytorch;
}

class Planner {
 public:
  explicit Planner(const Json& job)
      : job_(job),
        meta_(Member(job, "metadata")),
        spec_(Member(job, "spec")),
        name_(Text(meta_, "name")),
        ns_(Text(meta_, "namespace")),
        uid_(Text(meta_, "uid")) {}

  Result<VolcanoJobPlan> Plan(const std::vector<VolcanoPod>& pods) {
    TRY_VOID(ReadTasks());
    pytorch_ = ReadPytorch(Member(spec_, "plugins"));
    const bool service = pytorch_.on || Member(spec_, "plugins").contains("svc");
    plan_.group_name = name_ + "-" + uid_;
    plan_.group = Group().dump();
    if (service) plan_.service_name = name_, plan_.service = Service().dump();
    Note();
    plan_.retries = Number(Member(job_, "status"), "retryCount", 0);
    const std::string before = Text(Member(Member(job_, "status"), "state"), "phase");
    if (before == "Completed" || before == "Failed" || before == "Aborted" ||
        before == "Terminated") {
      plan_.phase = before;
      RemoveRest(pods);
      return plan_;
    }
    Judge(pods);
    if (plan_.phase != "Pending" && plan_.phase != "Running") return plan_;
    std::set<std::string> there;
    for (const VolcanoPod& pod : pods) there.insert(pod.name);
    for (const Task& task : tasks_) {
      for (int i = 0; i < task.replicas; ++i) {
        const std::string pod = fmt::format("{}-{}-{}", name_, task.name, i);
        if (there.count(pod) == 0) plan_.pods.push_back(Pod(task, i, pod, service).dump());
      }
    }
    return plan_;
  }

 private:
  Status ReadTasks() {
    int all = 0;
    for (const Json& one : List(spec_, "tasks")) {
      Task task;
      task.name = Text(one, "name");
      if (task.name.empty()) task.name = fmt::format("default{}", tasks_.size());
      task.replicas = Number(one, "replicas", 1);
      task.first = all;
      task.spec = &one;
      all += task.replicas;
      if (all > kMostPods)
        return Fail(Code::kInvalid, fmt::format("job {}: more than {} pods", name_, kMostPods));
      if (Member(one, "template").empty() || Member(Member(one, "template"), "spec").empty())
        return Fail(Code::kInvalid,
                    fmt::format("job {}: spec.tasks {} has no template.spec", name_, task.name));
      tasks_.push_back(task);
    }
    if (all == 0 || name_.empty())
      return Fail(Code::kInvalid, fmt::format("job {}: spec.tasks makes no pods", name_));
    pod_count_ = all;
    return {};
  }

  Json Owner() const {
    return {{"apiVersion", "batch.volcano.sh/v1alpha1"},
            {"kind", "Job"},
            {"name", name_},
            {"uid", uid_},
            {"controller", true}};
  }

  Json Group() const {
    Json spec = {{"minMember", Number(spec_, "minAvailable", pod_count_)}};
    const std::string queue = Text(spec_, "queue"), priority = Text(spec_, "priorityClassName");
    spec["queue"] = queue.empty() ? "default" : queue;
    if (!priority.empty()) spec["priorityClassName"] = priority;
    Json roles = Json::object();
    for (const Task& task : tasks_) {
      if (task.spec->contains("minAvailable"))
        roles[task.name] = Number(*task.spec, "minAvailable", task.replicas);
    }
    if (!roles.empty()) spec["minTaskMember"] = roles;
    if (spec_.contains("networkTopology")) spec["networkTopology"] = spec_["networkTopology"];
    return {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
            {"kind", "PodGroup"},
            {"metadata",
             {{"name", name_ + "-" + uid_},
              {"namespace", ns_},
              {"ownerReferences", Json::array({Owner()})}}},
            {"spec", spec}};
  }

  Json Service() const {
    return {{"apiVersion", "v1"},
            {"kind", "Service"},
            {"metadata",
             {{"name", name_}, {"namespace", ns_}, {"ownerReferences", Json::array({Owner()})}}},
            {"spec",
             {{"clusterIP", "None"},
              {"publishNotReadyAddresses", true},
              {"selector", {{"volcano.sh/job-name", name_}}}}}};
  }

  // Volcano's svc plugin: the hosts of each task, and how many (VC_WORKER_HOSTS, VC_WORKER_NUM).
  // (volcano pkg/controllers/job/plugins/svc)
  void AddHosts(Json& env) const {
    for (const Task& task : tasks_) {
      std::string upper = task.name, hosts;
      for (char& c : upper) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
      for (int i = 0; i < task.replicas; ++i)
        hosts += fmt::format("{}{}-{}-{}.{}", i == 0 ? "" : ",", name_, task.name, i, name_);
      env.push_back({{"name", fmt::format("VC_{}_HOSTS", upper)}, {"value", hosts}});
      env.push_back(
          {{"name", fmt::format("VC_{}_NUM", upper)}, {"value", std::to_string(task.replicas)}});
    }
  }

  // Rank 0 is the master; workers follow in their order.
  void AddPytorch(const Task& task, int index, Json& env) const {
    int workers = 0;
    bool has_master = false;
    for (const Task& other : tasks_) {
      if (other.name == pytorch_.worker) workers = other.replicas;
      has_master = has_master || other.name == pytorch_.master;
    }
    if (task.name != pytorch_.master && task.name != pytorch_.worker) return;
    const int rank = task.name == pytorch_.master ? 0 : index + (has_master ? 1 : 0);
    const auto add = [&](const char* name, const std::string& value) {
      env.push_back({{"name", name}, {"value", value}});
    };
    add("MASTER_ADDR", fmt::format("{}-{}-0.{}", name_, pytorch_.master, name_));
    add("MASTER_PORT", pytorch_.port);
    add("WORLD_SIZE", std::to_string(workers + (has_master ? 1 : 0)));
    add("RANK", std::to_string(rank));
  }

  Json Pod(const Task& task, int index, const std::string& name, bool service) const {
    const Json& pod_template = Member(*task.spec, "template");
    Json meta = Member(pod_template, "metadata");
    meta["name"] = name;
    meta["namespace"] = ns_;
    meta["ownerReferences"] = Json::array({Owner()});
    for (const char* key : {"labels", "annotations"}) {
      if (!meta.contains(key) || !meta[key].is_object()) meta[key] = Json::object();
      meta[key]["volcano.sh/job-name"] = name_;
      meta[key]["volcano.sh/task-spec"] = task.name;
    }
    meta["annotations"]["scheduling.k8s.io/group-name"] = name_ + "-" + uid_;
    meta["labels"]["volcano.sh/job-namespace"] = ns_;
    meta["labels"]["volcano.sh/task-index"] = std::to_string(index);
    Json spec = Member(pod_template, "spec");
    const std::string scheduler = Text(spec_, "schedulerName");
    if (Text(spec, "schedulerName").empty())
      spec["schedulerName"] = scheduler.empty() ? "volcano" : scheduler;
    if (service) spec["hostname"] = name, spec["subdomain"] = name_;
    for (Json& container : spec["containers"]) {
      if (!container.is_object()) continue;
      Json& env = container["env"];
      if (!env.is_array()) env = Json::array();
      if (Member(spec_, "plugins").contains("env")) {
        for (const char* variable : {"VK_TASK_INDEX", "VC_TASK_INDEX"})
          env.push_back({{"name", variable}, {"value", std::to_string(index)}});
      }
      if (Member(spec_, "plugins").contains("svc")) AddHosts(env);
      if (pytorch_.on) AddPytorch(task, index, env);
    }
    return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", meta}, {"spec", spec}};
  }

  bool Asks(const Json& policies, const char* event, const char* action) const {
    for (const Json& policy : policies) {
      const Json& events = List(policy, "events");
      const bool named = Text(policy, "event") == event ||
                         std::find(events.begin(), events.end(), event) != events.end();
      if (named && Text(policy, "action") == action) return true;
    }
    return false;
  }

  void RemoveRest(const std::vector<VolcanoPod>& pods) {
    for (const VolcanoPod& pod : pods) {
      const bool over = pod.phase == "Succeeded" || pod.phase == "Failed";
      if (!over && !pod.leaving) plan_.remove.push_back(pod);
    }
  }

  // The Job's own policies; a task's stand before them.
  void Judge(const std::vector<VolcanoPod>& pods) {
    std::map<std::string, int> succeeded;
    int ended_well = 0, running = 0;
    const VolcanoPod* failed = nullptr;
    for (const VolcanoPod& pod : pods) {
      running += pod.phase == "Running" ? 1 : 0;
      if (pod.phase == "Succeeded") ++succeeded[pod.task], ++ended_well;
      if (pod.phase == "Failed" && failed == nullptr) failed = &pod;
    }
    plan_.phase = running + ended_well > 0 ? "Running" : "Pending";
    const Json& policies = List(spec_, "policies");
    for (const Task& task : tasks_) {
      const Json& own = List(*task.spec, "policies");
      const bool done = task.replicas > 0 && succeeded[task.name] >= task.replicas;
      if (done && (Asks(own, "TaskCompleted", "CompleteJob") ||
                   Asks(policies, "TaskCompleted", "CompleteJob"))) {
        plan_.phase = "Completed";
        return RemoveRest(pods);
      }
    }
    const int enough = Number(spec_, "minSuccess", pod_count_);
    if (enough > 0 && ended_well >= enough) {
      plan_.phase = "Completed";
      return RemoveRest(pods);
    }
    if (failed == nullptr) return;
    const Json* own = nullptr;
    for (const Task& task : tasks_) {
      if (task.name == failed->task) own = &List(*task.spec, "policies");
    }
    bool restart = false;
    for (const char* event : {"PodFailed", "PodEvicted", "*"}) {
      restart = restart || Asks(policies, event, "RestartJob") ||
                (own != nullptr && Asks(*own, event, "RestartJob"));
    }
    if (restart && plan_.retries < Number(spec_, "maxRetry", kVolcanosMaxRetry)) {
      // All of them go; the next look makes them anew.
      ++plan_.retries;
      plan_.phase = "Pending";
      for (const VolcanoPod& pod : pods) {
        if (!pod.leaving) plan_.remove.push_back(pod);
      }
    } else if (restart || Asks(policies, "PodFailed", "AbortJob") ||
               Asks(policies, "PodFailed", "TerminateJob")) {
      plan_.phase = "Failed";
      RemoveRest(pods);
    } else if (ended_well + running == 0 && static_cast<int>(pods.size()) >= pod_count_) {
      plan_.phase = "Failed";
    }
  }

  void Note() {
    for (const auto& [name, value] : Member(spec_, "plugins").items()) {
      if (name == "pytorch" || name == "svc" || name == "env") continue;
      plan_.notes.push_back(fmt::format("plugins.{}: read, and not acted on", name));
    }
    if (Member(spec_, "plugins").contains("svc"))
      plan_.notes.emplace_back("plugins.svc: hosts in the environment, no files in /etc/volcano");
    for (const auto& [key, value] : spec_.items()) {
      static const std::set<std::string> kDone = {
          "schedulerName", "minAvailable", "tasks",      "policies",          "plugins",
          "queue",         "maxRetry",     "minSuccess", "priorityClassName", "networkTopology"};
      const bool nothing = value.is_null() || (value.is_structured() && value.empty());
      if (!nothing && kDone.count(key) == 0)
        plan_.notes.push_back(fmt::format("spec.{}: read, and not acted on", key));
    }
    for (const Task& task : tasks_) {
      for (const auto& [key, value] : task.spec->items()) {
        static const std::set<std::string> kDone = {"name", "replicas", "minAvailable", "template",
                                                    "policies"};
        const bool nothing = value.is_null() || (value.is_structured() && value.empty());
        if (!nothing && kDone.count(key) == 0)
          plan_.notes.push_back(fmt::format("task {} {}: read, and not acted on", task.name, key));
      }
    }
    const auto look = [&](const Json& policies, const std::string& where) {
      static const std::set<std::string> kEvents = {"TaskCompleted", "PodFailed", "PodEvicted",
                                                    "*"};
      for (const Json& policy : policies) {
        std::string event = Text(policy, "event");
        if (event.empty() && !List(policy, "events").empty() && policy["events"][0].is_string())
          event = policy["events"][0].get<std::string>();
        const std::string action = Text(policy, "action");
        if (policy.contains("timeout"))
          plan_.notes.push_back(fmt::format("{}: timeout is not waited for", where));
        const bool known =
            kEvents.count(event) != 0 && (action == "RestartJob" || action == "CompleteJob" ||
                                          action == "AbortJob" || action == "TerminateJob");
        if (!known)
          plan_.notes.push_back(fmt::format("{}: {} on {} is not acted on", where, action,
                                            event.empty() ? "an exit code" : event));
      }
    };
    look(List(spec_, "policies"), "spec.policies");
    for (const Task& task : tasks_)
      look(List(*task.spec, "policies"), "task " + task.name + " policies");
  }

  const Json& job_;
  const Json &meta_, &spec_;
  const std::string name_, ns_, uid_;
  std::vector<Task> tasks_;
  int pod_count_ = 0;
  Pytorch pytorch_;
  VolcanoJobPlan plan_;
};

}  // namespace

Result<VolcanoJobPlan> PlanVolcanoJob(std::string_view json, const std::vector<VolcanoPod>& pods) {
  const Json job = Json::parse(json, nullptr, false);
  if (!job.is_object()) return Fail(Code::kParse, "a Volcano Job that is no JSON object");
  try {
    return Planner(job).Plan(pods);
  } catch (const Json::exception& error) {
    return Fail(Code::kInvalid,
                std::string("a Volcano Job of an unexpected form: ") + error.what());
  }
}

}  // namespace muster::kubesched
