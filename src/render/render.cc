#include "render/render.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "render/pod_template.h"
#include "render/sbatch_script.h"
#include "render/yaml_text.h"

namespace muster::render {

namespace {

using Json = nlohmann::ordered_json;

RenderedObject ObjectOf(const Json& json, bool is_workload) {
  RenderedObject object;
  object.api_version = json["apiVersion"].get<std::string>();
  object.kind = json["kind"].get<std::string>();
  object.ns = json["metadata"]["namespace"].get<std::string>();
  object.name = json["metadata"]["name"].get<std::string>();
  object.json = json.dump();
  object.yaml = ToYamlText(json);
  object.is_workload = is_workload;
  return object;
}

Json Metadata(const JobRequest& request, bool queue_label) {
  Json labels = LabelsOf(request);
  if (queue_label && !request.queue.empty()) labels["kueue.x-k8s.io/queue-name"] = request.queue;
  return {{"name", request.name}, {"namespace", request.ns}, {"labels", labels}};
}

// Names of ranks are there before the ranks are ready: rank 0 needs its own while it starts.
Json HeadlessService(const JobRequest& request) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", Metadata(request, false)},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", {{"job-name", request.name}}}}}};
}

std::string SchedulerOf(const JobRequest& request) {
  if (!request.scheduler.empty()) return request.scheduler;
  if (request.dialect == Dialect::kVolcano) return "volcano";
  return request.dialect == Dialect::kKueue ? "" : "muster";
}

Json IndexedJobSpec(const JobRequest& request, const Group& group, bool own_service) {
  Json spec = {
      {"completions", group.pods}, {"parallelism", group.pods}, {"completionMode", "Indexed"}};
  spec["backoffLimit"] = 0;  // a rank that is made again alone cannot join the others
  if (request.limit_s) spec["activeDeadlineSeconds"] = *request.limit_s;
  if (own_service) spec["ttlSecondsAfterFinished"] = request.ttl_s;
  spec["template"] = PodTemplate(request, group, {SchedulerOf(request), own_service, true});
  return spec;
}

Json IndexedJob(const JobRequest& request) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", Metadata(request, true)},
          {"spec", IndexedJobSpec(request, request.groups.front(), true)}};
}

Json JobSet(const JobRequest& request) {
  Json spec = {{"network",
                {{"enableDNSHostnames", true},
                 {"subdomain", request.name},
                 {"publishNotReadyAddresses", true}}},
               {"failurePolicy", {{"maxRestarts", request.max_retry}}},
               {"ttlSecondsAfterFinished", request.ttl_s}};
  if (request.groups.size() > 1) {  // servers of a gang never end by themselves
    spec["successPolicy"] = {{"operator", "All"},
                             {"targetReplicatedJobs", {request.groups.front().name}}};
  }
  spec["replicatedJobs"] = Json::array();
  for (const Group& group : request.groups) {
    Json job = IndexedJobSpec(request, group, false);
    spec["replicatedJobs"].push_back(
        {{"name", group.name}, {"replicas", 1}, {"template", {{"spec", std::move(job)}}}});
  }
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", Metadata(request, true)},
          {"spec", std::move(spec)}};
}

Json VolcanoJob(const JobRequest& request) {
  const auto policy = [](const char* event, const char* action) {
    return Json{{"event", event}, {"action", action}};
  };
  const std::string scheduler = SchedulerOf(request);
  Json spec = {{"schedulerName", scheduler},
               {"queue", request.queue.empty() ? "default" : request.queue},
               {"minAvailable", request.Pods()},
               {"maxRetry", request.max_retry},
               {"ttlSecondsAfterFinished", request.ttl_s}};
  if (!request.priority_class.empty()) spec["priorityClassName"] = request.priority_class;
  if (!request.topology.required.empty()) {
    spec["networkTopology"] = {{"mode", "hard"}, {"highestTierName", request.topology.required}};
  } else if (!request.topology.preferred.empty()) {
    spec["networkTopology"] = {{"mode", "soft"}, {"highestTierName", request.topology.preferred}};
  }
  Json arguments = {"--master=master", fmt::format("--port={}", request.port)};
  if (request.groups.front().pods > 1) arguments.push_back("--worker=worker");
  spec["plugins"] = {{"pytorch", std::move(arguments)},
                     {"svc", {"--publish-not-ready-addresses=true"}}};
  spec["policies"] =
      Json::array({policy("PodEvicted", "RestartJob"), policy("PodFailed", "RestartJob")});
  spec["tasks"] = Json::array();
  const auto add = [&](const std::string& name, int pods, const Group& group) {
    Json task = {{"name", name}, {"replicas", pods}};
    if (name == "master") task["policies"] = Json::array({policy("TaskCompleted", "CompleteJob")});
    task["template"] = PodTemplate(request, group, {scheduler, false, true});
    if (request.limit_s) task["template"]["spec"]["activeDeadlineSeconds"] = *request.limit_s;
    spec["tasks"].push_back(std::move(task));
  };
  for (const Group& group : request.groups) {
    if (&group != &request.groups.front()) {
      add(group.name, group.pods, group);
      continue;
    }
    add("master", 1, group);
    if (group.pods > 1) add("worker", group.pods - 1, group);
  }
  return {{"apiVersion", "batch.volcano.sh/v1alpha1"},
          {"kind", "Job"},
          {"metadata", Metadata(request, false)},
          {"spec", std::move(spec)}};
}

