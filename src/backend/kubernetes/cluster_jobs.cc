#include "backend/kubernetes/cluster_jobs.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/apply.h"
#include "backend/kubernetes/working_gang.h"
#include "base/digest.h"
#include "base/strings.h"
#include "kube/json.h"
#include "kube/known_kinds.h"
#include "kube/quantity.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

std::vector<kube::Resource> KindsOf(render::Dialect dialect) {
  std::vector<kube::Resource> kinds = {kube::kJobs, kube::kServices, kube::kPods};
  if (dialect == render::Dialect::kVolcano)
    kinds.insert(kinds.begin(), kube::ResourceFor("batch.volcano.sh/v1alpha1", "Job"));
  if (dialect == render::Dialect::kJobSet)
    kinds.insert(kinds.begin(), kube::ResourceFor("jobset.x-k8s.io/v1alpha2", "JobSet"));
  return kinds;
}

// An object that a proof left.
struct Left {
  kube::Resource kind;
  std::string name;
};

Result<std::vector<Left>> Labelled(kube::Client& client, const ClusterJobsOptions& options,
                                   const std::string& selector) {
  std::vector<Left> found;
  for (const kube::Resource& kind : KindsOf(options.dialect)) {
    TRY(const std::string body, client.Ask(kube::List(kind, options.ns, {selector, {}})));
    TRY_VOID(kube::ReadList(body, [&](std::string_view text) -> Status {
      const auto object = kube::Json::parse(text, nullptr, false);
      found.push_back({kind, kube::TextAt(object, "metadata", "name")});
      return {};
    }));
  }
  return found;
}

std::vector<std::string> NamesOf(const std::vector<Left>& left, const std::string& ns) {
  std::vector<std::string> names;
  for (const Left& one : left)
    names.push_back(fmt::format("{} {}/{}", one.kind.kind, ns, one.name));
  return names;
}

RankResult RankOf(const kube::Pod& pod, const kube::Json& json, int rank) {
  RankResult result;
  result.rank = rank;
  result.node = pod.node_name;
  result.result.exit_code = pod.phase == "Succeeded" ? 0 : pod.phase == "Failed" ? 1 : -1;
  for (const kube::Json& one : kube::ListAt(json, "status", "containerStatuses")) {
    result.result.exit_code = static_cast<int>(
        kube::IntAt(kube::At(one, "state", "terminated"), "exitCode", result.result.exit_code));
  }
  return result;
}

// "KEY=VALUE,KEY=VALUE" of a pin.
Result<std::vector<std::pair<std::string, std::string>>> PairsOf(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view part : Split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return Fail(Code::kInvalid, fmt::format("\"{}\": expected NAME=VALUE", Printable(part)));
    pairs.emplace_back(Trim(part.substr(0, equals)), Trim(part.substr(equals + 1)));
  }
  return pairs;
}

Status ReadWorkPins(const std::map<std::string, std::string>& pins, ClusterJobsOptions& options) {
  const auto read = [&](const char* key, auto take) -> Status {
    const auto found = pins.find(key);
    if (found == pins.end()) return {};
    return take(found->second).Context(fmt::format("pins.{}", key));
  };
  TRY_VOID(read("proof_devices", [&](const std::string& text) -> Status {
    TRY(const auto pairs, PairsOf(text));
    for (const auto& [name, value] : pairs) {
      TRY(const int64_t count, ParseInt(value));
      if (count < 1 || count > 64) return Fail(Code::kInvalid, "expected 1 to 64 of a device");
      options.devices.emplace_back(name, static_cast<int>(count));
    }
    return {};
  }));
  TRY_VOID(read("proof_networks", [&](const std::string& text) -> Status {
    for (const std::string_view part : Split(text, ',')) options.networks.emplace_back(Trim(part));
    return {};
  }));
  TRY_VOID(read("proof_annotations", [&](const std::string& text) -> Status {
    TRY(const auto pairs, PairsOf(text));
    options.annotations.insert(pairs.begin(), pairs.end());
    return {};
  }));
  TRY_VOID(read("proof_cpu", [&](const std::string& text) -> Status {
    TRY(options.cpu_milli, kube::ParseMilli(text));
    return {};
  }));
  TRY_VOID(read("proof_memory", [&](const std::string& text) -> Status {
    TRY(const int64_t milli, kube::ParseMilli(text));
    options.memory_bytes = milli / 1000;
    return {};
  }));
  return read("proof_start_within", [&](const std::string& text) -> Status {
    TRY(options.start_within, ParseDuration(text));
    return {};
  });
}

}  // namespace

