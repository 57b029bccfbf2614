// Queues, flavors and topologies of every dialect as one quota tree.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/gangs_internal.h"
#include "manifest/quantity.h"

namespace muster::manifest {

namespace {

std::optional<int64_t> AmountAt(const Document& doc, const YamlNode& node,
                                std::string_view resource, GangReader& reader) {
  if (node.IsNull()) return std::nullopt;
  const auto amount = ParseResourceAmount(resource, TextOf(node));
  if (amount.ok()) return *amount;
  reader.Bad(doc)(node, fmt::format("{}: {}", resource, amount.error().message));
  return 0;  // a limit that cannot be read is no leave to go without one
}

void AddQueue(Queue queue, std::string kind, QueueRules rules, GangReader& reader) {
  reader.queue_rules.push_back(std::move(rules));
  reader.queue_kinds.push_back(std::move(kind));
  reader.into.queues.push_back(std::move(queue));
}

// Kueue: None, Hold, HoldAndDrain.
void ReadStop(const Document& doc, QueueRules& rules) {
  const std::string& policy = TextOf(At(doc.root, "spec.stopPolicy"));
  if (policy.empty() || policy == "None") return;
  rules.held = fmt::format("{} has stopPolicy {}", doc.Title(), policy);
  rules.stopped = true;
  rules.drain = policy == "HoldAndDrain";
}

void ReadSelector(const Document& doc, QueueRules& rules, GangReader& reader) {
  const YamlNode& selector = At(doc.root, "spec.namespaceSelector");
  rules.is_cluster_queue = true;
  if (selector.IsNull()) {
    reader.Note(doc, doc.spec(), "spec.namespaceSelector",
                "not said: no namespace may use this queue; {} lets all of them");
    return;
  }
  auto& namespaces = rules.namespaces.emplace();
  for (const YamlEntry& label : Key(selector, "matchLabels").entries)
    namespaces.push_back({label.key, "In", {TextOf(label.value)}});
  for (const YamlNode& one : Key(selector, "matchExpressions").items) {
    LabelRule rule{TextOf(Key(one, "key")), TextOf(Key(one, "operator")), {}};
    for (const YamlNode& value : Key(one, "values").items) rule.values.push_back(TextOf(value));
    namespaces.push_back(std::move(rule));
  }
}

void ReadGroups(const Document& doc, const YamlNode& spec, Queue& queue, GangReader& reader) {
  for (const YamlNode& group : Key(spec, "resourceGroups").items) {
    for (const YamlNode& flavor : Key(group, "flavors").items) {
      for (const YamlNode& resource : Key(flavor, "resources").items) {
        QuotaEntry entry;
        entry.flavor = TextOf(Key(flavor, "name"));
        entry.resource = TextOf(Key(resource, "name"));
        entry.nominal =
            AmountAt(doc, Key(resource, "nominalQuota"), entry.resource, reader).value_or(0);
        entry.borrow = AmountAt(doc, Key(resource, "borrowingLimit"), entry.resource, reader);
        entry.lend = AmountAt(doc, Key(resource, "lendingLimit"), entry.resource, reader);
        queue.quota.push_back(std::move(entry));
      }
    }
  }
}

void ReadWeight(const Document& doc, const YamlNode& fair, Queue& queue, GangReader& reader) {
  const YamlNode& weight = Key(fair, "weight");
  if (weight.IsNull()) return;
  const auto milli = ParseKubeQuantityMilli(TextOf(weight));
  if (!milli.ok() || *milli < 0) {
    reader.Bad(doc)(weight, "weight: expected a number that is not negative");
    return;
  }
  queue.weight = std::max<int64_t>(1, *milli / 1000);
  if (*milli % 1000 != 0) {
    reader.Note(doc, weight, "fairSharing.weight",
                fmt::format("weights are whole here: {} is taken", queue.weight));
  }
}

void ReadClusterQueue(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  Queue queue;
  queue.name = doc.name;
  queue.parent = TextOf(Key(spec, "cohortName"));
  if (queue.parent.empty()) queue.parent = TextOf(Key(spec, "cohort"));  // v1beta1
  if (TextOf(Key(spec, "queueingStrategy")) == "StrictFIFO") queue.order = QueueOrder::kFifo;
  ReadGroups(doc, spec, queue, reader);
  ReadWeight(doc, Key(spec, "fairSharing"), queue, reader);
  const YamlNode& preemption = Key(spec, "preemption");
  const std::string& within = TextOf(Key(preemption, "withinClusterQueue"));
  if (within == "LowerPriority") queue.within = PreemptWithin::kLowerPriority;
  if (within == "LowerOrNewerEqualPriority") queue.within = PreemptWithin::kLowerOrNewerEqual;
  const std::string& reclaim = TextOf(Key(preemption, "reclaimWithinCohort"));
  if (reclaim == "LowerPriority") queue.reclaim = ReclaimPolicy::kLowerPriority;
  if (reclaim == "Any") queue.reclaim = ReclaimPolicy::kAny;
  if (TextOf(At(preemption, "borrowWithinCohort.policy")) == "LowerPriority")
    queue.borrow = BorrowPolicy::kLowerPriority;
  // What v1beta1 calls Borrow and Preempt is MayStopSearch since v1beta2.
  const YamlNode& fungibility = Key(spec, "flavorFungibility");
  const std::string& when_preempt = TextOf(Key(fungibility, "whenCanPreempt"));
  queue.borrows_last = TextOf(Key(fungibility, "whenCanBorrow")) == "TryNextFlavor";
  queue.evicts_first = when_preempt == "MayStopSearch" || when_preempt == "Preempt";
  const YamlNode& preference = Key(fungibility, "preference");
  if (!preference.IsNull() && TextOf(preference) != "BorrowingOverPreemption")
    reader.Note(doc, preference, "spec.flavorFungibility.preference",
                "what fits by borrowing goes before what needs an eviction");
  reader.NoteRest(doc, fungibility, "spec.flavorFungibility",
                  {"whenCanBorrow", "whenCanPreempt", "preference"});
  QueueRules rules;
  ReadStop(doc, rules);
  ReadSelector(doc, rules, reader);
  reader.NoteRest(
      doc, spec, "spec",
      {"resourceGroups", "cohort", "cohortName", "queueingStrategy", "namespaceSelector",
       "preemption", "fairSharing", "stopPolicy", "flavorFungibility"});
  reader.NoteRest(doc, preemption, "spec.preemption",
                  {"withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort"});
  reader.NoteRest(doc, Key(preemption, "borrowWithinCohort"), "spec.preemption.borrowWithinCohort",
                  {"policy"});
  AddQueue(std::move(queue), "kueue", std::move(rules), reader);
}

// A Volcano queue: deserved (else guarantee, else capability) is its own, capability the most it
// may hold, and what lies above the guarantee may be taken by others while it is idle.
void ReadVolcanoQueue(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  Queue queue;
  queue.name = doc.name;
  queue.parent = TextOf(Key(spec, "parent"));
  queue.weight = std::max<int64_t>(1, IntOf(Key(spec, "weight"), 1));
  const YamlNode& capability = Key(spec, "capability");
  const YamlNode& deserved = Key(spec, "deserved");
  const YamlNode& guarantee = At(spec, "guarantee.resource");
  std::vector<std::string> names;
  for (const YamlNode* part : {&capability, &deserved, &guarantee}) {
    for (const YamlEntry& entry : part->entries) {
      if (std::find(names.begin(), names.end(), entry.key) == names.end())
        names.push_back(entry.key);
    }
  }
  for (const std::string& name : names) {
    const auto most = AmountAt(doc, Key(capability, name), name, reader);
    const auto own = AmountAt(doc, Key(deserved, name), name, reader);
    const auto least = AmountAt(doc, Key(guarantee, name), name, reader);
    QuotaEntry entry;
    entry.flavor = "default";
    entry.resource = name;
    entry.nominal = own.value_or(least.value_or(most.value_or(0)));
    if (most) entry.borrow = std::max<int64_t>(0, *most - entry.nominal);
    if (least) entry.lend = std::max<int64_t>(0, entry.nominal - *least);
    queue.quota.push_back(std::move(entry));
  }
  const YamlNode& reclaimable = Key(spec, "reclaimable");
  queue.reclaim = ReclaimPolicy::kAny;
  if (!reclaimable.IsNull() && !IsTrue(reclaimable)) {
    for (QuotaEntry& entry : queue.quota) entry.lend = 0;
  }
  reader.NoteRest(doc, spec, "spec",
                  {"weight", "capability", "deserved", "guarantee", "reclaimable", "parent"});
  QueueRules rules;
  const std::string& state = TextOf(At(doc.root, "status.state"));
  if (state == "Closed" || state == "Closing")
    rules.held = fmt::format("{} is {}", doc.Title(), state);
  AddQueue(std::move(queue), "volcano", std::move(rules), reader);
}

// KAI: quota -1 is unlimited; CPU in thousandths, memory in megabytes, GPUs whole or in fractions.
void ReadKaiQueue(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  Queue queue;
  queue.name = doc.name;
  queue.parent = TextOf(Key(spec, "parentQueue"));
  queue.reclaim = ReclaimPolicy::kAny;
  for (const YamlEntry& entry : Key(spec, "resources").entries) {
    const std::string resource = entry.key == "gpu" ? "nvidia.com/gpu" : entry.key;
    const double scale = entry.key == "memory" ? 1e6 : 1;
    const auto value = [&](const char* key) -> std::optional<int64_t> {
      const YamlNode& node = Key(entry.value, key);
      const auto number = ParseDouble(TextOf(node));
      if (!node.IsNull() && !number.ok()) {
        reader.Bad(doc)(
            node, fmt::format("spec.resources.{}.{}: expected a number, -1 for no limit", entry.key,
                              key));
        return 0;  // a limit that cannot be read is no leave to go without one
      }
      if (!number.ok() || *number < 0 || *number > 1e12) return std::nullopt;
      const double amount = *number * scale;
      if (amount != std::floor(amount))
        reader.Note(doc, node, fmt::format("spec.resources.{}.{}", entry.key, key),
                    fmt::format("whole devices are counted: {} is taken", std::floor(amount)));
      return static_cast<int64_t>(amount);
    };
    QuotaEntry quota;
    quota.flavor = "default";
    quota.resource = resource;
    // One that is left out is nothing, as in KAI (pkg/scheduler/api/queue_info); -1 is no bound.
    const bool said = !Key(entry.value, "quota").IsNull();
    quota.nominal = said ? value("quota").value_or(INT64_MAX / 4) : 0;
    const auto limit = value("limit");
    // Of one at the top the quota is no bound, for what it goes beyond is the cluster's (KAI's
    // "over quota"); its limit is one.
    if (queue.parent.empty()) quota.nominal = limit.value_or(INT64_MAX / 4);
    if (limit) quota.borrow = std::max<int64_t>(0, *limit - quota.nominal);
    queue.quota.push_back(std::move(quota));
    if (entry.key == "gpu")
      queue.weight = std::max<int64_t>(1, IntOf(Key(entry.value, "overQuotaWeight"), 1));
  }
  reader.NoteRest(doc, spec, "spec", {"parentQueue", "resources", "displayName"});
  AddQueue(std::move(queue), "kai", {}, reader);
}

// The nodes of a flavor have their taints themselves; a flavor's tolerations are given to the pods
// of those that are let in, which only `--kueue` does.
void ReadTaints(const Document& doc, const YamlNode& spec, Flavor& flavor, GangReader& reader) {
  for (const YamlNode& taint : Key(spec, "nodeTaints").items)
    flavor.taints.push_back(
        {TextOf(Key(taint, "key")), TextOf(Key(taint, "value")), TextOf(Key(taint, "effect"))});
  for (const YamlNode& one : Key(spec, "tolerations").items) {
    flavor.tolerate.push_back({TextOf(Key(one, "key")), TextOf(Key(one, "operator")),
                               TextOf(Key(one, "value")), TextOf(Key(one, "effect"))});
    if (flavor.tolerate.size() == 1)
      reader.Note(doc, one, "spec.tolerations",
                  "given to Jobs that `sched serve --kueue` lets in; other pods must have them");
  }
}

}  // namespace

void ReadQueueObject(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  switch (doc.kind) {
    case ManifestKind::kResourceFlavor: {
      Flavor flavor{doc.name, {}};
      for (const YamlEntry& label : Key(spec, "nodeLabels").entries)
        flavor.labels[label.key] = TextOf(label.value);
      ReadTaints(doc, spec, flavor, reader);
      if (const YamlNode& topology = Key(spec, "topologyName"); !topology.IsNull())
        reader.Note(doc, topology, "spec.topologyName",
                    "places by it are given to Workloads that `sched serve --kueue` lets in");
      reader.NoteRest(doc, spec, "spec",
                      {"nodeLabels", "nodeTaints", "tolerations", "topologyName"});
      reader.into.flavors.push_back(std::move(flavor));
      break;
    }
    case ManifestKind::kClusterQueue:
      ReadClusterQueue(doc, reader);
      break;
    case ManifestKind::kCohort: {
      Queue queue;
      queue.name = doc.name;
      queue.parent = TextOf(Key(spec, "parentName"));
      if (queue.parent.empty()) queue.parent = TextOf(Key(spec, "parent"));
      ReadGroups(doc, spec, queue, reader);
      ReadWeight(doc, Key(spec, "fairSharing"), queue, reader);
      reader.NoteRest(doc, spec, "spec", {"parentName", "parent", "resourceGroups", "fairSharing"});
      AddQueue(std::move(queue), "cohort", {}, reader);
      break;
    }
    case ManifestKind::kLocalQueue: {
      Queue queue;
      queue.name = LocalQueueName(doc.ns, doc.name);
      queue.parent = TextOf(Key(spec, "clusterQueue"));
      ReadWeight(doc, Key(spec, "fairSharing"), queue, reader);
      reader.NoteRest(doc, spec, "spec", {"clusterQueue", "fairSharing", "stopPolicy"});
      QueueRules rules;
      ReadStop(doc, rules);
      AddQueue(std::move(queue), "local", std::move(rules), reader);
      break;
    }
    case ManifestKind::kKueueTopology: {
      auto& levels = reader.into.topologies[doc.name];
      for (const YamlNode& level : Key(spec, "levels").items)
        levels.push_back(TextOf(Key(level, "nodeLabel")));
      break;
    }
    case ManifestKind::kVolcanoQueue:
      ReadVolcanoQueue(doc, reader);
      break;
    case ManifestKind::kKaiQueue:
      ReadKaiQueue(doc, reader);
      break;
    default:
      break;
  }
}

// Cohorts need no object of their own: a parent that is only named counts as well.
void TellQueuesApart(GangReader& reader) {
  std::vector<Queue>& queues = reader.into.queues;
  const auto kind_of_parent = [&](size_t i) -> std::string {
    const std::string& kind = reader.queue_kinds[i];
    return kind == "local" ? "kueue" : kind == "kueue" ? "cohort" : kind;
  };
  std::map<std::string, std::set<std::string>> kinds;  // by name
  for (size_t i = 0; i < queues.size(); ++i) {
    kinds[queues[i].name].insert(reader.queue_kinds[i]);
    if (!queues[i].parent.empty()) kinds[queues[i].parent].insert(kind_of_parent(i));
  }
  auto& renamed = reader.into.renamed;
  for (const auto& [name, who] : kinds) {
    for (const std::string& kind : who) {
      if (who.size() > 1 && kind != "kueue" && kind != "local")
        renamed[{kind, name}] = fmt::format("{}@{}", name, kind);
    }
  }
  const auto rename = [&](const std::string& kind, std::string& name) {
    if (const auto found = renamed.find({kind, name}); found != renamed.end()) name = found->second;
  };
  for (size_t i = 0; i < queues.size(); ++i) {
    rename(kind_of_parent(i), queues[i].parent);
    rename(reader.queue_kinds[i], queues[i].name);
    const QueueRules& rules = reader.queue_rules[i];
    if (!rules.held.empty() || rules.is_cluster_queue) reader.into.rules[queues[i].name] = rules;
  }
  for (ReadJob& job : reader.into.jobs) rename(job.queue_kind, job.job.queue);
}

}  // namespace muster::manifest
