// A few nodes of eight GPUs and gangs on them, told to a Core by hand. For tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/kubernetes/sched/core.h"

namespace muster::kubesched::testing {

struct SmallCluster {
  explicit SmallCluster(int nodes) : node_count(nodes) { AddNodes(); }

  static NodeFacts NodeOfEight(int i) {
    NodeFacts node;
    node.spec.name = "n" + std::to_string(i);
    node.id = {"", node.spec.name, "node-uid-" + std::to_string(i), "1"};
    node.spec.capacity = {{"cpu", 96000}, {"pods", 110}, {"nvidia.com/gpu", 8}};
    return node;
  }
  void AddNodes() {
    for (int i = 0; i < node_count; ++i) Usable(i, true);
  }

  PodFacts Facts(const std::string& gang, int index, int size, int gpus,
                 const std::string& node = {}) {
    PodFacts facts;
    const std::string name = gang + "-" + std::to_string(index);
    auto& uid = uids[name];
    if (uid.empty()) uid = name + "#" + std::to_string(++next_uid);
    facts.id = {"ml", name, uid, std::to_string(++next_uid)};
    facts.scheduler = "muster";
    facts.dialect = Dialect::kMuster;
    facts.group = gang, facts.group_size = size, facts.index = index;
    facts.controlled = true;
    facts.shape = {{"cpu", 1000}, {"pods", 1}, {"nvidia.com/gpu", gpus}};
    facts.node = node;
    return facts;
  }
  void Put(const PodFacts& facts) {
    seen[facts.id.uid] = std::make_shared<const PodFacts>(facts);
    core.SetPod(seen[facts.id.uid]);
  }
  void Pod(const std::string& gang, int index, int size, int gpus, const std::string& node = {}) {
    Put(Facts(gang, index, size, gpus, node));
  }
  // Pods of the first nodes' number are bound there already.
  void Gang(const std::string& name, int size, int gpus, const std::vector<std::string>& nodes = {},
            int priority = 0, const std::string& queue = {}) {
    for (int i = 0; i < size; ++i) {
      PodFacts facts = Facts(
          name, i, size, gpus,
          static_cast<size_t>(i) < nodes.size() ? nodes[static_cast<size_t>(i)] : std::string());
      facts.priority = priority, facts.queue = queue;
      Put(facts);
    }
  }
  void Foreign(const std::string& name, const std::string& node, int gpus) {
    PodFacts facts = Facts(name, 0, 1, gpus, node);
    facts.scheduler = "default-scheduler";
    Put(facts);
  }
  void RemoveForeign(const std::string& name) { Remove(name, 0); }
  void Queue(const std::string& name, PreemptWithin within, int64_t gpus = 1000) {
    muster::Queue queue;
    queue.name = name, queue.within = within;
    queue.quota.push_back({"any", "nvidia.com/gpu", gpus, {}, {}});
    core.SetQueues({queue}, {});
  }

  void Decide(int64_t at = 0) {
    now = std::max(now, at);
    core.Decide(now, acts, room);
  }
  void Usable(int node, bool usable) {
    NodeFacts facts = NodeOfEight(node);
    facts.usable = usable;
    core.SetNode(std::make_shared<const NodeFacts>(facts));
  }
  const PodFacts& Last(const std::string& gang, int index) {
    return *seen.at(uids.at(gang + "-" + std::to_string(index)));
  }
  // The cluster takes the binding; the scheduler hears of it by the watch.
  void Write(const BindPod& bind) {
    PodFacts facts = *seen.at(bind.pod.uid);
    if (!facts.node.empty()) return;
    facts.node = bind.node;
    Put(facts);
  }
  void Confirm(const BindPod& bind) {
    core.Bound(bind.pod.uid);
    Write(bind);
  }
  void ConfirmAll() {
    for (const Act& act : std::vector<Act>(acts)) {
      if (const auto* bind = std::get_if<BindPod>(&act)) Confirm(*bind);
    }
    Decide();
  }
  void End(const std::string& gang, int index) { Finish(gang, index, false, ""); }
  void Fail(const std::string& gang, int index) {
    Finish(gang, index, true, "");
    uids.erase(gang + "-" + std::to_string(index));  // a successor is another pod
  }
  void Refuse(const std::string& gang, int index, const std::string& reason) {
    Finish(gang, index, true, reason);
  }
  void Finish(const std::string& gang, int index, bool failed, const std::string& refusal) {
    PodFacts facts = Last(gang, index);
    facts.done = true, facts.failed = failed, facts.refusal = refusal;
    Put(facts);
  }
  void Remove(const std::string& gang, int index) {
    const std::string uid = Last(gang, index).id.uid;
    seen.erase(uid);
    uids.erase(gang + "-" + std::to_string(index));
    core.RemovePod(uid);
  }
  // `kill -9`, and a new one that knows only what the cluster shows.
  void Restart() {
    core = Core();
    acts.clear();
    AddNodes();
    for (const auto& [uid, facts] : seen) core.SetPod(facts);
  }

  std::vector<BindPod> Binds(const std::string& gang) const {
    std::vector<BindPod> binds;
    for (const Act& act : acts) {
      const auto* bind = std::get_if<BindPod>(&act);
      if (bind != nullptr && bind->pod.name.starts_with(gang + "-")) binds.push_back(*bind);
    }
    return binds;
  }
  std::string NodeOf(const std::string& gang, int index) { return Last(gang, index).node; }
  std::vector<std::string> Deleted() const {
    std::vector<std::string> names;
    for (const Act& act : acts) {
      if (const auto* gone = std::get_if<DeletePod>(&act)) names.push_back(gone->pod.name);
    }
    return names;
  }
  size_t Says(const std::string& reason) const {
    size_t count = 0;
    for (const Act& act : acts) {
      const auto* say = std::get_if<SayGang>(&act);
      count += say != nullptr && say->reason == reason ? 1 : 0;
    }
    return count;
  }
  std::string Why(const std::string& gang) const {
    for (const Core::GangView& view : core.Gangs()) {
      if (view.name == gang) return view.why;
    }
    return "";
  }
  int BoundPods(const std::string& gang) const {
    int bound = 0;
    for (const auto& [uid, facts] : seen)
      bound += facts->group == gang && !facts->node.empty() ? 1 : 0;
    return bound;
  }
  bool NoNodeOverfull() const {
    std::map<std::string, int64_t> used;
    for (const auto& [uid, facts] : seen) {
      if (!facts->node.empty() && !facts->done)
        used[facts->node] += facts->shape.at("nvidia.com/gpu");
    }
    for (const auto& [node, gpus] : used) {
      if (gpus > 8) return false;
    }
    return true;
  }

  int node_count;
  Core core;
  std::vector<Act> acts;
  int64_t now = 0;
  size_t room = SIZE_MAX;  // for bindings, in each round
  int next_uid = 0;
  std::map<std::string, std::string> uids;  // by pod name
  std::map<std::string, std::shared_ptr<const PodFacts>> seen;
};

}  // namespace muster::kubesched::testing
