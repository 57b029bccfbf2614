// Whether a gang starts as one: scheduler, minimum, plugins, policies, groups, and who else may
// change its size.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"

namespace muster::lint {

namespace {

void CheckScheduler(Context& c, const Workload& w) {
  const Document& doc = *w.doc;
  const YamlNode& own = Key(doc.spec(), "schedulerName");
  if (own.IsNull()) {
    c.Say("LINT-102", doc, doc.spec(), fmt::format("{} does not say schedulerName", doc.Title()),
          c.Insert(doc, doc.spec(), "schedulerName: volcano"));
  } else if (TextOf(own) == "default-scheduler") {
    c.Say("LINT-101", doc, own, "the default scheduler starts the pods of a gang one by one",
          c.Set(doc, own, "volcano"));
  }
  const std::string want =
      own.IsNull() || TextOf(own) == "default-scheduler" ? "volcano" : TextOf(own);
  for (const PodSet& set : w.sets) {
    const YamlNode& pod = Key(*set.pod, "schedulerName");
    if (pod.IsNull()) {
      c.Say("LINT-103", doc, *set.pod,
            fmt::format("the template of task {} does not say schedulerName", set.role),
            c.Insert(doc, *set.pod, "schedulerName: " + want));
    } else if (TextOf(pod) != want) {
      c.Say("LINT-101", doc, pod,
            fmt::format("task {} goes to the scheduler {}, the gang to {}", set.role, TextOf(pod),
                        want),
            c.Set(doc, pod, want));
    }
  }
}

void CheckMinimum(Context& c, const Workload& w) {
  const Document& doc = *w.doc;
  const YamlNode& least = Key(doc.spec(), "minAvailable");
  const int64_t pods = w.PodCount(), min = IntOf(least, pods);
  if (min > pods) {
    c.Say("LINT-104", doc, least,
          fmt::format("minAvailable {} of {} pods: it can never start", min, pods),
          c.Set(doc, least, std::to_string(pods)));
  } else if (min < pods && w.IsGang() && HasGpu(w)) {
    c.Say("LINT-105", doc, least,
          fmt::format("minAvailable {} of {} pods: {} ranks may hold GPUs and wait for the rest",
                      min, pods, min),
          c.Set(doc, least, std::to_string(pods)));
  }
  for (const PodSet& set : w.sets) {
    const YamlNode& own = Key(*set.at, "minAvailable");
    if (!own.IsNull() && IntOf(own, 0) > set.count) {
      c.Say("LINT-106", doc, own,
            fmt::format("task {}: minAvailable {} of {} replicas", set.role, own.text, set.count),
            c.Set(doc, own, std::to_string(set.count)));
    }
  }
}

// Task names that a plugin is told, or takes by default.
void CheckPlugins(Context& c, const Workload& w) {
  const Document& doc = *w.doc;
  std::vector<std::string> roles;
  for (const PodSet& set : w.sets) roles.push_back(set.role);
  const auto has = [&](std::string_view role) {
    return std::find(roles.begin(), roles.end(), role) != roles.end();
  };
  for (const YamlEntry& plugin : Key(doc.spec(), "plugins").entries) {
    const auto known = c.rules.lists.find("volcano_plugin_" + plugin.key);
    if (known == c.rules.lists.end()) continue;
    std::string master = "master", worker = "worker";
    const YamlNode* master_at = &plugin.value;
    for (const YamlNode& arg : plugin.value.items) {
      std::string name(std::string_view(arg.text).substr(0, arg.text.find('=')));
      while (!name.empty() && name[0] == '-') name.erase(0, 1);
      const std::string value =
          arg.text.find('=') == std::string::npos ? "" : arg.text.substr(arg.text.find('=') + 1);
      if (!c.Listed("volcano_plugin_" + plugin.key, name)) {
        const auto near = Nearest(name, known->second);
        c.Say("LINT-108", doc, arg,
              fmt::format("plugin {} has no argument --{}{}", plugin.key, name,
                          near ? fmt::format("; --{} is meant?", *near) : ""));
      } else if (name == "master") {
        master = value, master_at = &arg;
      } else if (name == "worker") {
        worker = value;
        if (plugin.key == "pytorch" && w.PodCount() > 1 && !has(worker))
          c.Say("LINT-107", doc, arg,
                fmt::format("no task is called {}: its pods get no RANK", worker));
      }
    }
    if ((plugin.key == "pytorch" || plugin.key == "mpi") && !has(master)) {
      c.Say("LINT-107", doc, *master_at,
            fmt::format("no task is called {}: {} gives no pod an address", master, plugin.key));
    }
  }
}

struct Policies {
  bool on_evicted = false, on_failed = false, restarts = false;
};
void ReadPolicies(Context& c, const Document& doc, const YamlNode& list, Policies& into) {
  for (const YamlNode& policy : list.items) {
    std::vector<const YamlNode*> events = {&Key(policy, "event")};
    for (const YamlNode& e : Key(policy, "events").items) events.push_back(&e);
    const YamlNode& action = Key(policy, "action");
    if (!action.IsNull() && !c.Listed("volcano_actions", action.text)) {
      const auto near = Nearest(action.text, c.List("volcano_actions"));
      c.Say("LINT-111", doc, action,
            fmt::format("there is no action {}{}", action.text,
                        near ? ", did you mean " + *near : ""),
            near ? c.Set(doc, action, *near) : Context::Edits{});
    }
    for (const YamlNode* event : events) {
      if (event->IsNull()) continue;
      if (!c.Listed("volcano_events", event->text)) {
        const auto near = Nearest(event->text, c.List("volcano_events"));
        c.Say("LINT-111", doc, *event,
              fmt::format("there is no event {}{}", event->text,
                          near ? ", did you mean " + *near : ""),
              near ? c.Set(doc, *event, *near) : Context::Edits{});
      }
      const bool any = event->text == "*";
      into.on_evicted |= any || event->text == "PodEvicted";
      into.on_failed |= any || event->text == "PodFailed" || event->text == "TaskFailed";
    }
    into.restarts |= TextOf(action) == "RestartJob";
    if (!Key(policy, "exitCode").IsNull()) into.on_failed = true;
  }
}

void CheckPolicies(Context& c, const Workload& w) {
  const Document& doc = *w.doc;
  Policies policies;
  const YamlNode& list = Key(doc.spec(), "policies");
  ReadPolicies(c, doc, list, policies);
  for (const PodSet& set : w.sets) ReadPolicies(c, doc, Key(*set.at, "policies"), policies);
  if (!w.IsGang()) return;
  if (!policies.on_evicted) {
    c.Say("LINT-110", doc, doc.spec(),
          "an evicted rank is made again alone, and the others wait for it in a collective",
          list.IsNull() ? c.Insert(doc, doc.spec(),
                                   "policies:\n  - event: PodEvicted\n    action: RestartJob")
                        : Context::Edits{});
  }
  bool on_failure = false;
  for (const PodSet& set : w.sets) {
    const YamlNode& restart = Key(*set.pod, "restartPolicy");
    if (TextOf(restart) == "Never") continue;
    if (!HasGpu(w)) continue;
    on_failure = true;
    const bool says = !restart.IsNull();
    c.Say("LINT-112", doc, says ? restart : *set.pod,
          fmt::format(
              "task {}: the kubelet restarts a rank in place ({}), beside the gang's own restarts",
              set.role, says ? restart.text : "Always, the default"),
          says ? c.Set(doc, restart, "Never") : c.Insert(doc, *set.pod, "restartPolicy: Never"));
  }
  if (!on_failure && !policies.on_failed && HasGpu(w))
    c.Say(
        "LINT-113", doc, list.IsNull() ? doc.spec() : list,
        "no policy for PodFailed: when one rank fails, the others wait for it until they time out");
}

void CheckVariables(Context& c, const Workload& w) {
  for (const PodSet& set : w.sets) {
    for (const YamlNode& container : set.Containers()) {
      for (const char* key : {"command", "args"}) {
        for (const YamlNode& item : Key(container, key).items) {
          const std::string& text = TextOf(item);
          for (size_t at = text.find("$("); at != std::string::npos; at = text.find("$(", at + 2)) {
            if (at > 0 && text[at - 1] == '$') continue;  // $$( is an escape
            const size_t end = text.find(')', at);
            if (end == std::string::npos) break;
            const std::string name = text.substr(at + 2, end - at - 2);
            const bool variable =
                !name.empty() &&
                name.find_first_not_of(
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                    std::string::npos;
            if (!variable || EnvOf(container, name) != nullptr) continue;
            if (!Key(container, "envFrom").IsNull()) continue;
            const ManifestKind kind = w.doc->kind;
            const YamlNode& plugins = At(w.doc->root, "spec.plugins");
            const bool torch = name == "MASTER_ADDR" || name == "MASTER_PORT" || name == "RANK" ||
                               name == "WORLD_SIZE";
            const bool given =
                (kind == ManifestKind::kVolcanoJob &&
                 ((torch && plugins.Find("pytorch") != nullptr) ||
                  (name == "VC_TASK_INDEX" || name == "VK_TASK_INDEX"
                       ? plugins.Find("env") != nullptr
                       : StartsWith(name, "VC_")))) ||
                (kind == ManifestKind::kJob && name == "JOB_COMPLETION_INDEX" &&
                 TextOf(At(w.doc->root, "spec.completionMode")) == "Indexed") ||
                (kind == ManifestKind::kJobSet && StartsWith(name, "JOB")) ||
                (kind == ManifestKind::kPytorchJob && (torch || StartsWith(name, "PET_"))) ||
                kind == ManifestKind::kTrainJob || kind == ManifestKind::kMpiJob;
            if (given || (kind == ManifestKind::kJob && name == "JOB_COMPLETION_INDEX")) continue;
            c.Say(
                "LINT-109", *w.doc, item,
                fmt::format("$({}) is defined by nothing here, and stays as it is written", name));
          }
        }
      }
    }
  }
}

void CheckGroups(Context& c) {
  for (const Document* pod : c.Of(ManifestKind::kPod)) {
    const std::string scheduler = TextOf(At(pod->root, "spec.schedulerName"));
    const YamlNode& volcano = Annotation(pod->root, "scheduling.k8s.io/group-name");
    if (!volcano.IsNull() && scheduler != "volcano") {
      c.Say("LINT-117", *pod, volcano,
            fmt::format("a Volcano group, and the pod goes to {}",
                        scheduler.empty() ? "the default scheduler" : scheduler));
    }
    const YamlNode& native = At(pod->root, "spec.schedulingGroup.podGroupName");
    const YamlNode& label = Label(pod->root, "scheduling.x-k8s.io/pod-group");
    struct Wanted {
      const YamlNode* at;
      ManifestKind kind;
    };
    const Wanted all[] = {{&volcano, ManifestKind::kVolcanoPodGroup},
                          {&native, ManifestKind::kNativePodGroup},
                          {&label, ManifestKind::kCoschedulingPodGroup}};
    for (const Wanted& want : all) {
      if (want.at->IsNull() || c.Find(want.kind, want.at->text, NamespaceOf(*pod)) != nullptr)
        continue;
      for (const ManifestKind other :
           {ManifestKind::kVolcanoPodGroup, ManifestKind::kNativePodGroup,
            ManifestKind::kCoschedulingPodGroup, ManifestKind::kKaiPodGroup}) {
        const Document* group =
            other == want.kind ? nullptr : c.Find(other, want.at->text, NamespaceOf(*pod));
        if (group == nullptr) continue;
        c.Say("LINT-118", *pod, *want.at,
              fmt::format("the PodGroup {} is of {}, which does not look at this key", group->name,
                          group->group));
      }
    }
  }
  for (const Document* scaler : c.Of(ManifestKind::kAutoscaler)) {
    const YamlNode& target = scaler->kind_name == "ScaledJob"
                                 ? At(scaler->root, "spec.jobTargetRef")
                                 : At(scaler->root, "spec.scaleTargetRef");
    const std::string& kind = TextOf(Key(target, "kind"));
    const bool gang = kind == "Job" || kind == "JobSet" || kind == "PyTorchJob" ||
                      kind == "MPIJob" || kind == "TrainJob";
    const bool scaled_gang =
        scaler->kind_name == "ScaledJob" && (IntOf(Key(target, "parallelism"), 1) > 1 ||
                                             TextOf(Key(target, "completionMode")) == "Indexed");
    if (gang || scaled_gang) {
      c.Say("LINT-119", *scaler, target,
            fmt::format("{} changes the size of a training gang while it runs", scaler->kind_name));
    }
  }
}

}  // namespace

void CheckGang(Context& c) {
  for (const Workload& w : c.workloads) {
    CheckVariables(c, w);
    if (w.doc->kind == ManifestKind::kVolcanoJob) {
      if (w.IsGang()) CheckScheduler(c, w);
      CheckMinimum(c, w);
      CheckPlugins(c, w);
      CheckPolicies(c, w);
    }
    const bool finishes = w.doc->kind == ManifestKind::kVolcanoJob ||
                          w.doc->kind == ManifestKind::kJob || w.doc->kind == ManifestKind::kJobSet;
    if (finishes && w.PodCount() > 0 && Key(w.doc->spec(), "ttlSecondsAfterFinished").IsNull()) {
      c.Say("LINT-123", *w.doc, w.doc->spec(),
            fmt::format("{} stays after it has ended", w.doc->Title()),
            c.Insert(*w.doc, w.doc->spec(), "ttlSecondsAfterFinished: 86400"));
    }
  }
  CheckGroups(c);
}

void CheckIndexedJobs(Context& c) {
  for (const Workload& w : c.workloads) {
    if (w.doc->kind != ManifestKind::kJob || w.sets.empty()) continue;
    const Document& doc = *w.doc;
    const YamlNode& spec = doc.spec();
    const PodSet& set = w.sets[0];
    const bool indexed = TextOf(Key(spec, "completionMode")) == "Indexed";
    const YamlNode& parallelism = Key(spec, "parallelism");
    const YamlNode& completions = Key(spec, "completions");
    const int64_t p = IntOf(parallelism, 1), n = IntOf(completions, p);
    bool distributed = false, wants_index = false;
    for (const YamlNode& container : set.Containers()) {
      distributed |= TorchrunOf(container, c).has_value();
      for (const Word& word : WordsOf(container))
        wants_index |= Contains(word.text, "JOB_COMPLETION_INDEX");
    }
    if (!indexed && wants_index) {
      c.Say("LINT-130", doc, spec, "JOB_COMPLETION_INDEX exists only in an Indexed Job",
            Key(spec, "completionMode").IsNull()
                ? c.Insert(doc, spec, "completionMode: Indexed")
                : c.Set(doc, Key(spec, "completionMode"), "Indexed"));
    }
    if (indexed && n > 1 && p != n && (distributed || HasGpu(w))) {
      c.Say(
          "LINT-131", doc, parallelism.IsNull() ? completions : parallelism,
          fmt::format("parallelism {} of {} completions: not all ranks run at the same time", p, n),
          parallelism.IsNull() ? c.Insert(doc, spec, fmt::format("parallelism: {}", n))
                               : c.Set(doc, parallelism, std::to_string(n)));
    }
    const YamlNode& restart = Key(*set.pod, "restartPolicy");
    if (restart.IsNull() || restart.text == "Always") {
      c.Say("LINT-133", doc, restart.IsNull() ? *set.pod : restart,
            "the API server refuses a Job whose pods restart always, which is the default",
            restart.IsNull() ? c.Insert(doc, *set.pod, "restartPolicy: Never")
                             : c.Set(doc, restart, "Never"));
    }
    if (!w.IsGang()) continue;
    if (Key(spec, "backoffLimit").IsNull() || IntOf(Key(spec, "backoffLimit"), 6) > 0) {
      if (Key(spec, "podFailurePolicy").IsNull() && (distributed || HasGpu(w))) {
        const YamlNode& limit = Key(spec, "backoffLimit");
        c.Say("LINT-132", doc, limit.IsNull() ? spec : limit,
              fmt::format("up to {} times a failed rank is made again alone, while the others hang",
                          IntOf(limit, 6)),
              limit.IsNull() ? c.Insert(doc, spec, "backoffLimit: 0") : c.Set(doc, limit, "0"));
      }
    }
    const bool grouped = !At(*set.pod, "schedulingGroup").IsNull() ||
                         !Key(spec, "scheduling").IsNull() ||
                         !Label(*set.pod_template, "scheduling.x-k8s.io/pod-group").IsNull() ||
                         !Annotation(*set.pod_template, "scheduling.k8s.io/group-name").IsNull();
    const std::string scheduler = TextOf(Key(*set.pod, "schedulerName"));
    const bool other =
        scheduler == "volcano" || scheduler == "kai-scheduler" || scheduler == "muster";
    if (UsesKueue(doc) || grouped || other || !(distributed || HasGpu(w))) continue;
    if (!Label(*set.pod_template, "kueue.x-k8s.io/queue-name").IsNull()) {
      c.Say("LINT-116", doc, Label(*set.pod_template, "kueue.x-k8s.io/queue-name"),
            "the queue label stands on the pod template; Kueue reads it on the Job");
    } else {
      c.Say("LINT-115", doc, doc.root,
            fmt::format("{} has {} ranks, no queue and no group: its pods start one by one",
                        doc.Title(), n),
            {});
    }
  }
}

}  // namespace muster::lint
