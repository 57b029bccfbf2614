// Flavors of the quota engine: the nodes without end that stand for them, what they give to pods,
// and why pods may not have them.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/quota.h"

namespace muster::kueue {

std::string InEngine(std::string resource) {
  std::replace(resource.begin(), resource.end(), '/', '!');
  return resource;
}
std::string FromEngine(std::string resource) {
  std::replace(resource.begin(), resource.end(), '!', '/');
  return resource;
}
Resources InEngine(const Resources& amounts) {
  Resources renamed;
  for (const auto& [resource, amount] : amounts) renamed[InEngine(resource)] = amount;
  return renamed;
}

std::string FlavorLabel(const std::string& flavor) { return "muster.dev/flavor." + flavor; }

bool Tolerated(const Taint& taint, const std::vector<Toleration>& tolerate) {
  return taint.effect == "PreferNoSchedule" ||
         std::any_of(tolerate.begin(), tolerate.end(),
                     [&](const Toleration& one) { return sched::Tolerates(one, taint); });
}

namespace {

constexpr size_t kMostNodes = 256;
// Of every resource on every endless node: far above what all quota together can give away, and far
// below what a sum of them could overflow.
constexpr int64_t kEndless = int64_t{1} << 52;

// The choices of flavors that a queue has: one of each group of resources. Where a flavor has
// taints, also none of that group, for pods that ask for nothing of it.
std::set<std::set<std::string>> ChoicesOf(const Queue& queue,
                                          const std::set<std::string>& tainted) {
  std::map<std::string, std::set<std::string>> flavors_of;  // resource -> flavors
  for (const QuotaEntry& entry : queue.quota) flavors_of[entry.resource].insert(entry.flavor);
  std::set<std::set<std::string>> groups, made = {{}};
  for (const auto& [resource, flavors] : flavors_of) groups.insert(flavors);
  for (const std::set<std::string>& group : groups) {
    std::set<std::set<std::string>> longer;
    const bool or_none =
        groups.size() > 1 && std::any_of(group.begin(), group.end(), [&](const auto& flavor) {
          return tainted.count(flavor) != 0;
        });
    if (or_none) longer = made;
    for (const std::set<std::string>& before : made) {
      for (const std::string& flavor : group) {
        std::set<std::string> with = before;
        with.insert(flavor);
        if (longer.size() < kMostNodes) longer.insert(std::move(with));
      }
    }
    made = std::move(longer);
  }
  return made;
}

}  // namespace

// A ClusterQueue gives each of its resources from one flavor at a time, resources of one group from
// the same one: an endless node stands for one such choice, for whoever may make it.
void QuotaCore::AddNodes() {
  nodes_.clear();
  std::set<std::string> resources = {"pods"}, tainted;
  for (const Flavor& flavor : queues_.flavors) {
    if (!flavor.taints.empty()) tainted.insert(flavor.name);
  }
  std::set<std::set<std::string>> choices;
  for (const Queue& queue : queues_.queues) {
    for (const QuotaEntry& entry : queue.quota) resources.insert(entry.resource);
    for (const std::set<std::string>& choice : ChoicesOf(queue, tainted)) {
      if (choices.size() < kMostNodes) choices.insert(choice);
    }
  }
  Resources endless;
  for (const std::string& resource : resources) endless[InEngine(resource)] = kEndless;
  for (const std::set<std::string>& choice : choices) {
    sched::NodeAdd node;
    node.name = fmt::format("endless-{}", nodes_.size());
    node.capacity = endless;
    for (const std::string& name : choice) node.labels[FlavorLabel(name)] = "true";
    bool rooms = false;
    for (const Flavor& flavor : queues_.flavors) {
      if (choice.count(flavor.name) == 0) continue;
      node.labels.insert(flavor.labels.begin(), flavor.labels.end());
      for (const Taint& taint : flavor.taints) {
        if (!Tolerated(taint, flavor.tolerate)) node.taints.push_back(taint);
      }
      rooms = rooms || with_rooms_.count(flavor.name) != 0;
    }
    // Where there are real nodes, this one is for Jobs, whose pods the gang scheduler places.
    node.labels[kEndlessKey] = "true";
    if (rooms) node.taints.push_back({kEndlessKey, "", "NoSchedule"});
    if (TakeEvent(node)) nodes_[node.name] = choice;
  }
}

std::string QuotaCore::NodeFor(const std::map<std::string, std::string>& flavors) const {
  for (const auto& [name, choice] : nodes_) {
    if (std::all_of(flavors.begin(), flavors.end(),
                    [&, &of = choice](const auto& given) { return of.count(given.second) != 0; }))
      return name;
  }
  return "";
}

const Flavor* QuotaCore::FlavorNamed(const std::string& name) const {
  const auto found = std::find_if(queues_.flavors.begin(), queues_.flavors.end(),
                                  [&](const Flavor& flavor) { return flavor.name == name; });
  return found == queues_.flavors.end() ? nullptr : &*found;
}

PodUpdate QuotaCore::UpdateFor(const Flavors& flavors) const {
  PodUpdate update;
  std::set<std::string> names;
  for (const auto& [set, given] : flavors) {
    for (const auto& [resource, flavor] : given) names.insert(flavor);
  }
  for (const std::string& name : names) {
    const Flavor* flavor = FlavorNamed(name);
    if (flavor == nullptr) continue;
    update.select.insert(flavor->labels.begin(), flavor->labels.end());
    update.tolerate.insert(update.tolerate.end(), flavor->tolerate.begin(), flavor->tolerate.end());
  }
  return update;
}

// Why none of the queue's flavors of a resource can ever be given to these pods; empty: one can.
std::string QuotaCore::NoFlavorFor(const Queue& cluster_queue, const PodSetAsk& set,
                                   const std::string& resource) const {
  std::string why = fmt::format("resource {} unavailable in ClusterQueue", resource);
  bool listed = false;
  for (const QuotaEntry& entry : cluster_queue.quota) {
    if (entry.resource != resource) continue;
    const Flavor* flavor = FlavorNamed(entry.flavor);
    const std::string obstacle = flavor == nullptr ? "" : ObstacleOf(*flavor, set);
    if (obstacle.empty()) return "";
    why = (listed ? why + ", " : "") + obstacle;
    listed = true;
  }
  return why;
}

// Why pods of this set may not have the flavor: a taint, or a node label that they choose.
std::string QuotaCore::ObstacleOf(const Flavor& flavor, const PodSetAsk& set) const {
  for (const Taint& taint : flavor.taints) {
    if (!Tolerated(taint, set.tolerate) && !Tolerated(taint, flavor.tolerate))
      return fmt::format("untolerated taint {}={}:{} in flavor {}", taint.key, taint.value,
                         taint.effect, flavor.name);
  }
  for (const auto& [key, value] : set.select) {
    const auto label = flavor.labels.find(key);
    if (label != flavor.labels.end() && label->second != value)
      return fmt::format("flavor {} doesn't match node affinity", flavor.name);
  }
  return "";
}

}  // namespace muster::kueue