// What a rank of the twin looks at. Each line that it prints is one finding, "contract:" first, so
// that the log is the evidence; the exit code is the verdict of the pod.
std::string TwinScript(const JobRequest& request, const Group& group) {
  std::string script =
      "bad=0\n"
      "says() { echo \"contract: $1\"; }\n"
      "fails() { echo \"contract: FAIL $1\"; bad=1; }\n";
  if (request.Pods() > 1) {
    script += fmt::format(
        "if address=$(getent hosts {0}); then says \"rank 0 is $address\"; "
        "else fails \"{0} does not resolve\"; fi\n",
        request.dialect == Dialect::kSbatch ? "$MASTER_ADDR" : request.Rank0Host());
  }
  if (group.gpus > 0) {
    const bool nvidia = request.gpu_resource == "nvidia.com/gpu";
    script += fmt::format(
        "if command -v {0} >/dev/null; then\n"
        "  gpus=$({0} {1} | grep -c {2}) || true\n"
        "  if [ \"$gpus\" = {3} ]; then says \"$gpus GPUs\"; else fails \"$gpus GPUs seen, {3} "
        "asked for\"; fi\n"
        "else fails \"{0} is not in the container: no GPU runtime\"; fi\n",
        nvidia ? "nvidia-smi" : "rocm-smi", nvidia ? "-L" : "--showid",
        nvidia ? "'^GPU '" : "'Device ID'", group.gpus);
    if (!request.devices.empty()) {
      script +=
          "if [ -n \"$(ls /dev/infiniband 2>/dev/null)\" ]; then says \"RDMA devices: $(ls "
          "/dev/infiniband | tr '\\n' ' ')\"; else fails \"no /dev/infiniband\"; fi\n"
          "if [ \"$(ulimit -l)\" = unlimited ]; then says \"memory may be locked\"; else says "
          "\"locked memory is limited to $(ulimit -l) KiB\"; fi\n";
    }
  }
  if (StartsWith(request.checkpoint_path, "/")) {
    script += fmt::format(
        "probe=\"$CHECKPOINT_DIR/.contract-$(hostname)\"\n"
        "if mkdir -p \"$CHECKPOINT_DIR\" && echo x >\"$probe\" && sync && rm \"$probe\"; then says "
        "\"checkpoints can be written\"; else fails \"$CHECKPOINT_DIR cannot be written\"; fi\n");
  }
  return script + "[ $bad = 0 ] && says kept\nexit $bad\n";
}

}  // namespace

std::string RenderedJob::Text() const {
  std::string text;
  for (const RenderedObject& object : objects) {
    if (!text.empty()) text += "---\n";
    text += object.yaml;
  }
  return text;
}

Result<RenderedJob> Render(const JobRequest& request) {
  TRY_VOID(CheckRequest(request));
  RenderedJob job;
  switch (request.dialect) {
    case Dialect::kJob:
    case Dialect::kKueue:
      if (request.Pods() > 1) job.objects.push_back(ObjectOf(HeadlessService(request), false));
      job.objects.push_back(ObjectOf(IndexedJob(request), true));
      break;
    case Dialect::kJobSet:
      job.objects.push_back(ObjectOf(JobSet(request), true));
      break;
    case Dialect::kVolcano:
      job.objects.push_back(ObjectOf(VolcanoJob(request), true));
      break;
    case Dialect::kSbatch: {
      RenderedObject script;
      script.kind = "sbatch";
      script.name = request.name;
      script.yaml = SbatchScriptOf(request);
      script.is_workload = true;
      job.objects.push_back(std::move(script));
      break;
    }
  }
  return job;
}

JobRequest CheapTwin(const JobRequest& request) {
  JobRequest twin = request;
  twin.name += "-twin";
  twin.torchrun = false;
  twin.max_retry = 0;
  twin.ttl_s = 600;
  twin.limit_s = 600;
  twin.labels[std::string(kTwinLabel)] = request.name;
  // The rendezvous is the real job's, and so must be its port; but the twin's own rank 0 answers.
  for (Group& group : twin.groups) group.command = {"sh", "-c", TwinScript(twin, group)};
  return twin;
}

}  // namespace muster::render
