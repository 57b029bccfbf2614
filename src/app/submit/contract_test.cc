// What is rendered is what was asked for: read back through the manifest reader as the same gang,
// and without a finding of the platform contract, in every dialect.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "diagnose/lint/lint.h"
#include "manifest/gangs.h"
#include "manifest/sbatch.h"
#include "render/render.h"

namespace muster::submit {
namespace {

using render::Dialect;
using render::Group;
using render::JobRequest;

std::string Describe(const Job& job) {
  std::string text = fmt::format("{} queue={} priority={} required={} preferred={} limit={}\n",
                                 job.name, job.queue, job.priority, job.topology.required,
                                 job.topology.preferred, job.limit_ms.value_or(-1));
  for (const TaskGroup& g : job.tasks) {
    text += fmt::format("  {} {}/{}", g.name, g.min, g.count);
    for (const auto& [name, amount] : g.shape) text += fmt::format(" {}={}", name, amount);
    for (const auto& [key, value] : g.select) text += fmt::format(" [{}={}]", key, value);
    for (const Toleration& t : g.tolerate) text += fmt::format(" ~{}:{}", t.key, t.op);
    text += "\n";
  }
  return text;
}

struct ReadBack {
  std::string gang;
  std::vector<std::string> findings, notes;
};

ReadBack Read(const JobRequest& request) {
  ReadBack back;
  const auto rendered = render::Render(request);
  if (!rendered.ok()) {
    back.findings.push_back("not rendered: " + rendered.error().message);
    return back;
  }
  LintInput input;
  if (request.dialect == Dialect::kSbatch) {
    auto script = ParseSbatch(rendered->Text(), "job.sbatch");
    if (!script.ok()) {
      back.findings.push_back(script.error().message);
      return back;
    }
    std::vector<ManifestNote> notes;
    const auto read = ReadSbatchJob(*script, notes);
    back.gang = read.ok() ? Describe(read->job) : read.error().message;
    input.scripts.push_back(std::move(*script));
  } else {
    auto file = ParseManifestFile(rendered->Text(), "job.yaml");
    if (!file.ok()) {
      back.findings.push_back(file.error().message);
      return back;
    }
    input.files.push_back(std::move(*file));
    const Gangs gangs = ReadGangs(input.files);
    back.gang = gangs.jobs.size() == 1 ? Describe(gangs.jobs[0].job)
                                       : fmt::format("{} jobs", gangs.jobs.size());
    for (const std::string& error : gangs.errors) back.findings.push_back(error);
    for (const ManifestNote& note : gangs.notes) back.notes.push_back(note.ToString());
  }
  for (const LintFinding& f : Lint(input, **LoadLintRules(), {}))
    back.findings.push_back(ToString(f));
  return back;
}

JobRequest AnyRequest() {
  const auto below = [](int low, int high) { return *rc::gen::inRange(low, high); };
  const auto flip = [] { return *rc::gen::arbitrary<bool>(); };
  JobRequest request;
  request.dialect = *rc::gen::element(Dialect::kJob, Dialect::kJobSet, Dialect::kVolcano,
                                      Dialect::kKueue, Dialect::kSbatch);
  request.name = *rc::gen::element<std::string>("llm", "a", "pre-train-7b", "x-0-y");
  request.ns = *rc::gen::element<std::string>("default", "ml", "team-a");
  request.image = "registry.example/llm@sha256:" + std::string(64, 'a');
  request.torchrun = flip();
  if (flip() || request.dialect == Dialect::kKueue) request.queue = "research";
  Group group;
  group.pods = below(1, 9);
  group.gpus = *rc::gen::element(0, 1, 2, 4, 8);
  group.cpu_milli = *rc::gen::element(1000, 500, 8000, 64000);
  group.memory_bytes =
      *rc::gen::element<int64_t>(int64_t{1} << 30, int64_t{512} << 30, 300'000'000);
  if (request.dialect == Dialect::kSbatch) {
    request.limit_s = below(600, 90000);
    const int tasks = request.torchrun ? 1 : std::max(1, group.gpus);
    group.cpu_milli = 1000 * tasks * below(1, 5);
    group.memory_bytes = int64_t{below(1, 100)} << 30;
    request.gpu_type = "h100";
  }
  group.command = {"train.py", "--epochs", "3"};
  if (!request.torchrun) group.command = {"python", "train.py"};
  request.groups.push_back(group);
  if (flip() && (request.dialect == Dialect::kJobSet || request.dialect == Dialect::kVolcano)) {
    Group rollout = group;
    rollout.name = "rollout";
    rollout.gpus = *rc::gen::element(1, 4);
    rollout.command = {"serve"};
    request.groups.push_back(rollout);
  }
  request.devices = {{"rdma/rdma_shared_device_a", 1}};
  if (flip()) request.networks = {"rail-0", "net/rail-1"};
  if (flip()) request.gpu_product = "NVIDIA-H100-80GB-HBM3";
  if (request.dialect != Dialect::kSbatch) {
    const int wish = below(0, 3);
    if (wish == 1) request.topology.required = "example.com/rack";
    if (wish == 2) request.topology.preferred = "example.com/block";
    if (flip()) request.limit_s = below(60, 1'000'000);
  }
  request.env = {{"NCCL_IB_HCA", "=mlx5_0,mlx5_1"}, {"NCCL_NET", "IB"}};
  request.checkpoint_claim = flip() ? "checkpoints" : "";
  request.checkpoint_path =
      request.checkpoint_claim.empty() ? "s3://bucket/llm" : "/checkpoints/llm";
  if (request.dialect == Dialect::kSbatch) {
    request.checkpoint_claim.clear();
    request.checkpoint_path = "/shared/llm";
  }
  request.labels = {{"team", "research"}};
  return request;
}

RC_GTEST_PROP(Rendered, IsReadBackAsTheGangThatWasAskedFor, ()) {
  const JobRequest request = AnyRequest();
  const ReadBack back = Read(request);
  RC_LOG() << render::Render(request)->Text();
  RC_ASSERT(back.gang == Describe(render::GangOf(request)));
}

RC_GTEST_PROP(Rendered, HasNoFindingOfThePlatformContract, ()) {
  const JobRequest request = AnyRequest();
  const ReadBack back = Read(request);
  RC_LOG() << render::Render(request)->Text();
  for (const std::string& finding : back.findings) RC_LOG() << finding << "\n";
  RC_ASSERT(back.findings.empty());
}

RC_GTEST_PROP(Rendered, TheTwinAsksForTheSameGang, ()) {
  JobRequest request = AnyRequest();
  JobRequest twin = render::CheapTwin(request);
  const ReadBack back = Read(twin);
  RC_LOG() << render::Render(twin)->Text();
  for (const std::string& finding : back.findings) RC_LOG() << finding << "\n";
  request.name = twin.name;
  request.limit_s = twin.limit_s;
  if (request.dialect != Dialect::kSbatch)
    RC_ASSERT(back.gang == Describe(render::GangOf(request)));
}

}  // namespace
}  // namespace muster::submit