std::string ProofName(const std::string& gang) { return "proof-" + Sha256Hex(gang).substr(0, 12); }

render::JobRequest ProofRequest(const ClusterJobsOptions& options, const std::string& gang) {
  render::JobRequest request;
  request.dialect = options.dialect;
  request.name = ProofName(gang);
  request.ns = options.ns;
  request.queue = options.queue;
  request.scheduler = options.scheduler;
  request.image = options.image;
  request.torchrun = false;
  request.wait_s = 0;  // whoever needs rank 0's name waits for it himself
  request.gpu_resource = options.gpu_resource;
  request.max_retry = 0;
  request.labels = {{std::string(kProofLabel), "true"}, {"owner", "muster"}};
  request.annotations = options.annotations;
  return request;
}

Result<ClusterJobsOptions> OptionsFromPins(const std::map<std::string, std::string>& pins) {
  ClusterJobsOptions options;
  const auto text = [&](const char* key, std::string& into) {
    if (const auto found = pins.find(key); found != pins.end()) into = found->second;
  };
  std::string dialect = "job", patience;
  text("gang_dialect", dialect);
  TRY(options.dialect, render::ParseDialect(dialect).Context("pins.gang_dialect"));
  if (options.dialect == render::Dialect::kSbatch)
    return Fail(Code::kInvalid, "pins.gang_dialect: a cluster takes no batch scripts");
  text("proof_namespace", options.ns);
  text("proof_queue", options.queue);
  text("proof_scheduler", options.scheduler);
  text("proof_image", options.image);
  text("gang_patience", patience);
  if (!patience.empty()) {
    TRY(options.patience, ParseDuration(patience).Context("pins.gang_patience"));
  }
  TRY_VOID(ReadWorkPins(pins, options));
  return options;
}

void SchedulerWord::Hear(const kube::Pod& pod) {
  for (const kube::Condition& c : pod.conditions) {
    if (c.type != "PodScheduled" || c.status != "False") continue;
    const std::string& said = c.message.empty() ? c.reason : c.message;
    if (!said.empty()) word_ = said;
  }
}

std::string SchedulerWord::Text() const { return Shorten(Printable(word_), 300); }

Result<std::vector<std::string>> ClusterJobs::Leftovers(const std::string& gang_name) {
  const std::string selector =
      fmt::format("app.kubernetes.io/name={},{}=true", ProofName(gang_name), kProofLabel);
  TRY(const std::vector<Left> left, Labelled(client_, options_, selector));
  return NamesOf(left, options_.ns);
}

// What an earlier run left when it was killed: all with the label, whoever's gang it was.
Status ClusterJobs::Sweep() {
  const std::string selector = fmt::format("{}=true", kProofLabel);
  TRY(std::vector<Left> left, Labelled(client_, options_, selector));
  if (left.empty()) return {};
  for (const Left& one : left) {
    const kube::Answer answer =
        client_.Await(kube::Delete(one.kind, options_.ns, one.name, {}, {}, "Background"));
    if (!answer.ok() && answer.status != 404) return Fail(*answer.error);
  }
  const Duration until = client_.clock().Monotonic() + options_.until_gone;
  while (client_.clock().Monotonic() < until) {
    TRY(left, Labelled(client_, options_, selector));
    if (left.empty()) return {};
    client_.clock().SleepFor(options_.every);
  }
  return Fail(Code::kTimeout,
              "an earlier proof's objects do not go: " + Join(NamesOf(left, options_.ns), ", "));
}

