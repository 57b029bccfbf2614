// Queues, flavors and topologies of every dialect as one quota tree.
#include <algorithm>

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
  return std::nullopt;
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
  const YamlNode& selector = Key(spec, "namespaceSelector");
  if (selector.IsNull()) {
    reader.Note(doc, spec, "spec.namespaceSelector",
                "not said: no namespace may use this queue in Kueue; here every LocalQueue may");
  } else if (!selector.entries.empty()) {
    reader.Note(doc, selector, "spec.namespaceSelector", "read, and not acted on");
  }
  reader.NoteRest(doc, spec, "spec",
                  {"resourceGroups", "cohort", "cohortName", "queueingStrategy",
                   "namespaceSelector", "preemption", "fairSharing"});
  reader.into.queues.push_back(std::move(queue));
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
  reader.into.queues.push_back(std::move(queue));
}

// KAI: quota -1 is unlimited; CPU in thousandths, memory in megabytes, GPUs whole or in fractions.
void ReadKaiQueue(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  Queue queue;
  queue.name = doc.name;
  queue.parent = TextOf(Key(spec, "parentQueue"));
  queue.reclaim = ReclaimPolicy::kAny;
  for (const YamlEntry& entry : Key(spec, "resources").entries) {
    const std::string resource = entry.key == "gpu" ? "gpu_milli" : entry.key;
    const double scale = entry.key == "gpu" ? 1000 : entry.key == "memory" ? 1e6 : 1;
    const auto value = [&](const char* key) -> std::optional<int64_t> {
      const auto number = ParseDouble(TextOf(Key(entry.value, key)));
      if (!number.ok() || *number < 0 || *number > 1e12) return std::nullopt;
      return static_cast<int64_t>(*number * scale);
    };
    QuotaEntry quota;
    quota.flavor = "default";
    quota.resource = resource;
    quota.nominal = value("quota").value_or(INT64_MAX / 4);
    if (const auto limit = value("limit"))
      quota.borrow = std::max<int64_t>(0, *limit - quota.nominal);
    queue.quota.push_back(std::move(quota));
    if (entry.key == "gpu")
      queue.weight = std::max<int64_t>(1, IntOf(Key(entry.value, "overQuotaWeight"), 1));
  }
  reader.NoteRest(doc, spec, "spec", {"parentQueue", "resources", "displayName"});
  reader.into.queues.push_back(std::move(queue));
}

}  // namespace

void ReadQueueObject(const Document& doc, GangReader& reader) {
  const YamlNode& spec = doc.spec();
  switch (doc.kind) {
    case ManifestKind::kResourceFlavor: {
      Flavor flavor{doc.name, {}};
      for (const YamlEntry& label : Key(spec, "nodeLabels").entries)
        flavor.labels[label.key] = TextOf(label.value);
      reader.NoteRest(doc, spec, "spec", {"nodeLabels"});
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
      reader.into.queues.push_back(std::move(queue));
      break;
    }
    case ManifestKind::kLocalQueue: {
      Queue queue;
      queue.name = LocalQueueName(doc.ns, doc.name);
      queue.parent = TextOf(Key(spec, "clusterQueue"));
      ReadWeight(doc, Key(spec, "fairSharing"), queue, reader);
      reader.NoteRest(doc, spec, "spec", {"clusterQueue", "fairSharing"});
      reader.into.queues.push_back(std::move(queue));
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

}  // namespace muster::manifest
