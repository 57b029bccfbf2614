// What a pod asks of its node, and what it needs inside: amounts, shapes, images, shared memory,
// volumes, checkpoints, labels.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"
#include "manifest/quantity.h"

namespace muster::lint {

namespace {

void CheckAmounts(Context& c, const Document& doc, const YamlNode& container) {
  const YamlNode& resources = Key(container, "resources");
  const YamlNode& requests = Key(resources, "requests");
  const YamlNode& limits = Key(resources, "limits");
  bool whole = false, slice = false;
  for (const YamlNode* side : {&requests, &limits}) {
    for (const YamlEntry& e : side->entries) {
      const auto amount = ParseResourceAmount(e.key, TextOf(e.value));
      if (!amount.ok()) {
        c.Say("LINT-002", doc, e.value, fmt::format("{}: {}", e.key, amount.error().message));
        continue;
      }
      if (!IsGpuResource(e.key) && !IsRdmaResource(e.key)) continue;
      whole |= IsWholeGpuResource(e.key);
      slice |= IsGpuResource(e.key) && !IsWholeGpuResource(e.key);
      const auto milli = ParseKubeQuantityMilli(TextOf(e.value));
      if (milli.ok() && *milli % 1000 != 0) {
        c.Say("LINT-404", doc, e.value,
              fmt::format("{} of {}: devices are whole", e.value.text, e.key));
      } else if (side == &requests && limits.Find(e.key) == nullptr) {
        c.Say("LINT-403", doc, e.value,
              fmt::format("{} is requested without a limit; the API server refuses it", e.key),
              limits.entries.empty() ? Context::Edits{}
                                     : c.Insert(doc, limits, e.key + ": " + e.value.text));
      } else if (side == &requests && TextOf(Key(limits, e.key)) != e.value.text) {
        c.Say("LINT-403", doc, e.value,
              fmt::format("{}: request {} and limit {} differ; the API server refuses it", e.key,
                          e.value.text, TextOf(Key(limits, e.key))),
              c.Set(doc, e.value, TextOf(Key(limits, e.key))));
      }
    }
  }
  if (whole && slice) c.Say("LINT-408", doc, resources, "");
}

void CheckShapeOf(Context& c, const Workload& w, const PodSet& set) {
  const Document& doc = *w.doc;
  const int64_t gpus = PodGpus(set);
  if (gpus <= 0) return;
  const int64_t node = c.site.gpus_per_node, numa = std::max(1, c.site.numa_domains);
  const int64_t domain = std::max<int64_t>(1, node / numa);
  const YamlNode& at =
      set.Containers().empty() ? *set.pod : Key(set.Containers().front(), "resources");
  if (gpus > node && c.site.known) {
    c.Say("LINT-407", doc, at, fmt::format("{} GPUs in a pod, and a node has {}", gpus, node));
    return;
  }
  if (gpus > domain && gpus < node) {
    c.Say("LINT-401", doc, at,
          fmt::format("{} GPUs on nodes of {} x {}: the pod spans domains and leaves {} that no "
                      "equal shape fits; {} or {} fit",
                      gpus, numa, domain, node - gpus, domain, node));
  }
  const Document* kubelet = nullptr;
  for (const Document* k : c.Of(ManifestKind::kKubeletConfiguration)) kubelet = k;
  const std::string& task_policy = TextOf(Key(*set.at, "topologyPolicy"));
  const std::string kubelet_policy =
      kubelet == nullptr ? "" : TextOf(Key(kubelet->root, "topologyManagerPolicy"));
  const bool per_pod =
      kubelet == nullptr || TextOf(Key(kubelet->root, "topologyManagerScope")) == "pod";
  int64_t largest = 0;
  for (const YamlNode& container : set.Containers())
    largest = std::max(largest, ContainerGpus(container));
  const auto refuse = [&](const Document& whose, const YamlNode& policy) {
    c.Say("LINT-402", whose, policy,
          fmt::format("single-numa-node refuses {} with {} GPUs on nodes of {} x {}", doc.Title(),
                      gpus, numa, domain),
          c.Set(whose, policy, "restricted"));
  };
  if (kubelet_policy == "single-numa-node" && (per_pod ? gpus : largest) > domain)
    refuse(*kubelet, Key(kubelet->root, "topologyManagerPolicy"));
  if (task_policy == "single-numa-node" && gpus > domain)
    refuse(doc, Key(*set.at, "topologyPolicy"));
  if (kubelet != nullptr && !task_policy.empty() && !kubelet_policy.empty() &&
      task_policy != kubelet_policy && task_policy != "none") {
    c.Say("LINT-801", doc, Key(*set.at, "topologyPolicy"),
          fmt::format("the task wants {}, the kubelet enforces {}", task_policy, kubelet_policy),
          c.Set(doc, Key(*set.at, "topologyPolicy"), kubelet_policy));
  }
}

void CheckQuality(Context& c, const Workload& w, const PodSet& set) {
  const Document& doc = *w.doc;
  bool tolerates = false;
  for (const YamlNode& t : Key(*set.pod, "tolerations").items) {
    const std::string& key = TextOf(Key(t, "key"));
    tolerates |= key.empty() || IsWholeGpuResource(key);
  }
  if (PodGpus(set) > 0 && !tolerates && !set.pod_template->IsNull()) {
    const YamlNode& list = Key(*set.pod, "tolerations");
    c.Say("LINT-406", doc, *set.pod,
          "GPU nodes are often tainted nvidia.com/gpu, and the pod tolerates no such taint",
          list.IsNull()
              ? c.Insert(doc, *set.pod, "tolerations:\n  - {key: nvidia.com/gpu, operator: Exists}")
              : Context::Edits{});
  }
  for (const YamlEntry& e : Key(*set.pod, "nodeSelector").entries) {
    if (c.Listed("unset_node_labels", e.key))
      c.Say("LINT-410", doc, e.value,
            fmt::format("no NVIDIA component sets the label {}; nvidia.com/gpu.product is set by "
                        "GPU Feature Discovery",
                        e.key));
  }
  for (const YamlNode& container : set.Containers()) {
    if (ContainerGpus(container) == 0) continue;
    const YamlNode& resources = Key(container, "resources");
    const auto said = [&](const char* name) {
      return !Key(Key(resources, "requests"), name).IsNull() ||
             !Key(Key(resources, "limits"), name).IsNull();
    };
    const bool cpu = said("cpu"), memory = said("memory");
    if (!cpu || !memory)
      c.Say("LINT-405", doc, Key(container, "resources"),
            fmt::format("GPUs without {}: the pod is not Guaranteed, gets no CPUs of its own, and "
                        "is evicted first",
                        !cpu && !memory ? "cpu and memory"
                        : !cpu          ? "cpu"
                                        : "memory"));
  }
}

// ---- inside the container ----

void CheckImage(Context& c, const Document& doc, const YamlNode& container) {
  const YamlNode& image = Key(container, "image");
  if (image.IsNull() || Contains(image.text, "@sha256:") || Contains(image.text, "@sha512:"))
    return;
  const size_t colon = image.text.rfind(':');
  const bool tagged =
      colon != std::string::npos && image.text.find('/', colon) == std::string::npos;
  if (!tagged || image.text.substr(colon + 1) == "latest") {
    c.Say("LINT-501", doc, image,
          fmt::format("{} is whatever it is on the day of the pull", image.text));
  } else {
    c.Say("LINT-502", doc, image,
          fmt::format("{} has a tag, which can move, and no digest", image.text));
  }
}

const YamlNode* VolumeOf(const PodSet& set, std::string_view name) {
  for (const YamlNode& volume : Key(*set.pod, "volumes").items) {
    if (TextOf(Key(volume, "name")) == name) return &volume;
  }
  return nullptr;
}

void CheckSharedMemory(Context& c, const Document& doc, const PodSet& set,
                       const YamlNode& container) {
  const int64_t gpus = ContainerGpus(container);
  if (gpus < 2 || IsTrue(Key(*set.pod, "hostIPC"))) return;
  const YamlNode* mount = nullptr;
  for (const YamlNode& m : Key(container, "volumeMounts").items) {
    if (TextOf(Key(m, "mountPath")) == "/dev/shm") mount = &m;
  }
  if (mount == nullptr) {
    Context::Edits fix;
    const YamlNode& mounts = Key(container, "volumeMounts");
    const YamlNode& volumes = Key(*set.pod, "volumes");
    const std::string text(c.TextOfFile(doc.file));
    const auto add = [&](const YamlNode& owner, const YamlNode& list, const char* key,
                         const char* item) {
      return list.IsNull() ? c.Insert(doc, owner, fmt::format("{}:\n  - {}", key, item))
                           : InsertItem(doc.file, text, list, 0, item);
    };
    auto first = add(container, mounts, "volumeMounts", "{name: shm, mountPath: /dev/shm}");
    auto second = add(*set.pod, volumes, "volumes",
                      "{name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}");
    if (!first.empty() && !second.empty()) {
      fix = first;
      fix.insert(fix.end(), second.begin(), second.end());
    }
    c.Say("LINT-503", doc, container,
          fmt::format("{} GPUs share /dev/shm of the runtime's default 64 MiB", gpus),
          std::move(fix));
    return;
  }
  const YamlNode* volume = VolumeOf(set, TextOf(Key(*mount, "name")));
  if (volume == nullptr) return;
  const YamlNode* empty = volume->Find("emptyDir");
  if (empty == nullptr) return;
  if (TextOf(Key(*empty, "medium")) != "Memory") {
    c.Say("LINT-509", doc, *volume,
          "/dev/shm on the node's disk: shared memory becomes file writes",
          empty->entries.empty() ? Context::Edits{} : c.Insert(doc, *empty, "medium: Memory"));
  }
  const YamlNode& limit = Key(*empty, "sizeLimit");
  const auto bytes = ParseResourceAmount("memory", TextOf(limit));
  if (!limit.IsNull() && bytes.ok() && *bytes < gpus * (int64_t{1} << 30)) {
    c.Say("LINT-504", doc, limit, fmt::format("{} of shared memory for {} GPUs", limit.text, gpus),
          c.Set(doc, limit, fmt::format("{}Gi", gpus * 8)));
  }
}

void CheckContainer(Context& c, const Workload& w, const PodSet& set, const YamlNode& container,
                    bool& checkpoints) {
  const Document& doc = *w.doc;
  if (const YamlNode& security = Key(container, "securityContext");
      IsTrue(Key(security, "privileged"))) {
    Context::Edits fix = c.Set(doc, Key(security, "privileged"), "false");
    if (Key(security, "capabilities").IsNull()) {
      const auto lock = c.Insert(doc, security, "capabilities: {add: [IPC_LOCK]}");
      fix.insert(fix.end(), lock.begin(), lock.end());
    }
    c.Say("LINT-505", doc, Key(security, "privileged"), "", std::move(fix));
  }
  CheckSharedMemory(c, doc, set, container);
  for (const YamlNode& mount : Key(container, "volumeMounts").items) {
    const YamlNode& name = Key(mount, "name");
    if (VolumeOf(set, TextOf(name)) == nullptr && !name.IsNull())
      c.Say("LINT-511", doc, name, fmt::format("the pod has no volume {}", name.text));
  }
  std::map<std::string, const YamlNode*> seen;
  for (const YamlNode& env : Key(container, "env").items) {
    const YamlNode& name = Key(env, "name");
    if (!seen.emplace(TextOf(name), &name).second)
      c.Say("LINT-512", doc, name, fmt::format("{} is set twice; the last one counts", name.text),
            c.Remove(doc, env.at));
    const YamlNode& value = Key(env, "value");
    if (!value.IsNull() && !value.text.empty() && !Contains(value.text, "$(") &&
        c.Listed("secret_variables", TextOf(name)))
      c.Say("LINT-514", doc, value, fmt::format("{} stands in the manifest in clear", name.text));
  }
  // Where a checkpoint goes: an option or a variable that speaks of one.
  const auto path_is = [&](const YamlNode& at, const std::string& path) {
    if (!StartsWith(path, "/") && !Contains(path, "://")) return;
    checkpoints = true;
    if (PathIsKept(doc, set, container, path) == Keeps::kNo)
      c.Say("LINT-506", doc, at, fmt::format("{} lies in the pod and is gone with it", path));
  };
  const auto speaks = [](std::string_view name) {
    const std::string lower = ToLower(name);
    return Contains(lower, "checkpoint") || Contains(lower, "ckpt") || lower == "--save" ||
           lower == "--output_dir" || lower == "--output-dir" || lower == "--save-dir";
  };
  const std::vector<Word> words = WordsOf(container);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    const size_t equals = text.find('=');
    if (!StartsWith(text, "-") || !speaks(text.substr(0, equals))) continue;
    if (equals != std::string::npos)
      path_is(*words[i].node, Expand(container, text.substr(equals + 1)));
    else if (i + 1 < words.size())
      path_is(*words[i + 1].node, Expand(container, words[i + 1].text));
  }
  for (const YamlNode& env : Key(container, "env").items) {
    if (speaks(TextOf(Key(env, "name")))) path_is(Key(env, "value"), TextOf(Key(env, "value")));
  }
}

}  // namespace

