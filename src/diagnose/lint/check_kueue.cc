// Kueue's set of objects: what names what, what is covered, what can ever be admitted.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"
#include "manifest/quantity.h"

namespace muster::lint {

namespace {

const std::string& CohortOf(const Document& queue) {
  const std::string& name = TextOf(Key(queue.spec(), "cohortName"));
  return name.empty() ? TextOf(Key(queue.spec(), "cohort")) : name;
}

void CheckVersion(Context& c, const Document& doc) {
  if (doc.group != "kueue.x-k8s.io" || doc.version == "v1beta2") return;
  const YamlNode& at = Key(doc.root, "apiVersion");
  Context::Edits fix = c.Set(doc, at, "kueue.x-k8s.io/v1beta2");
  if (const YamlNode* cohort = doc.spec().Find("cohort"); cohort != nullptr && !fix.empty()) {
    for (const YamlEntry& e : doc.spec().entries) {
      if (e.key != "cohort") continue;
      const size_t offset = OffsetOf(c.TextOfFile(doc.file), e.at);
      if (offset != std::string_view::npos && c.TextOfFile(doc.file).substr(offset, 6) == "cohort")
        fix.push_back({doc.file, offset, 6, "cohortName"});
    }
  }
  c.Say("LINT-701", doc, at,
        fmt::format("{} is served by Kueue up to 0.19, and not by 0.20", at.text), std::move(fix));
}

void CheckClusterQueue(Context& c, const Document& doc) {
  const YamlNode& spec = doc.spec();
  const bool flavors_given = !c.Of(ManifestKind::kResourceFlavor).empty();
  const std::string& cohort = CohortOf(doc);
  if (spec.Find("namespaceSelector") == nullptr || Key(spec, "namespaceSelector").IsNull())
    c.Say("LINT-710", doc, spec, fmt::format("{} takes work from no namespace", doc.Title()),
          c.Insert(doc, spec, "namespaceSelector: {}"));
  const auto cohorts = c.Of(ManifestKind::kCohort);
  if (!cohort.empty() && !cohorts.empty() && c.Find(ManifestKind::kCohort, cohort, "") == nullptr)
    c.Say("LINT-712", doc, spec,
          fmt::format("there is no Cohort {} in these files, and there are others", cohort));
  if (cohort.empty() && !At(spec, "preemption.reclaimWithinCohort").IsNull() &&
      TextOf(At(spec, "preemption.reclaimWithinCohort")) != "Never")
    c.Say("LINT-711", doc, At(spec, "preemption.reclaimWithinCohort"), "");
  for (const YamlNode& group : Key(spec, "resourceGroups").items) {
    std::set<std::string> covered;
    for (const YamlNode& name : Key(group, "coveredResources").items) covered.insert(TextOf(name));
    std::set<std::string> products;
    bool gpu = false;
    for (const YamlNode& flavor : Key(group, "flavors").items) {
      const YamlNode& name = Key(flavor, "name");
      const Document* object = c.Find(ManifestKind::kResourceFlavor, TextOf(name), "");
      if (flavors_given && object == nullptr)
        c.Say("LINT-703", doc, name,
              fmt::format("there is no ResourceFlavor {} in these files", TextOf(name)));
      if (object != nullptr) {
        std::string labels;
        for (const YamlEntry& e : At(object->root, "spec.nodeLabels").entries) {
          if (Contains(e.key, "gpu.product") || Contains(e.key, "gpu-product") ||
              Contains(e.key, "accelerator") || Contains(e.key, "instance-type") ||
              Contains(e.key, "gpu.family"))
            labels += TextOf(e.value);
        }
        if (!labels.empty()) products.insert(labels);
      }
      std::set<std::string> listed;
      for (const YamlNode& resource : Key(flavor, "resources").items) {
        const std::string& resource_name = TextOf(Key(resource, "name"));
        gpu |= IsGpuResource(resource_name);
        listed.insert(resource_name);
        if (covered.count(resource_name) == 0)
          c.Say("LINT-704", doc, Key(resource, "name"),
                fmt::format("{} has a quota and is not in coveredResources", resource_name));
        for (const char* limit : {"borrowingLimit", "lendingLimit"}) {
          if (cohort.empty() && !Key(resource, limit).IsNull())
            c.Say("LINT-709", doc, Key(resource, limit),
                  fmt::format("{} in a queue without a cohort; the webhook refuses it", limit), {});
        }
      }
      for (const std::string& one : covered) {
        if (listed.count(one) == 0)
          c.Say("LINT-704", doc, name,
                fmt::format("flavor {} gives no quota of {}, which is covered", TextOf(name), one));
      }
    }
    if (gpu && products.size() > 1)
      c.Say("LINT-708", doc, Key(group, "flavors"),
            fmt::format("{} kinds of hardware for one resource: each pod set of a gang takes the "
                        "first that fits it",
                        products.size()));
  }
}

// What a ClusterQueue can give of each resource, over its flavors; nothing when it may borrow
// without limit.
struct Ceiling {
  std::set<std::string> covered;
  std::map<std::string, int64_t> largest;  // of one flavor
  bool may_borrow = false;
};
Ceiling CeilingOf(const Document& queue) {
  Ceiling ceiling;
  const bool cohort = !CohortOf(queue).empty();
  for (const YamlNode& group : Key(queue.spec(), "resourceGroups").items) {
    for (const YamlNode& name : Key(group, "coveredResources").items)
      ceiling.covered.insert(TextOf(name));
    for (const YamlNode& flavor : Key(group, "flavors").items) {
      for (const YamlNode& resource : Key(flavor, "resources").items) {
        const std::string& name = TextOf(Key(resource, "name"));
        const auto own = ParseResourceAmount(name, TextOf(Key(resource, "nominalQuota")));
        const auto more = ParseResourceAmount(name, TextOf(Key(resource, "borrowingLimit")));
        if (cohort && Key(resource, "borrowingLimit").IsNull()) ceiling.may_borrow = true;
        int64_t& largest = ceiling.largest[name];
        largest = std::max(largest, own.value_or(0) + (cohort ? more.value_or(0) : 0));
      }
    }
  }
  return ceiling;
}

void CheckAdmission(Context& c, const Workload& w) {
  const Document& doc = *w.doc;
  const YamlNode& label = Label(doc.root, "kueue.x-k8s.io/queue-name");
  if (label.IsNull()) return;
  const auto locals = c.Of(ManifestKind::kLocalQueue);
  if (locals.empty()) return;
  const Document* local = c.Find(ManifestKind::kLocalQueue, label.text, NamespaceOf(doc));
  if (local == nullptr) {
    const Document* elsewhere = c.Find(ManifestKind::kLocalQueue, label.text, "");
    Context::Edits fix;
    std::vector<std::string> names;
    for (const Document* one : locals) {
      if (NamespaceOf(*one) == NamespaceOf(doc)) names.push_back(one->name);
    }
    if (const auto near = Nearest(label.text, names)) fix = c.Set(doc, label, *near);
    c.Say("LINT-705", doc, label,
          elsewhere != nullptr
              ? fmt::format("LocalQueue {} is in namespace {}, the job in {}", label.text,
                            NamespaceOf(*elsewhere), NamespaceOf(doc))
              : fmt::format("there is no LocalQueue {} in these files", label.text),
          std::move(fix));
    return;
  }
  const Document* queue =
      c.Find(ManifestKind::kClusterQueue, TextOf(At(local->root, "spec.clusterQueue")), "");
  if (queue == nullptr) return;
  const Ceiling ceiling = CeilingOf(*queue);
  Resources all;
  for (const PodSet& set : w.sets) {
    for (const auto& [name, amount] : PodShape(set, {})) {
      int64_t times = 0;
      if (__builtin_mul_overflow(amount, set.count, &times)) times = INT64_MAX / 8;
      all[name] = std::min<int64_t>(INT64_MAX / 4, all[name] + times);
    }
  }
  const YamlNode& at = w.sets.empty() || w.sets[0].Containers().empty()
                           ? doc.root
                           : Key(w.sets[0].Containers()[0], "resources");
  for (const auto& [name, amount] : all) {
    if (amount == 0) continue;
    const auto text = [&](int64_t n) {
      return name == "cpu" ? fmt::format("{:g}", static_cast<double>(n) / 1000) : std::to_string(n);
    };
    if (ceiling.covered.count(name) == 0) {
      c.Say("LINT-706", doc, at,
            fmt::format("ClusterQueue {} does not cover {}, so the job is never admitted",
                        queue->name, name));
    } else if (!ceiling.may_borrow && amount > ceiling.largest.at(name)) {
      c.Say("LINT-707", doc, label,
            fmt::format(
                "{} asks for {} of {} in all, and ClusterQueue {} can never give more than {}",
                doc.Title(), text(amount), name, queue->name, text(ceiling.largest.at(name))));
    }
  }
}

}  // namespace

void CheckKueue(Context& c) {
  for (const Document* doc : c.docs) {
    CheckVersion(c, *doc);
    if (doc->kind == ManifestKind::kClusterQueue) CheckClusterQueue(c, *doc);
    if (doc->kind == ManifestKind::kLocalQueue) {
      const YamlNode& queue = Key(doc->spec(), "clusterQueue");
      if (!c.Of(ManifestKind::kClusterQueue).empty() &&
          c.Find(ManifestKind::kClusterQueue, TextOf(queue), "") == nullptr) {
        std::vector<std::string> names;
        for (const Document* one : c.Of(ManifestKind::kClusterQueue)) names.push_back(one->name);
        const auto near = Nearest(TextOf(queue), names);
        c.Say("LINT-702", *doc, queue,
              fmt::format("there is no ClusterQueue {} in these files", TextOf(queue)),
              near ? c.Set(*doc, queue, *near) : Context::Edits{});
      }
    }
    if (doc->kind == ManifestKind::kResourceFlavor) {
      const YamlNode& topology = Key(doc->spec(), "topologyName");
      if (!topology.IsNull() && !c.Of(ManifestKind::kKueueTopology).empty() &&
          c.Find(ManifestKind::kKueueTopology, TextOf(topology), "") == nullptr)
        c.Say("LINT-714", *doc, topology,
              fmt::format("there is no Topology {} in these files", TextOf(topology)));
    }
  }
  for (const Workload& w : c.workloads) {
    CheckAdmission(c, w);
    if (w.doc->kind == ManifestKind::kPod) continue;
    for (const char* key :
         {"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"}) {
      const YamlNode& misplaced = Annotation(w.doc->root, key);
      if (!misplaced.IsNull())
        c.Say("LINT-715", *w.doc, misplaced,
              fmt::format("{} stands on the {}; Kueue reads it on the pod template", key,
                          w.doc->kind_name));
    }
  }
}

}  // namespace muster::lint
