#include "app/submit/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/nccl_profile.h"
#include "app/site_file.h"
#include "app/submit/fit.h"
#include "app/submit/job_class.h"
#include "app/submit/read_objects.h"
#include "base/strings.h"
#include "base/time.h"
#include "manifest/quantity.h"

namespace muster::submit {

namespace {

using render::Group;
using render::JobRequest;

Result<std::pair<std::string, std::string>> Pair(const std::string& text, const char* expected) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return Fail(Code::kInvalid,
                fmt::format("\"{}\": expected {}", Shorten(Printable(text), 60), expected));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

// A label's value from a user's name: what a label may not hold becomes a dash.
std::string AsLabel(std::string_view text) {
  std::string label;
  for (const char c : text.substr(0, text.find('@'))) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (fine || (!label.empty() && (c == '-' || c == '_' || c == '.'))) label += c;
  }
  while (!label.empty() && std::string_view("-_.").find(label.back()) != std::string_view::npos)
    label.pop_back();
  return label.substr(0, 63);
}

Result<Group> GroupFrom(const std::string& name, const render::Shape& shape, const JobClass& kind,
                        const Words& words) {
  Group group;
  group.name = name;
  group.pods = shape.pods;
  group.gpus = shape.gpus;
  const int units = std::max(1, shape.gpus);
  group.cpu_milli = shape.gpus == 0 ? 1000 : kind.cpu_milli_per_gpu * units;
  group.memory_bytes = shape.gpus == 0 ? int64_t{1} << 30 : kind.memory_bytes_per_gpu * units;
  if (!words.cpu.empty()) {
    TRY(group.cpu_milli, ParseResourceAmount("cpu", words.cpu).Context("--cpu"));
  }
  if (!words.memory.empty()) {
    TRY(group.memory_bytes, ParseResourceAmount("memory", words.memory).Context("--memory"));
  }
  return group;
}

Status AddGroups(const Words& words, const JobClass& kind, JobRequest& request, std::string& gpu) {
  TRY(const render::Shape shape, render::ParseShape(words.shape));
  gpu = shape.gpu;
  TRY(Group first, GroupFrom("trainer", shape, kind, words));
  first.command = words.command;
  request.groups.push_back(std::move(first));
  for (const std::string& text : words.groups) {
    TRY(const auto named, Pair(text, "NAME=PODSxGPUS, such as rollout=4x1"));
    TRY(const render::Shape one, render::ParseShape(named.second));
    TRY(Group group, GroupFrom(named.first, one, kind, words));
    request.groups.push_back(std::move(group));
  }
  for (const std::string& text : words.beside_commands) {
    TRY(const auto named, Pair(text, "GROUP=WORDS, such as \"rollout=vllm serve model\""));
    const auto found = std::find_if(request.groups.begin(), request.groups.end(),
                                    [&](const Group& g) { return g.name == named.first; });
    if (found == request.groups.end())
      return Fail(Code::kInvalid, "--group-command names no group: " + named.first);
    for (const std::string_view word : SplitBlank(named.second)) found->command.emplace_back(word);
  }
  for (const std::string& name : kind.beside) {
    if (std::none_of(request.groups.begin(), request.groups.end(),
                     [&](const Group& g) { return g.name == name; })) {
      return Fail(
          Code::kInvalid,
          fmt::format("class {} needs --group {}=PODSxGPUS beside the trainer", kind.id, name));
    }
  }
  return {};
}

Status AddCheckpoint(const std::string& text, JobRequest& request) {
  if (text.empty()) return {};
  if (Contains(text, "://")) {
    request.checkpoint_path = text;
    return {};
  }
  const size_t colon = text.find(":/");
  if (colon == 0 || colon == std::string::npos)
    return Fail(Code::kInvalid,
                "--checkpoint: expected CLAIM:/path or a URL such as s3://bucket/path");
  request.checkpoint_claim = text.substr(0, colon);
  request.checkpoint_path = text.substr(colon + 1);
  return {};
}

Status AddPlatform(Files& files, const Words& words, const std::string& gpu, JobRequest& request,
                   std::vector<std::string>& notes) {
  const Group& first = request.groups.front();
  const Asked asked{first.pods, first.gpus, words.gpu_resource};
  if (!words.nodes_file.empty()) {
    ShapesRequest shapes;
    shapes.file = words.nodes_file;
    shapes.resource = words.gpu_resource;
    if (first.gpus > 0) {
      TRY(const ShapesReport report, NodeShapes(files, shapes));
      TRY_VOID(FitsNodes(report, asked));
    }
  }
  if (!words.site_file.empty()) {
    TRY(const LoadedSite loaded, ReadSiteFile(files, words.site_file));
    TRY_VOID(FitsSite(loaded.site.cluster, asked));
    if (first.gpus > 0) {
      const auto profile = MakeNcclProfile(loaded.site, words.profile, "");
      if (profile.ok()) {
        for (const NcclVariable& v : profile->variables) request.env.emplace_back(v.name, v.value);
      } else {
        notes.push_back("no NCCL profile: " + profile.error().message);
      }
    }
    if (request.devices.empty()) {
      if (const auto pin = loaded.site.pins.find("rdma_resource"); pin != loaded.site.pins.end())
        request.devices.emplace_back(pin->second, 1);
    }
  } else if (first.gpus > 0) {
    notes.emplace_back("no NCCL profile: --site names the inventory that it is made from");
  }
  if (words.nodes_file.empty() && words.site_file.empty() && first.gpus > 0)
    notes.emplace_back("the shape was held to no inventory: --site or --nodes names one");
  if (!gpu.empty() && request.gpu_product.empty() && request.dialect != render::Dialect::kSbatch)
    notes.push_back(
        fmt::format("any GPU is taken: --gpu-product with the value of the nodes' label "
                    "nvidia.com/gpu.product keeps the job on {}",
                    gpu));
  return {};
}

Result<JobRequest> RequestFrom(Files& files, const Words& words, std::vector<std::string>& notes) {
  TRY(const JobClass kind, FindJobClass(words.job_class));
  JobRequest request;
  TRY(request.dialect, render::ParseDialect(words.dialect).Context("--dialect"));
  request.name = words.name;
  request.ns = words.ns.empty() ? "default" : words.ns;
  request.image = words.image;
  request.queue = words.queue;
  request.scheduler = words.scheduler;
  request.priority_class = words.priority_class;
  request.torchrun = kind.torchrun;
  request.gpu_resource = words.gpu_resource;
  request.gpu_product = words.gpu_product;
  request.max_retry = words.max_retry;
  request.topology.required = words.topology;
  request.topology.preferred = words.prefer_topology;
  request.networks = words.networks;
  std::string gpu;
  TRY_VOID(AddGroups(words, kind, request, gpu));
  request.gpu_type = ToLower(gpu);
  for (const std::string& text : words.rdma) {
    TRY(const auto device, Pair(text, "RESOURCE=COUNT, such as rdma/ib=1"));
    TRY(const int64_t count, ParseInt(device.second).Context("--rdma"));
    request.devices.emplace_back(device.first,
                                 static_cast<int>(std::clamp<int64_t>(count, 0, 1024)));
  }
  for (const std::string& text : words.labels) {
    TRY(const auto label, Pair(text, "KEY=VALUE"));
    request.labels[label.first] = label.second;
  }
  if (words.labels.empty()) {
    if (const std::string owner = AsLabel(words.user); !owner.empty())
      request.labels["owner"] = owner;
  }
  TRY_VOID(AddCheckpoint(words.checkpoint, request));
  if (!words.limit.empty()) {
    TRY(const Duration limit, ParseDuration(words.limit).Context("--limit"));
    request.limit_s = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  }
  if (!words.ttl.empty()) {
    TRY(const Duration ttl, ParseDuration(words.ttl).Context("--ttl"));
    request.ttl_s = std::chrono::duration_cast<std::chrono::seconds>(ttl).count();
  }
  TRY_VOID(AddPlatform(files, words, gpu, request, notes));
  for (const std::string& text : words.env) {  // the person's own word comes last and counts
    TRY(const auto variable, Pair(text, "NAME=VALUE"));
    std::erase_if(request.env, [&](const auto& known) { return known.first == variable.first; });
    request.env.push_back(variable);
  }
  return request;
}

Status LintAll(Files& files, const Words& words, LintInput input, Plan& plan) {
  LintSite site;
  if (!words.site_file.empty()) {
    TRY(const LoadedSite loaded, ReadSiteFile(files, words.site_file));
    site = SiteOf(loaded.site.cluster);
    site.roce = loaded.site.roce;
  }
  TRY(const LintRules* const rules, LoadLintRules());
  plan.findings = Lint(input, *rules, site);
  plan.lint_errors = static_cast<int>(
      std::count_if(plan.findings.begin(), plan.findings.end(),
                    [](const LintFinding& f) { return f.severity == LintSeverity::kError; }));
  return {};
}

}  // namespace

Result<Plan> MakePlan(Files& files, const Words& words) {
  Plan plan;
  LintInput input;
  if (!words.files.empty()) {
    TRY_VOID(ReadObjects(files, words.files, words.ns, plan.job, input));
    TRY_VOID(LintAll(files, words, std::move(input), plan));
    return plan;
  }
  TRY(plan.request, RequestFrom(files, words, plan.notes));
  TRY(plan.job, render::Render(*plan.request));
  if (plan.request->dialect != render::Dialect::kSbatch) {
    TRY(plan.twin, render::Render(render::CheapTwin(*plan.request)));
    TRY(ManifestFile file, ParseManifestFile(plan.job.Text(), plan.request->name + ".yaml"));
    input.files.push_back(std::move(file));
  } else {
    TRY(SbatchScript script, ParseSbatch(plan.job.Text(), plan.request->name + ".sbatch"));
    input.scripts.push_back(std::move(script));
  }
  TRY_VOID(LintAll(files, words, std::move(input), plan));
  return plan;
}

}  // namespace muster::submit
