// What an sbatch script asks for, as a gang.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/sbatch.h"

namespace muster {

namespace {

constexpr int64_t kMost = 1'000'000, kMostBytes = int64_t{1} << 53;

tl::unexpected<Error> NoNumber(const SbatchScript& script, const SbatchOption& option,
                               std::string_view expected) {
  return Fail(Code::kInvalid, fmt::format("{}:{}:{}: --{}={}: expected {}", script.path,
                                          option.at.line, option.at.column, option.name,
                                          Shorten(Printable(option.value), 40), expected));
}

Result<std::optional<int64_t>> NumberOf(const SbatchScript& script, std::string_view name) {
  const SbatchOption* option = script.Find(name);
  if (option == nullptr) return std::optional<int64_t>();
  const auto n = ParseInt(option->value);
  if (!n.ok() || *n < 1 || *n > kMost) return NoNumber(script, *option, "a count from 1");
  return std::optional<int64_t>(*n);
}

// "8", "h100:8", "gpu:8", "gpu:h100:8(S:0-1)", "gres/gpu:h100:8"; type and count.
std::optional<std::pair<std::string, int64_t>> GpusOf(std::string_view text, bool gres) {
  if (const size_t paren = text.find('('); paren != std::string_view::npos)
    text = text.substr(0, paren);
  if (gres) {
    if (const auto rest = After(text, "gres/")) text = *rest;
    if (text == "gpu") return std::pair<std::string, int64_t>{"", 1};
    const auto rest = After(text, "gpu:");
    if (!rest) return std::nullopt;
    text = *rest;
  }
  std::string type;
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    type = std::string(text.substr(0, colon));
    text = text.substr(colon + 1);
  }
  const auto n = ParseInt(text);
  if (!n.ok() && gres && colon == std::string_view::npos)
    return std::pair<std::string, int64_t>{std::string(text), 1};  // "gpu:h100" is one of them
  if (!n.ok() || *n < 0 || *n > kMost) return std::nullopt;
  return std::pair<std::string, int64_t>{type, *n};
}

// Megabytes when no unit is said (sbatch(1)).
std::optional<int64_t> MemoryBytes(std::string_view text) {
  int64_t factor = int64_t{1} << 20;
  if (!text.empty()) {
    const char unit = static_cast<char>(text.back() | 0x20);
    const bool has = unit == 'k' || unit == 'm' || unit == 'g' || unit == 't';
    if (unit == 'k') factor = int64_t{1} << 10;
    if (unit == 'g') factor = int64_t{1} << 30;
    if (unit == 't') factor = int64_t{1} << 40;
    if (has) text.remove_suffix(1);
  }
  const auto n = ParseInt(text);
  if (!n.ok() || *n < 0 || *n > kMostBytes / factor) return std::nullopt;
  return *n * factor;
}

Status ReadNodes(const SbatchScript& script, SbatchShape& shape) {
  const SbatchOption* nodes = script.Find("nodes");
  if (nodes == nullptr) return {};
  const size_t dash = nodes->value.find('-');
  const auto low = ParseInt(std::string_view(nodes->value).substr(0, dash));
  const auto high =
      dash == std::string::npos ? low : ParseInt(std::string_view(nodes->value).substr(dash + 1));
  if (!low.ok() || !high.ok() || *low < 1 || *high < *low || *high > kMost)
    return NoNumber(script, *nodes, "a count or a range such as 2-4");
  shape.min_nodes = *low;
  shape.max_nodes = *high;
  return {};
}

Status ReadGpus(const SbatchScript& script, SbatchShape& shape) {
  const auto take = [&](const SbatchOption& option, bool gres, int64_t divide,
                        int64_t multiply) -> Status {
    const auto gpus = GpusOf(option.value, gres);
    if (!gpus) return NoNumber(script, option, "a count such as 8 or h100:8");
    shape.gpu_type = gpus->first;
    shape.gpus_per_node = std::min(kMost, (gpus->second * multiply + divide - 1) / divide);
    return {};
  };
  if (const SbatchOption* all = script.Find("gpus"))
    TRY_VOID(take(*all, false, std::max<int64_t>(1, shape.max_nodes), 1));
  if (const SbatchOption* task = script.Find("gpus-per-task"))
    TRY_VOID(take(*task, false, 1, shape.tasks_per_node.value_or(1)));
  if (const SbatchOption* gres = script.Find("gres")) {
    for (const std::string_view part : Split(gres->value, ',')) {
      if (!StartsWith(part, "gpu") && !StartsWith(part, "gres/gpu")) continue;
      SbatchOption one = *gres;
      one.value = std::string(part);
      TRY_VOID(take(one, true, 1, 1));
    }
  }
  if (const SbatchOption* node = script.Find("gpus-per-node")) TRY_VOID(take(*node, false, 1, 1));
  return {};
}

}  // namespace

