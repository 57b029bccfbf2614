// Flavors with a topology: their real nodes, what runs on those, and where Workloads are seated.
#include <algorithm>

#include <fmt/format.h>

#include "backend/kubernetes/kueue/quota.h"

namespace muster::kueue {

namespace {

constexpr std::string_view kRoom = "node/";  // before the name of a real node, in the engine

bool Carries(const std::map<std::string, std::string>& labels,
             const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

bool SameNode(const sched::NodeAdd& a, const sched::NodeAdd& b) {
  return a.labels == b.labels && a.taints == b.taints && a.capacity == b.capacity;
}

void SayOnce(std::string text, std::vector<std::string>& troubles) {
  if (std::find(troubles.begin(), troubles.end(), text) == troubles.end())
    troubles.push_back(std::move(text));
}

void Add(const Resources& shape, int64_t times, Resources& sum) {
  for (const auto& [resource, amount] : shape) sum[resource] += amount * times;
}

}  // namespace

// One is followed: the engine has one tree of domains. Flavors of another are given by quota alone,
// which is said.
void QuotaCore::ChooseTopology() {
  with_rooms_.clear();
  std::string chosen;
  for (const auto& [flavor, topology] : queues_.topology_of) {
    const auto levels = queues_.topologies.find(topology);
    if (levels == queues_.topologies.end() || levels->second.empty()) {
      SayOnce(fmt::format("flavor {}: Topology {} is not there", flavor, topology), troubles_);
      continue;
    }
    if (chosen.empty()) chosen = topology;
    if (topology == chosen) {
      with_rooms_.insert(flavor);
    } else {
      SayOnce(fmt::format("flavor {}: Topology {} is not acted on, for one is followed at a time, "
                          "and that is {}",
                          flavor, topology, chosen),
              troubles_);
    }
  }
  rooms_.SetLevels(chosen.empty() ? std::vector<std::string>() : queues_.topologies.at(chosen));
}

void QuotaCore::AddRooms() {
  rooms_.Clear(), usable_.clear(), pods_.clear(), taken_.clear();
  taken_by_.clear();
  if (!rooms_.used() || !source_.each_node) return;
  source_.each_node([&](const sched::NodeAdd& node, bool usable) { AddRoom(node, usable); });
  source_.each_pod([&](const RoomPod& pod) { SetPod(pod); });
}

bool QuotaCore::IsRoom(const sched::NodeAdd& node) const {
  return rooms_.DomainsOf(node) &&
         std::any_of(queues_.flavors.begin(), queues_.flavors.end(), [&](const Flavor& flavor) {
           return with_rooms_.count(flavor.name) != 0 && Carries(node.labels, flavor.labels);
         });
}

void QuotaCore::AddRoom(const sched::NodeAdd& node, bool usable) {
  if (!IsRoom(node)) return;
  sched::NodeAdd room = node;
  room.name = std::string(kRoom) + node.name;
  room.numa.clear(), room.topology_manager = {};
  room.capacity = InEngine(node.capacity);
  room.at.clear();
  const auto domains = *rooms_.DomainsOf(node);
  for (size_t i = 0; i < domains.size(); ++i) {
    if (rooms_.levels()[i] != kHostname) room.at.push_back(domains[i]);
  }
  for (const Flavor& flavor : queues_.flavors) {
    if (!Carries(node.labels, flavor.labels)) continue;
    room.labels[FlavorLabel(flavor.name)] = "true";
    if (with_rooms_.count(flavor.name) == 0) continue;
    room.taints.erase(
        std::remove_if(room.taints.begin(), room.taints.end(),
                       [&](const Taint& taint) { return Tolerated(taint, flavor.tolerate); }),
        room.taints.end());
  }
  rooms_.SetNode(node);
  usable_[node.name] = usable;
  TakeEvent(room);
  if (!usable) TakeEvent(sched::NodeChange{room.name, sched::NodeVerb::kCordon});
}

void QuotaCore::SetNode(const sched::NodeAdd& node, bool usable) {
  if (!rooms_.used() || rebuild_) return;
  const auto known = rooms_.nodes().find(node.name);
  if (known == rooms_.nodes().end()) {
    rebuild_ = IsRoom(node);  // those who fitted nowhere are asked again
    return;
  }
  if (!SameNode(known->second, node)) {
    rebuild_ = true;
  } else if (std::exchange(usable_[node.name], usable) != usable) {
    TakeEvent(sched::NodeChange{std::string(kRoom) + node.name,
                                usable ? sched::NodeVerb::kUncordon : sched::NodeVerb::kCordon});
  }
}

void QuotaCore::RemoveNode(const std::string& name) {
  if (rooms_.nodes().count(name) != 0) rebuild_ = true;
}

void QuotaCore::SetPod(const RoomPod& pod) {
  if (!rooms_.used() || rebuild_ || pods_.count(pod.meta.uid) != 0) return;
  if (rooms_.nodes().count(pod.node) == 0) return;
  sched::JobAdopt adopt;
  adopt.job.name = "~" + pod.meta.uid;
  adopt.job.queue = "";
  adopt.job.preemptible = false;
  TaskGroup task;
  task.name = "pod";
  task.shape = InEngine(pod.shape);
  task.shape["pods"] = 1;
  if (taken_by_.try_emplace(pod.meta.uid, pod.node, pod.shape).second)
    Add(pod.shape, 1, taken_[pod.node]);
  adopt.job.tasks.push_back(std::move(task));
  adopt.seats.push_back({"pod", 0, std::string(kRoom) + pod.node});
  // A node that holds more than we count takes nothing more.
  if (engine_.Take({now_, std::move(adopt)}, decisions_).ok()) {
    pods_.insert(pod.meta.uid);
  } else {
    TakeEvent(sched::NodeHealth{std::string(kRoom) + pod.node, sched::Health::kSuspect});
  }
}

void QuotaCore::RemovePod(const std::string& uid) {
  if (const auto held = taken_by_.extract(uid); !held.empty())
    Add(held.mapped().second, -1, taken_[held.mapped().first]);
  if (pods_.erase(uid) == 0 || rebuild_) return;
  TakeEvent(sched::JobEnd{"~" + uid, sched::JobVerb::kFinish});
}

bool QuotaCore::HasRooms(const Queue& cluster_queue) const {
  return std::any_of(cluster_queue.quota.begin(), cluster_queue.quota.end(),
                     [&](const auto& entry) { return with_rooms_.count(entry.flavor) != 0; });
}

std::string QuotaCore::TopologyTrouble(const Ask& ask, const Queue& cluster_queue) const {
  const PodSetAsk* first = nullptr;
  for (const PodSetAsk& set : ask.sets) {
    if (!set.asks_for_topology) continue;
    if (!HasRooms(cluster_queue))
      return fmt::format(
          "pod set {} asks for a topology, and no flavor of ClusterQueue {} has one that is known",
          set.name, cluster_queue.name);
    if (first != nullptr && first->topology != set.topology)
      return "pod sets with different topology requests are not placed";
    first = &set;
    for (const std::string* level :
         {&set.topology.required, &set.topology.preferred, &set.topology.slice_level}) {
      const auto& levels = rooms_.levels();
      if (!level->empty() && std::find(levels.begin(), levels.end(), *level) == levels.end())
        return fmt::format("no level of the topology is {}", *level);
    }
  }
  return "";
}

void QuotaCore::NoteSeats(const std::vector<sched::Decision>& decisions) {
  if (!rooms_.used()) return;
  for (const sched::Decision& decision : decisions) {
    if (const auto* admit = std::get_if<sched::AdmitDecision>(&decision.body)) {
      seats_.erase(admit->job);
    } else if (const auto* bind = std::get_if<sched::BindDecision>(&decision.body)) {
      if (bind->node.starts_with(kRoom))
        ++seats_[bind->job][bind->task][bind->node.substr(kRoom.size())];
    }
  }
}

Places QuotaCore::TakePlaces(const std::string& uid) {
  Places places;
  const auto seats = seats_.find(uid);
  if (seats == seats_.end()) return places;
  for (const auto& [set, pods_on] : seats->second) places[set] = rooms_.AssignmentOf(pods_on);
  seats_.erase(seats);
  return places;
}

// Of all its sets, or of none.
bool QuotaCore::SeatInRooms(const One& one, const Job& job,
                            std::vector<sched::JobAdopt::Seat>& seats) const {
  const Places& places = one.ask.reserved ? one.ask.places : one.placed;
  if (!rooms_.used() || places.empty()) return false;
  for (const TaskGroup& task : job.tasks) {
    const auto place = places.find(task.name);
    if (place == places.end()) return false;
    Resources shape;
    for (const auto& [resource, amount] : task.shape) shape[FromEngine(resource)] = amount;
    const auto pods_on = rooms_.NodesOf(place->second, shape, taken_);
    if (!pods_on) return false;
    int rank = 0;
    for (const auto& [node, pods] : *pods_on) {
      for (int i = 0; i < pods && rank < task.count; ++i)
        seats.push_back({task.name, rank++, std::string(kRoom) + node});
    }
    if (rank < task.count) return false;
  }
  return true;
}

}  // namespace muster::kueue