Result<GangResult> ClusterJobs::Watch(const std::string& gang, int wanted, Duration timeout) {
  const Duration began = client_.clock().Monotonic();
  const std::string selector = fmt::format("app.kubernetes.io/name={}", gang);
  SchedulerWord scheduler;
  GangResult result;
  while (true) {
    TRY(const std::string body, client_.Ask(kube::List(kube::kPods, options_.ns, {selector, {}})));
    result.ranks.clear();
    int ended = 0;
    TRY_VOID(kube::ReadList(body, [&](std::string_view text) -> Status {
      TRY(const kube::Pod pod, kube::DecodePod(text));
      scheduler.Hear(pod);
      if (pod.node_name.empty()) return {};
      const int rank = static_cast<int>(result.ranks.size());
      result.ranks.push_back(RankOf(pod, kube::Json::parse(text, nullptr, false), rank));
      ended += pod.Finished() ? 1 : 0;
      return {};
    }));
    result.took = client_.clock().Monotonic() - began;
    const int bound = static_cast<int>(result.ranks.size());
    result.all_started = bound >= wanted;
    if (ended >= wanted) return result;
    if (bound == 0 && result.took >= options_.patience)
      return Fail(Code::kRefused, fmt::format("not one of {} pods was bound in {}: {}", wanted,
                                              FormatDuration(options_.patience), scheduler.Text()));
    // Some bound and some not is what a gang scheduler exists to prevent: it is not waited for.
    const bool half = bound > 0 && bound < wanted && result.took >= options_.patience;
    if (half || result.took >= timeout) return result;
    client_.clock().SleepFor(options_.every);
  }
}

Result<GangResult> ClusterJobs::RunGang(const GangSpec& spec) {
  if (options_.image.empty() && spec.image.empty()) {
    return Fail(Code::kInvalid, "pins: proof_image names no image: NAME@sha256:..., with sh in it");
  }
  const std::lock_guard lock(mutex_);
  TRY_VOID(Sweep());
  if (spec.pod_a_node) return RunWorking(spec);
  render::JobRequest request = ProofRequest(options_, spec.name);
  request.ttl_s = 60;
  request.limit_s = 600;
  render::Group group;
  group.name = "rank";
  group.pods = static_cast<int>(spec.nodes.size()) * spec.ranks_per_node;
  group.gpus = spec.gpus_per_rank;
  group.cpu_milli = 100;
  group.memory_bytes = int64_t{64} << 20;
  group.command = spec.argv;
  request.groups.push_back(std::move(group));
  for (const auto& [name, value] : spec.env) request.env.emplace_back(name, value);
  TRY(const render::RenderedJob job, render::Render(request));
  TRY_VOID(submit::ApplyAll(client_, job));
  auto result = Watch(request.name, request.Pods(), spec.timeout);
  // Whatever it was, it goes; what stays is found by Leftovers and said there.
  const Status removed = submit::RemoveAll(client_, job, options_.until_gone);
  if (result.ok() && !removed.ok() && removed.error().code != Code::kTimeout)
    return Fail(removed.error());
  return result;
}

Result<GangResult> ClusterJobs::RunWorking(const GangSpec& spec) {
  TRY(const render::JobRequest request, WorkingRequest(options_, spec));
  TRY(const render::RenderedJob job, render::Render(request));
  TRY_VOID(submit::ApplyAll(client_, job));
  auto result = WatchWorking(client_, options_, spec, request);
  const Status removed = submit::RemoveAll(client_, job, options_.until_gone);
  if (result.ok() && !removed.ok()) return Fail(removed.error());
  return result;
}

}  // namespace muster::kubernetes