Result<SbatchShape> ShapeOf(const SbatchScript& script) {
  SbatchShape shape;
  TRY(shape.tasks, NumberOf(script, "ntasks"));
  TRY(shape.tasks_per_node, NumberOf(script, "ntasks-per-node"));
  TRY(shape.cpus_per_task, NumberOf(script, "cpus-per-task"));
  TRY_VOID(ReadNodes(script, shape));
  // Without --nodes Slurm takes as many as the tasks need.
  if (script.Find("nodes") == nullptr && shape.tasks && shape.tasks_per_node)
    shape.min_nodes = shape.max_nodes =
        (*shape.tasks + *shape.tasks_per_node - 1) / *shape.tasks_per_node;
  if (!shape.tasks_per_node && shape.tasks)
    shape.tasks_per_node = (*shape.tasks + shape.max_nodes - 1) / shape.max_nodes;
  TRY_VOID(ReadGpus(script, shape));
  return shape;
}

Result<ReadJob> ReadSbatchJob(const SbatchScript& script, std::vector<ManifestNote>& notes) {
  TRY(const SbatchShape shape, ShapeOf(script));
  const auto text = [&](std::string_view name) {
    const SbatchOption* option = script.Find(name);
    return option == nullptr ? std::string() : option->value;
  };
  ReadJob read;
  read.kind = "sbatch";
  read.file = script.path;
  read.scheduler = "slurm";
  read.job.name = text("job-name");
  if (read.job.name.empty()) read.job.name = script.path.substr(script.path.rfind('/') + 1);
  if (const std::string partition = text("partition"); !partition.empty())
    read.job.queue = std::string(Split(partition, ',').front());
  read.job.limit_ms = SlurmTimeMs(text("time"));
  if (const auto priority = ParseInt(text("priority")); priority.ok())
    read.job.priority = static_cast<int>(std::clamp<int64_t>(*priority, 0, 2147483647LL));
  read.job.preemptible = script.Find("no-requeue") == nullptr;
  TaskGroup group;
  group.name = "node";
  group.count = group.min = static_cast<int>(shape.max_nodes);
  if (shape.min_nodes < shape.max_nodes) {
    group.min = static_cast<int>(shape.min_nodes);
    read.job.elastic_min = static_cast<int>(shape.min_nodes);
    read.job.elastic_max = static_cast<int>(shape.max_nodes);
  }
  if (shape.tasks_per_node || shape.cpus_per_task)
    group.shape["cpu"] = shape.tasks_per_node.value_or(1) * shape.cpus_per_task.value_or(1) * 1000;
  if (const SbatchOption* mem = script.Find("mem"); mem != nullptr && mem->value != "0") {
    const auto bytes = MemoryBytes(mem->value);
    if (!bytes) return NoNumber(script, *mem, "an amount such as 512G");
    group.shape["memory"] = *bytes;
  }
  if (shape.gpus_per_node) group.shape["nvidia.com/gpu"] = *shape.gpus_per_node;
  if (!shape.gpu_type.empty()) group.select["gres.type"] = shape.gpu_type;
  read.job.tasks.push_back(std::move(group));
  for (const YamlMark& at : script.hetjob) {
    notes.push_back({script.path, at, "hetjob",
                     "heterogeneous jobs are not supported; all components are read as one"});
  }
  constexpr std::string_view kRead[] = {
      "job-name", "partition", "time",      "priority",        "no-requeue",
      "requeue",  "nodes",     "ntasks",    "ntasks-per-node", "cpus-per-task",
      "mem",      "gres",      "gpus",      "gpus-per-node",   "gpus-per-task",
      "signal",   "output",    "error",     "chdir",           "export",
      "comment",  "mail-type", "mail-user", "account",         "open-mode"};
  for (const SbatchOption& option : script.options) {
    if (std::find(std::begin(kRead), std::end(kRead), option.name) != std::end(kRead)) continue;
    if (StartsWith(option.name, "container-") || StartsWith(option.name, "no-container-")) continue;
    notes.push_back({script.path, option.at, "--" + option.name, "read, and not acted on"});
  }
  for (const SbatchOption& option : script.late) {
    notes.push_back({script.path, option.at, "--" + option.name,
                     "below the first command: Slurm takes it for a comment"});
  }
  return read;
}

}  // namespace muster