void CheckShape(Context& c) {
  for (const Workload& w : c.workloads) {
    std::set<std::string> makers;
    for (const PodSet& set : w.sets) {
      CheckShapeOf(c, w, set);
      CheckQuality(c, w, set);
      for (const YamlNode& container : set.Containers()) CheckAmounts(c, *w.doc, container);
      for (const YamlNode& container : set.InitContainers()) CheckAmounts(c, *w.doc, container);
      for (const auto& [name, amount] : PodShape(set, {})) {
        if (IsWholeGpuResource(name) && amount > 0) makers.insert(name);
      }
    }
    if (makers.size() > 1 && w.IsGang())
      c.Say("LINT-409", *w.doc, w.doc->root,
            fmt::format("one gang asks for {}", fmt::join(makers, " and ")));
  }
}

void CheckPods(Context& c) {
  for (const Workload& w : c.workloads) {
    bool checkpoints = false;
    for (const PodSet& set : w.sets) {
      for (const YamlNode& container : set.Containers()) {
        CheckImage(c, *w.doc, container);
        CheckContainer(c, w, set, container, checkpoints);
      }
      for (const YamlNode& container : set.InitContainers()) CheckImage(c, *w.doc, container);
    }
    if (!w.IsGang() || !HasGpu(w)) continue;
    if (!checkpoints && w.doc->kind != ManifestKind::kTrainJob)
      c.Say("LINT-507", *w.doc, w.doc->root,
            fmt::format("{} names no checkpoint path; a restart begins at step 0", w.doc->Title()));
    const auto& keys = c.List("tracking_labels");
    const bool tracked = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return !Label(w.doc->root, key).IsNull() || !Annotation(w.doc->root, key).IsNull();
    });
    if (!tracked)
      c.Say("LINT-508", *w.doc, Key(w.doc->root, "metadata"),
            fmt::format("{} carries no label that says whose it is", w.doc->Title()));
  }
}

}  // namespace muster::lint
