#include "render/pod_template.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::render {

using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kGib = int64_t{1} << 30, kMib = int64_t{1} << 20;

Json CpuText(int64_t milli) {
  return milli % 1000 == 0 ? fmt::format("{}", milli / 1000) : fmt::format("{}m", milli);
}
Json BytesText(int64_t bytes) {
  if (bytes % kGib == 0) return fmt::format("{}Gi", bytes / kGib);
  if (bytes % kMib == 0) return fmt::format("{}Mi", bytes / kMib);
  return fmt::format("{}", bytes);
}

// Limits alone: requests follow them, and the pod is Guaranteed.
Json ResourcesOf(const JobRequest& request, const Group& group) {
  Json limits = Json::object();
  if (group.gpus > 0) {
    limits[request.gpu_resource] = group.gpus;
    for (const auto& [name, count] : request.devices) limits[name] = count;
  }
  limits["cpu"] = CpuText(group.cpu_milli);
  if (group.memory_bytes > 0) limits["memory"] = BytesText(group.memory_bytes);
  return {{"limits", limits}};
}

Json EnvOf(const JobRequest& request, const Group& group) {
  Json env = Json::array();
  const auto add = [&](const std::string& name, const std::string& value) {
    env.push_back({{"name", name}, {"value", value}});
  };
  if (!request.torchrun) {
    const std::string host = request.Rank0Host();
    if (request.dialect != Dialect::kVolcano) {  // its pytorch plugin says them
      add("MASTER_ADDR", host);
      add("MASTER_PORT", std::to_string(request.port));
    }
    add("NNODES", std::to_string(group.pods));
  }
  if (!request.node_variable.empty()) {
    env.push_back({{"name", request.node_variable},
                   {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}});
  }
  if (!request.checkpoint_path.empty()) add("CHECKPOINT_DIR", request.checkpoint_path);
  if (group.gpus > 0) {
    for (const auto& [name, value] : request.env) add(name, value);
  }
  return env;
}

