#include "backend/lab/kubernetes/pod_status.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::lab {

namespace {

using kube::Json;
using kube::WholeSeconds;

constexpr const char* kCompletionIndex = "batch.kubernetes.io/job-completion-index";
constexpr std::array kOwnConditions = {"PodReadyToStartContainers", "Initialized", "Ready",
                                       "ContainersReady"};

// When a condition became what it is: its time goes on only with its status.
std::string Since(const kube::Pod& pod, std::string_view type, std::string_view status,
                  TimePoint now) {
  for (const kube::Condition& before : pod.conditions) {
    if (before.type == type && before.status == status && before.since)
      return WholeSeconds(*before.since);
  }
  return WholeSeconds(now);
}

Json ConditionsOf(const kube::Pod& pod, const PodStatus& status) {
  const bool initialized = status.init_done >= pod.init_containers.size();
  const bool running = status.phase == "Running" && status.waiting.empty();
  Json conditions = Json::array();
  const auto add = [&](const char* type, bool is_true) {
    const char* const is = is_true ? "True" : "False";
    Json condition = {
        {"type", type}, {"status", is}, {"lastTransitionTime", Since(pod, type, is, status.now)}};
    if (!is_true && status.phase == "Succeeded") condition["reason"] = "PodCompleted";
    if (!is_true && status.phase == "Failed") condition["reason"] = "PodFailed";
    if (!is_true && !status.phase.empty() && !condition.contains("reason"))
      condition["reason"] = initialized ? "ContainersNotReady" : "ContainersNotInitialized";
    conditions.push_back(std::move(condition));
  };
  if (status.reason.empty()) {
    add("PodReadyToStartContainers", status.phase == "Running" || status.phase == "Pending");
    add("Initialized", initialized);
    add("Ready", running);
    add("ContainersReady", running);
  }
  for (const kube::Condition& other : pod.conditions) {
    if (std::find(kOwnConditions.begin(), kOwnConditions.end(), other.type) !=
        kOwnConditions.end()) {
      continue;
    }
    Json condition = {{"type", other.type}, {"status", other.status}};
    if (!other.reason.empty()) condition["reason"] = other.reason;
    if (!other.message.empty()) condition["message"] = other.message;
    if (other.since) condition["lastTransitionTime"] = WholeSeconds(*other.since);
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

// The state of the container whose turn it is.
Json StateNow(const PodStatus& status) {
  if (!status.waiting.empty())
    return {{"waiting",
             {{"reason", status.waiting}, {"message", "it ended and is started again later"}}}};
  if (status.phase == "Running" || status.phase == "Pending")
    return {{"running", {{"startedAt", WholeSeconds(status.started)}}}};
  const std::string why = !status.end_reason.empty() ? status.end_reason
                          : status.exit_code == 0    ? "Completed"
                                                     : "Error";
  return {{"terminated",
           {{"exitCode", status.exit_code},
            {"reason", why},
            {"startedAt", WholeSeconds(status.started)},
            {"finishedAt", WholeSeconds(status.now)}}}};
}

Json ContainerStatus(const kube::Pod& pod, const kube::Container& container, Json state) {
  const bool running = state.contains("running");
  return {
      {"name", container.name}, {"image", container.image},
      {"imageID", "played"},    {"containerID", "played://" + pod.meta.uid + "/" + container.name},
      {"ready", running},       {"started", running},
      {"restartCount", 0},      {"state", std::move(state)}};
}

void AddRestarts(const PodStatus& status, Json& of) {
  of["restartCount"] = status.restarts;
  if (status.last_exit)
    of["lastState"] = {{"terminated",
                        {{"exitCode", *status.last_exit},
                         {"reason", *status.last_exit == 0 ? "Completed" : "Error"},
                         {"startedAt", WholeSeconds(status.started)},
                         {"finishedAt", WholeSeconds(status.now)}}}};
}

Json ContainerStatuses(const kube::Pod& pod, const PodStatus& status) {
  const bool initialized = status.init_done >= pod.init_containers.size();
  Json list = Json::array();
  for (const kube::Container& container : pod.containers) {
    list.push_back(ContainerStatus(
        pod, container,
        initialized ? StateNow(status) : Json{{"waiting", {{"reason", "PodInitializing"}}}}));
    if (initialized && list.size() == 1) AddRestarts(status, list.back());
  }
  return list;
}

Json InitStatuses(const kube::Pod& pod, const PodStatus& status) {
  Json list = Json::array();
  for (size_t i = 0; i < pod.init_containers.size(); ++i) {
    Json state;
    if (i < status.init_done) {
      state["terminated"] = {{"exitCode", 0}, {"reason", "Completed"}};
    } else if (i == status.init_done) {
      state = StateNow(status);
    } else {
      state["waiting"] = {{"reason", "PodInitializing"}};
    }
    Json one = ContainerStatus(pod, pod.init_containers[i], std::move(state));
    one["ready"] = i < status.init_done;
    if (i == status.init_done) AddRestarts(status, one);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string PodStatusPatch(const kube::Pod& pod, const PodStatus& status) {
  Json body = {{"phase", status.phase},
               {"startTime", WholeSeconds(status.started)},
               {"conditions", ConditionsOf(pod, status)}};
  if (!status.reason.empty()) {  // a rejected pod never had containers
    body["reason"] = status.reason;
    body["message"] = status.message;
  } else {
    body["hostIP"] = "127.0.0.1";
    body["podIP"] = status.ip;
    body["podIPs"] = Json::array({{{"ip", status.ip}}});
    body["containerStatuses"] = ContainerStatuses(pod, status);
    if (!pod.init_containers.empty()) body["initContainerStatuses"] = InitStatuses(pod, status);
    if (!status.message.empty()) body["message"] = status.message;
  }
  return kube::Dump({{"metadata", {{"uid", pod.meta.uid}}}, {"status", std::move(body)}});
}

PodOrders OrdersOf(const kube::Pod& pod) {
  PodOrders orders;
  orders.hold = pod.meta.Annotation("muster.dev/hold") != nullptr;
  if (const std::string* run = pod.meta.Annotation("muster.dev/run")) orders.run = *run == "true";
  if (const std::string* text = pod.meta.Annotation("muster.dev/run-for")) {
    const auto span = ParseDuration(*text);
    if (span.ok()) {
      orders.run_for = *span;
    } else {
      orders.trouble = "muster.dev/run-for: " + span.error().message;
    }
  }
  if (const std::string* text = pod.meta.Annotation("muster.dev/exit")) {
    const auto code = ParseInt(*text);
    if (code.ok() && *code >= 0 && *code <= 255) {
      orders.exit_code = static_cast<int>(*code);
    } else {
      orders.trouble = "muster.dev/exit: expected 0 to 255";
    }
  }
  return orders;
}

std::string ExpandVariables(std::string_view text,
                            const std::map<std::string, std::string>& environment) {
  std::string out;
  while (!text.empty()) {
    const size_t dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar);
    const size_t end = text.find(')');
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with("$(") && end != std::string_view::npos) {
      const auto found = environment.find(std::string(text.substr(2, end - 2)));
      out += found == environment.end() ? text.substr(0, end + 1) : std::string_view(found->second);
      text.remove_prefix(end + 1);
    } else {
      out += '$';
      text.remove_prefix(1);
    }
  }
  return out;
}

std::map<std::string, std::string> EnvironmentOf(const kube::Pod& pod,
                                                 const kube::Container& container,
                                                 const std::string& ip) {
  std::map<std::string, std::string> environment;
  if (const std::string* index = pod.meta.Annotation(kCompletionIndex)) {
    environment["JOB_COMPLETION_INDEX"] = *index;
  }
  const auto subscript = [](std::string_view path,
                            std::string_view map) -> std::optional<std::string> {
    const auto rest = After(path, map);
    if (!rest || !rest->starts_with("['") || !rest->ends_with("']")) return std::nullopt;
    return std::string(rest->substr(2, rest->size() - 4));
  };
  for (const auto& [name, path] : container.env_fields) {
    std::string value;
    if (path == "metadata.name") value = pod.meta.name;
    if (path == "metadata.namespace") value = pod.meta.ns;
    if (path == "metadata.uid") value = pod.meta.uid;
    if (path == "spec.nodeName") value = pod.node_name;
    if (path == "spec.serviceAccountName") value = pod.service_account;
    if (path == "status.podIP" || path == "status.hostIP") value = ip;
    if (const auto key = subscript(path, "metadata.annotations")) {
      if (const std::string* found = pod.meta.Annotation(*key)) value = *found;
    }
    if (const auto key = subscript(path, "metadata.labels")) {
      if (const std::string* found = pod.meta.Label(*key)) value = *found;
    }
    environment[name] = value;
  }
  for (const auto& [name, value] : container.env)
    environment[name] = ExpandVariables(value, environment);
  return environment;
}

}  // namespace muster::lab
