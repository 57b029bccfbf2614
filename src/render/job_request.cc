#include "render/job_request.h"

#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::render {

namespace {

constexpr std::array<std::pair<Dialect, std::string_view>, 5> kDialects = {
    {{Dialect::kJob, "job"},
     {Dialect::kJobSet, "jobset"},
     {Dialect::kVolcano, "volcano"},
     {Dialect::kKueue, "kueue"},
     {Dialect::kSbatch, "sbatch"}}};

constexpr int kMostPods = 10'000, kMostGpus = 128;

// RFC 1123, as the API server checks names that become host names.
bool IsDnsLabel(std::string_view text, size_t most) {
  if (text.empty() || text.size() > most || text.front() == '-' || text.back() == '-') return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

bool IsLabelPart(std::string_view text) {
  const auto alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > 63 || !alnum(text.front()) || !alnum(text.back())) return false;
  for (const char c : text) {
    if (!alnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

bool IsLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelPart(key);
  const std::string_view prefix = key.substr(0, slash);
  if (prefix.empty() || prefix.size() > 253 || !IsLabelPart(key.substr(slash + 1))) return false;
  for (const std::string_view part : Split(prefix, '.')) {
    if (!IsDnsLabel(part, 63)) return false;
  }
  return true;
}

// What stands in one #SBATCH line or one word of an option of it.
bool IsOneWord(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '\'' || c == '\\' || c == '#' || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

std::string_view ToString(Dialect dialect) {
  for (const auto& [value, name] : kDialects) {
    if (value == dialect) return name;
  }
  return "job";
}

Result<Dialect> ParseDialect(std::string_view text) {
  for (const auto& [value, name] : kDialects) {
    if (name == text) return value;
  }
  return Fail(Code::kInvalid, fmt::format("\"{}\": expected job, jobset, volcano, kueue or sbatch",
                                          Shorten(Printable(text), 40)));
}

Result<Shape> ParseShape(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid,
                fmt::format("shape \"{}\": expected PODSxGPUS or PODSxGPUSxMODEL, such as 2x8xH100",
                            Shorten(Printable(text), 40)));
  };
  const auto parts = Split(text, 'x');
  if (parts.empty() || parts.size() > 3) return bad();
  Shape shape;
  const auto pods = ParseInt(parts[0]);
  if (!pods.ok() || *pods < 1 || *pods > kMostPods) return bad();
  shape.pods = static_cast<int>(*pods);
  if (parts.size() > 1) {
    const auto gpus = ParseInt(parts[1]);
    if (!gpus.ok() || *gpus < 0 || *gpus > kMostGpus) return bad();
    shape.gpus = static_cast<int>(*gpus);
  }
  if (parts.size() > 2) {
    if (!IsLabelPart(parts[2])) return bad();
    shape.gpu = std::string(parts[2]);
  }
  return shape;
}

int JobRequest::Pods() const {
  int pods = 0;
  for (const Group& group : groups) pods += group.pods;
  return pods;
}

std::string JobRequest::Rank0Host() const {
  switch (dialect) {
    case Dialect::kJob:
    case Dialect::kKueue:
      return fmt::format("{0}-0.{0}", name);
    case Dialect::kJobSet:
      return groups.empty() ? "" : fmt::format("{0}-{1}-0-0.{0}", name, groups[0].name);
    case Dialect::kVolcano:
      return fmt::format("{0}-master-0.{0}", name);
    case Dialect::kSbatch:
      break;
  }
  return "";
}

Status CheckRequest(const JobRequest& request) {
  std::vector<std::string> wrong;
  const bool script = request.dialect == Dialect::kSbatch;
  // A host name has 63; a group's name, three indexes and a twin's suffix stand in it besides.
  const size_t most = request.labels.count(std::string(kTwinLabel)) > 0 ? 40 : 35;
  if (!IsDnsLabel(request.name, most) ||
      (request.name.front() >= '0' && request.name.front() <= '9'))
    wrong.push_back(fmt::format(
        "name \"{}\": expected at most 35 of a-z, 0-9 and -, a letter first (it becomes the host "
        "name of every rank)",
        Shorten(Printable(request.name), 60)));
  if (!script && !IsDnsLabel(request.ns, 63))
    wrong.push_back(fmt::format("namespace \"{}\": expected a-z, 0-9 and -",
                                Shorten(Printable(request.ns), 60)));
  if (request.image.empty() && !script)
    wrong.emplace_back("an image is needed: --image NAME@sha256:...");
  if (!IsOneWord(request.image)) wrong.emplace_back("the image's name has blanks or quotes");
  if (request.groups.empty()) wrong.emplace_back("a shape is needed: --shape 2x8xH100");
  std::set<std::string> names;
  for (const Group& group : request.groups) {
    if (!IsDnsLabel(group.name, 10))
      wrong.push_back(fmt::format("group \"{}\": expected at most 10 of a-z, 0-9 and -",
                                  Shorten(Printable(group.name), 40)));
    if (!names.insert(group.name).second)
      wrong.push_back(fmt::format("group {} is there twice", group.name));
    if (group.pods < 1 || group.pods > kMostPods || group.gpus < 0 || group.gpus > kMostGpus)
      wrong.push_back(
          fmt::format("group {}: {} pods of {} GPUs", group.name, group.pods, group.gpus));
    if (group.cpu_milli < 1) wrong.push_back(fmt::format("group {}: no CPU", group.name));
    if (group.command.empty())
      wrong.push_back(fmt::format("group {}: a command is needed, after --", group.name));
  }
  const bool one_kind =
      request.dialect == Dialect::kJob || request.dialect == Dialect::kKueue || script;
  if (one_kind && request.groups.size() > 1)
    wrong.push_back(fmt::format(
        "{} has one kind of pod, and {} groups are asked for: --dialect jobset or volcano",
        script ? "a batch script here" : "a batch/v1 Job", request.groups.size()));
  if (request.dialect == Dialect::kVolcano && names.count("worker") + names.count("master") > 0)
    wrong.emplace_back(
        "Volcano's pytorch plugin has tasks master and worker of its own; name the group "
        "otherwise");
  if (request.dialect == Dialect::kKueue && request.queue.empty())
    wrong.emplace_back(
        "Kueue needs a queue: --queue with the name of a LocalQueue of the namespace");
  if (script && !request.limit_s) wrong.emplace_back("Slurm needs a time limit: --limit 24h");
  if (script && !IsOneWord(request.queue))
    wrong.emplace_back("the partition's name has blanks or quotes");
  if (!request.queue.empty() && !script && !IsLabelPart(request.queue))
    wrong.push_back(fmt::format("queue \"{}\" is no name", Shorten(Printable(request.queue), 60)));
  for (const auto& [key, value] : request.labels) {
    if (!IsLabelKey(key) || (!value.empty() && !IsLabelPart(value)))
      wrong.push_back(fmt::format("label {}={} is none", Shorten(Printable(key), 60),
                                  Shorten(Printable(value), 60)));
  }
  for (const auto& [name, count] : request.devices) {
    if (!IsLabelKey(name) || count < 1)
      wrong.push_back(
          fmt::format("{}={}: expected RESOURCE=COUNT", Shorten(Printable(name), 60), count));
  }
  if (!request.checkpoint_claim.empty() && !StartsWith(request.checkpoint_path, "/"))
    wrong.emplace_back("a checkpoint path on a claim begins with /");
  if (wrong.empty()) return {};
  return Fail(Code::kInvalid, Join(wrong, "\n"));
}

Job GangOf(const JobRequest& request) {
  Job job;
  job.name = request.name;
  job.queue = request.queue.empty() ? "default" : request.queue;
  const bool labelled = request.dialect != Dialect::kVolcano && request.dialect != Dialect::kSbatch;
  if (labelled && !request.queue.empty()) job.queue = request.ns + "/" + request.queue;
  job.topology = request.topology;
  if (request.limit_s && request.dialect != Dialect::kVolcano &&
      request.dialect != Dialect::kJobSet)
    job.limit_ms = *request.limit_s * 1000;
  const bool one_kind = request.dialect == Dialect::kJob || request.dialect == Dialect::kKueue;
  for (const Group& group : request.groups) {
    TaskGroup tasks;
    tasks.name = one_kind ? "" : request.dialect == Dialect::kSbatch ? "node" : group.name;
    tasks.count = tasks.min = group.pods;
    tasks.shape["cpu"] = group.cpu_milli;
    if (group.memory_bytes > 0) tasks.shape["memory"] = group.memory_bytes;
    if (request.dialect == Dialect::kSbatch) {
      tasks.shape["cpu"] = (group.cpu_milli + 999) / 1000 * 1000;
      if (group.gpus > 0) tasks.shape["nvidia.com/gpu"] = group.gpus;
      if (group.gpus > 0 && !request.gpu_type.empty()) tasks.select["gres.type"] = request.gpu_type;
    } else if (group.gpus > 0) {
      tasks.shape[request.gpu_resource] = group.gpus;
      for (const auto& [name, count] : request.devices) tasks.shape[name] = count;
      if (!request.gpu_product.empty())
        tasks.select["nvidia.com/gpu.product"] = request.gpu_product;
      tasks.tolerate.push_back({request.gpu_resource, "Exists", "", ""});
    }
    if (request.dialect == Dialect::kVolcano && job.tasks.empty()) {
      TaskGroup master = tasks;  // the pytorch plugin gives rank 0 to a task of its own
      master.name = "master";
      master.count = master.min = 1;
      job.tasks.push_back(std::move(master));
      tasks.name = "worker";
      tasks.count = tasks.min = group.pods - 1;
      if (tasks.count == 0) continue;
    }
    job.tasks.push_back(std::move(tasks));
  }
  return job;
}

}  // namespace muster::render