Json Volumes(const JobRequest& request, const Group& group, Json& mounts) {
  Json volumes = Json::array();
  if (group.gpus > 0) {
    // NCCL and data loaders keep their buffers there; 8 GiB a GPU is what lint LINT-504 names.
    volumes.push_back(
        {{"name", "shm"},
         {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", fmt::format("{}Gi", 8 * group.gpus)}}}});
    mounts.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
  }
  if (!request.checkpoint_claim.empty()) {
    volumes.push_back({{"name", "checkpoints"},
                       {"persistentVolumeClaim", {{"claimName", request.checkpoint_claim}}}});
    // The claim's root is mounted, so that a path below it is one job's own.
    const std::string& path = request.checkpoint_path;
    mounts.push_back({{"name", "checkpoints"}, {"mountPath", path.substr(0, path.find('/', 1))}});
  }
  return volumes;
}

Json WaitContainer(const JobRequest& request, const Group& group) {
  Json limits = {{"cpu", CpuText(std::min<int64_t>(group.cpu_milli, 1000))}};
  if (group.memory_bytes > 0)
    limits["memory"] = BytesText(std::min<int64_t>(group.memory_bytes, 256 * kMib));
  return {{"name", "wait-for-rank-0"},
          {"image", request.image},
          {"command", {"sh", "-c", WaitScript(request)}},
          // What it waited for stands in the pod's status, not in a log that goes with the pod.
          {"terminationMessagePolicy", "FallbackToLogsOnError"},
          {"resources", {{"limits", limits}}}};
}

}  // namespace

Json LabelsOf(const JobRequest& request) {
  Json labels = {{"app.kubernetes.io/name", request.name},
                 {"app.kubernetes.io/managed-by", "muster"}};
  for (const auto& [key, value] : request.labels) labels[key] = value;
  return labels;
}

std::vector<std::string> LaunchOf(const JobRequest& request, const Group& group,
                                  const std::string& endpoint) {
  if (!request.torchrun || &group != &request.groups.front()) return group.command;
  std::vector<std::string> words = {
      "torchrun",
      fmt::format("--nnodes={}", group.pods),
      fmt::format("--nproc_per_node={}", std::max(1, group.gpus)),
      fmt::format("--rdzv_id={}",
                  request.dialect == Dialect::kSbatch ? "$SLURM_JOB_ID" : request.name),
      "--rdzv_backend=c10d",
      "--rdzv_endpoint=" + endpoint};
  // torchrun starts Python scripts; anything else goes through --no-python.
  const std::string& first = group.command.front();
  if (!EndsWith(first, ".py")) words.emplace_back("--no-python");
  words.insert(words.end(), group.command.begin(), group.command.end());
  return words;
}

std::string WaitScript(const JobRequest& request) {
  const std::string host = request.Rank0Host();
  return fmt::format(
      "waited=0\n"
      "until getent hosts {0}; do\n"
      "  waited=$((waited + 1))\n"
      "  if [ $waited -ge {1} ]; then\n"
      "    echo \"{0} has no address after {1} s: look at Service {2} and the cluster DNS\" >&2\n"
      "    exit 1\n"
      "  fi\n"
      "  sleep 1\n"
      "done\n",
      host, request.wait_s, request.name);
}

namespace {

// What makes the pods of a Job or a JobSet one gang to Muster's scheduler. An Indexed Job that
// names a queue is one by that already, and its queue is then asked.
void MarkGang(const JobRequest& request, const Group& group, Json& labels) {
  const bool by_queue = request.dialect == Dialect::kJob && !request.queue.empty();
  if (by_queue || (request.dialect != Dialect::kJob && request.dialect != Dialect::kJobSet)) return;
  labels["muster.dev/gang"] = request.name;
  labels["muster.dev/gang-size"] = std::to_string(request.Pods());
  if (request.groups.size() > 1) labels["muster.dev/role"] = group.name;
}

}  // namespace

Json PodTemplate(const JobRequest& request, const Group& group, const PodPlace& place) {
  Json metadata = {{"labels", LabelsOf(request)}};
  MarkGang(request, group, metadata["labels"]);
  Json annotations = Json::object();
  for (const auto& [key, value] : request.annotations) annotations[key] = value;
  if (group.gpus > 0 && !request.networks.empty())
    annotations["k8s.v1.cni.cncf.io/networks"] = Join(request.networks, ",");
  if (request.dialect != Dialect::kVolcano) {
    if (!request.topology.required.empty())
      annotations["kueue.x-k8s.io/podset-required-topology"] = request.topology.required;
    if (!request.topology.preferred.empty())
      annotations["kueue.x-k8s.io/podset-preferred-topology"] = request.topology.preferred;
  }
  if (!annotations.empty()) metadata["annotations"] = annotations;

  Json spec = Json::object();
  if (!place.scheduler.empty()) spec["schedulerName"] = place.scheduler;
  if (place.set_subdomain) spec["subdomain"] = request.name;
  spec["restartPolicy"] = "Never";
  spec["enableServiceLinks"] = false;
  spec["automountServiceAccountToken"] = false;
  if (!request.priority_class.empty()) spec["priorityClassName"] = request.priority_class;
  if (group.gpus > 0) {
    if (!request.gpu_product.empty())
      spec["nodeSelector"] = {{"nvidia.com/gpu.product", request.gpu_product}};
    spec["tolerations"] = Json::array({{{"key", request.gpu_resource}, {"operator", "Exists"}}});
  }
  if (place.wait && request.wait_s > 0 && request.Pods() > 1)
    spec["initContainers"] = Json::array({WaitContainer(request, group)});

  Json mounts = Json::array();
  Json volumes = Volumes(request, group, mounts);
  const std::string endpoint = request.dialect == Dialect::kVolcano
                                   ? "$(MASTER_ADDR):$(MASTER_PORT)"
                                   : fmt::format("{}:{}", request.Rank0Host(), request.port);
  std::vector<std::string> words = LaunchOf(request, group, endpoint);
  Json container = {{"name", "main"}, {"image", request.image}};
  container["command"] = Json::array({words.front()});
  if (words.size() > 1)
    container["args"] = std::vector<std::string>(words.begin() + 1, words.end());
  if (Json env = EnvOf(request, group); !env.empty()) container["env"] = std::move(env);
  if (group.gpus > 0 && !request.devices.empty())
    container["securityContext"] = {{"capabilities", {{"add", {"IPC_LOCK"}}}}};
  container["resources"] = ResourcesOf(request, group);
  if (!mounts.empty()) container["volumeMounts"] = std::move(mounts);
  spec["containers"] = Json::array({std::move(container)});
  if (!volumes.empty()) spec["volumes"] = std::move(volumes);
  return {{"metadata", metadata}, {"spec", spec}};
}

}  // namespace muster::render
