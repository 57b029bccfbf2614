#include "backend/kubernetes/cluster_endpoint.h"

#include <fmt/format.h>

#include "backend/kubernetes/apply.h"
#include "backend/kubernetes/working_gang.h"
#include "base/strings.h"
#include "kube/core.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

// The pod's job, removed with this object; what could not be removed carries the label of every
// proof, and the next one finds it.
class ServedPod final : public ServedModel {
 public:
  ServedPod(kube::Client& client, render::RenderedJob job, Duration until_gone)
      : client_(client), job_(std::move(job)), until_gone_(until_gone) {}
  ~ServedPod() override { static_cast<void>(submit::RemoveAll(client_, job_, until_gone_).ok()); }
  std::string url() const override { return url_; }
  std::string model() const override { return model_; }

  std::string url_, model_;

 private:
  kube::Client& client_;
  const render::RenderedJob job_;
  const Duration until_gone_;
};

// The job's one pod; nothing while there is none.
Result<std::optional<kube::Pod>> PodOf(kube::Client& client, const render::JobRequest& request) {
  const std::string selector = fmt::format("app.kubernetes.io/name={}", request.name);
  TRY(const std::string body, client.Ask(kube::List(kube::kPods, request.ns, {selector, {}})));
  std::optional<kube::Pod> found;
  TRY_VOID(kube::ReadList(body, [&](std::string_view text) -> Status {
    TRY(found, kube::DecodePod(text));
    return {};
  }));
  return found;
}

bool Healthy(Http& http, const std::string& url) {
  HttpRequest request;
  request.url = url + "/health";
  request.timeout = std::chrono::seconds(5);
  const auto answer = http.Do(request);
  return answer.ok() && answer->status == 200;
}

std::string HostOf(const std::string& ip) { return Contains(ip, ":") ? "[" + ip + "]" : ip; }

}  // namespace

Result<std::unique_ptr<ServedModel>> ClusterEndpoint::Open(const std::string&) {
  const InferenceTarget& target = site_.inference;
  const ClusterJobsOptions& options = jobs_.options();
  kube::Client& client = jobs_.client();
  if (options.image.empty() && target.image.empty())
    return Fail(Code::kInvalid, "inference.image and pins.proof_image name no image");
  TRY_VOID(jobs_.Sweep());
  render::JobRequest request = ProofRequest(options, site_.name + "-inference");
  if (!target.image.empty()) request.image = target.image;
  request.ttl_s = 600;
  request.port = target.port;
  request.limit_s = std::chrono::duration_cast<std::chrono::seconds>(target.ready_within).count() +
                    3600;  // an hour of load
  render::Group group;
  group.name = "server";
  group.gpus = target.gpus;
  group.cpu_milli = options.CpuMilliFor(group.gpus);
  group.memory_bytes = options.memory_bytes;
  group.command = target.command;
  request.groups.push_back(std::move(group));
  TRY(render::RenderedJob job, render::Render(request));
  TRY_VOID(submit::ApplyAll(client, job));
  auto served = std::make_unique<ServedPod>(client, std::move(job), options.until_gone);
  served->model_ = target.model;

  const Duration began = client.clock().Monotonic();
  SchedulerWord scheduler;
  while (true) {
    TRY(const std::optional<kube::Pod> pod, PodOf(client, request));
    const Duration waited = client.clock().Monotonic() - began;
    const bool bound = pod && !pod->node_name.empty();
    if (pod) scheduler.Hear(*pod);
    if (!bound && waited >= options.patience)
      return Fail(Code::kRefused, fmt::format("the server's pod was not bound in {}: {}",
                                              FormatDuration(options.patience), scheduler.Text()));
    if (pod && pod->Finished()) {
      const auto log = ReadPodLog(client, request.ns, pod->meta.name);
      const std::string end = log.ok() ? log->text : log.error().ToString();
      return Fail(
          Code::kUnavailable,
          fmt::format("the server's pod ended ({} {}): {}", pod->phase, Printable(pod->reason),
                      Printable(end.substr(end.size() - std::min<size_t>(end.size(), 400)))));
    }
    if (bound && pod->phase == "Running" && !pod->pod_ip.empty()) {
      served->url_ = fmt::format("http://{}:{}", HostOf(pod->pod_ip), target.port);
      if (Healthy(local_.http, served->url_)) return served;
    }
    if (waited >= target.ready_within) {
      // One that runs and is not healthy is observed as such.
      if (!served->url_.empty()) return served;
      return Fail(Code::kTimeout, fmt::format("the server's pod does not run after {}",
                                              FormatDuration(target.ready_within)));
    }
    client.clock().SleepFor(options.every);
  }
}

}  // namespace muster::kubernetes
