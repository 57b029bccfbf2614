// The kubelet's managers: values that exist, and what each needs to start or to mean anything.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"
#include "manifest/quantity.h"

namespace muster::lint {

namespace {

struct Choice {
  const char* field;
  std::array<std::string_view, 4> values;
};
constexpr std::array kChoices = {
    Choice{"topologyManagerPolicy", {"none", "best-effort", "restricted", "single-numa-node"}},
    Choice{"topologyManagerScope", {"container", "pod", "", ""}},
    Choice{"cpuManagerPolicy", {"none", "static", "", ""}},
    Choice{"memoryManagerPolicy", {"None", "Static", "", ""}},
};

bool ReservesCpu(const YamlNode& root) {
  if (!TextOf(Key(root, "reservedSystemCPUs")).empty()) return true;
  for (const char* key : {"systemReserved", "kubeReserved"}) {
    const auto amount = ParseResourceAmount("cpu", TextOf(At(root, fmt::format("{}.cpu", key))));
    if (amount.ok() && *amount > 0) return true;
  }
  return false;
}

}  // namespace

void CheckKubelet(Context& c) {
  for (const Document* doc : c.Of(ManifestKind::kKubeletConfiguration)) {
    const YamlNode& root = doc->root;
    for (const Choice& choice : kChoices) {
      const YamlNode& at = Key(root, choice.field);
      if (at.IsNull() ||
          std::find(choice.values.begin(), choice.values.end(), at.text) != choice.values.end())
        continue;
      std::vector<std::string> names;
      for (const std::string_view value : choice.values) {
        if (!value.empty()) names.emplace_back(value);
      }
      const auto near = Nearest(at.text, names);
      c.Say("LINT-805", *doc, at,
            fmt::format("{}: {} is none of {}; the kubelet does not start", choice.field, at.text,
                        Join(names, ", ")),
            near ? c.Set(*doc, at, *near) : Context::Edits{});
    }
    const YamlNode& policy = Key(root, "topologyManagerPolicy");
    const bool strict = TextOf(policy) == "single-numa-node" || TextOf(policy) == "restricted";
    const bool cpu_static = TextOf(Key(root, "cpuManagerPolicy")) == "static";
    const bool memory_static = TextOf(Key(root, "memoryManagerPolicy")) == "Static";
    if (strict && !cpu_static) {
      c.Say("LINT-802", *doc, policy,
            fmt::format("{} aligns devices only: the CPU manager gives no hints", policy.text));
    }
    if (strict && !memory_static)
      c.Say(
          "LINT-808", *doc, policy,
          fmt::format("{} without the memory manager: a rank's memory may lie in the other domain",
                      policy.text));
    if (cpu_static && !ReservesCpu(root))
      c.Say("LINT-803", *doc, Key(root, "cpuManagerPolicy"),
            "the static policy refuses to start with no CPU reserved",
            c.Insert(*doc, root, "reservedSystemCPUs: \"0-1\""));
    if (memory_static && Key(root, "reservedMemory").items.empty())
      c.Say("LINT-804", *doc, Key(root, "memoryManagerPolicy"),
            "the Static policy refuses to start without reservedMemory for each domain");
    if (strict && TextOf(Key(root, "topologyManagerScope")) != "pod") {
      const YamlNode& scope = Key(root, "topologyManagerScope");
      c.Say("LINT-806", *doc, scope.IsNull() ? policy : scope,
            "containers of one pod are aligned each for itself",
            scope.IsNull() ? c.Insert(*doc, root, "topologyManagerScope: pod")
                           : c.Set(*doc, scope, "pod"));
    }
    for (const YamlEntry& option : Key(root, "topologyManagerPolicyOptions").entries) {
      if (!c.Listed("topology_manager_options", option.key))
        c.Say("LINT-807", *doc, option.value,
              fmt::format("the topology manager has no option {}; the kubelet does not start",
                          option.key));
    }
  }
}

void CheckSbatch(Context& c) {
  for (const SbatchScript& s : c.input.scripts) {
    const auto say = [&](std::string_view code, YamlMark at, std::string text,
                         Context::Edits fix = {}) {
      c.Say(code, s.path, at, std::move(text), std::move(fix));
    };
    const auto set = [&](const SbatchOption& option, std::string_view value) -> Context::Edits {
      const size_t offset = OffsetOf(s.text, option.at);
      if (offset == std::string_view::npos) return {};
      const std::string head = "--" + option.name + "=";
      if (s.text.compare(offset, head.size() + option.value.size(), head + option.value) != 0)
        return {};
      return {{s.path, offset + head.size(), option.value.size(), std::string(value)}};
    };
    const auto add_line = [&](const SbatchOption& before,
                              const std::string& line) -> Context::Edits {
      const size_t offset = OffsetOf(s.text, {before.at.line, 1});
      if (offset == std::string_view::npos) return {};
      return {{s.path, offset, 0, "#SBATCH " + line + "\n"}};
    };
    for (const SbatchOption& late : s.late)
      say("LINT-906", late.at,
          fmt::format("--{} stands below the first command: Slurm takes it for a comment",
                      late.name));
    for (const YamlMark& at : s.hetjob) say("LINT-907", at, "");
    if (s.options.empty()) continue;
    const auto shape = ShapeOf(s);
    if (!shape.ok()) {  // the message carries its own place
      say("LINT-002", s.options.front().at, shape.error().message);
      continue;
    }
    const SbatchOption& any = s.options.front();
    if (shape->tasks && shape->tasks_per_node && s.Find("nodes") && s.Find("ntasks-per-node") &&
        *shape->tasks != shape->max_nodes * *shape->tasks_per_node &&
        shape->min_nodes == shape->max_nodes) {
      const SbatchOption& tasks = *s.Find("ntasks");
      say("LINT-901", tasks.at,
          fmt::format("{} tasks, and {} nodes of {}", *shape->tasks, shape->max_nodes,
                      *shape->tasks_per_node),
          set(tasks, std::to_string(shape->max_nodes * *shape->tasks_per_node)));
    }
    const bool torchrun = Contains(s.text, "torchrun") || Contains(s.text, "torch.distributed");
    const int64_t gpus = shape->gpus_per_node.value_or(0);
    if (const SbatchOption* per_node = s.Find("ntasks-per-node"); per_node != nullptr && gpus > 0) {
      const int64_t want = torchrun ? 1 : gpus;
      if (*shape->tasks_per_node != want)
        say("LINT-902", per_node->at,
            fmt::format("{} tasks a node for {} GPUs{}", *shape->tasks_per_node, gpus,
                        torchrun ? ", and torchrun starts the processes itself" : ""),
            set(*per_node, std::to_string(want)));
    }
    const SbatchOption* gres = s.Find("gres");
    const SbatchOption* gpus_per_node = s.Find("gpus-per-node");
    const SbatchOption* gpu_total = s.Find("gpus");
    if (gres != nullptr && gpus_per_node != nullptr) {
      SbatchScript only = s;
      std::erase_if(only.options, [](const SbatchOption& o) {
        return o.name == "gpus-per-node" || o.name == "gpus";
      });
      const auto other = ShapeOf(only);
      if (other.ok() && other->gpus_per_node != shape->gpus_per_node)
        say("LINT-903", gres->at,
            fmt::format("--gres={} and --gpus-per-node={} disagree", gres->value,
                        gpus_per_node->value));
    } else if (gpu_total != nullptr && shape->min_nodes == shape->max_nodes) {
      const size_t colon = gpu_total->value.rfind(':');
      const auto n = ParseInt(
          std::string_view(gpu_total->value).substr(colon == std::string::npos ? 0 : colon + 1));
      if (n.ok() && *n % shape->max_nodes != 0)
        say("LINT-903", gpu_total->at,
            fmt::format("{} GPUs do not divide among {} nodes", *n, shape->max_nodes));
    }
    if (gpus > c.site.gpus_per_node)
      say("LINT-909",
          (gres != nullptr            ? *gres
           : gpus_per_node != nullptr ? *gpus_per_node
                                      : any)
              .at,
          fmt::format("{} GPUs a node, and nodes have {}", gpus, c.site.gpus_per_node));
    if (gpus == 0) continue;
    const SbatchOption* time = s.Find("time");
    if (time == nullptr) {
      say("LINT-908", any.at,
          "no --time: the partition's default ends the job, and backfill cannot place it");
    } else if (s.Find("signal") == nullptr && SlurmTimeMs(time->value).value_or(0) > 3'600'000) {
      say("LINT-905", time->at,
          "the limit comes without a warning: no --signal to write a checkpoint on",
          add_line(*time, "--signal=B:USR1@300"));
    } else if (s.Find("signal") != nullptr && StartsWith(s.Find("signal")->value, "B:") &&
               !Contains(s.text, "trap ")) {
      say("LINT-910", s.Find("signal")->at,
          "the batch shell gets the signal and has no trap for it");
    }
    if (s.Find("requeue") == nullptr && s.Find("no-requeue") == nullptr && shape->max_nodes > 1)
      say("LINT-904", any.at,
          "whether it comes back after a node failure is left to the site's default",
          add_line(any, "--requeue"));
  }
}

}  // namespace muster::lint
