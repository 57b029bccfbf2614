#include "state.h"

#include <algorithm>
#include <cmath>

namespace sched_checker {

namespace {

std::string Text(const Json& object, const char* key, const std::string& otherwise = "") {
  const auto found = object.find(key);
  return found == object.end() ? otherwise : found->get<std::string>();
}
template <typename T>
std::optional<T> Maybe(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : std::optional<T>(found->get<T>());
}
Labels ReadLabels(const Json& object, const char* key) {
  return object.contains(key) ? object.at(key).get<Labels>() : Labels{};
}

Node ReadNode(const Json& event, int line) {
  Node node;
  node.name = event.at("name");
  node.script_line = line;
  if (event.contains("at")) node.at = event.at("at").get<std::vector<std::string>>();
  node.labels = ReadLabels(event, "labels");
  for (const Json& taint : event.value("taints", Json::array()))
    node.taints.push_back({Text(taint, "key"), Text(taint, "value"), Text(taint, "effect")});
  for (const Json& zone : event.value("numa", Json::array())) {
    Zone& to = node.zones.emplace_back();
    for (const auto& [resource, value] : zone.items()) {
      if (resource == "cpu") to.cpu = ParseAmount(resource, value);
      if (!value.is_array()) continue;
      for (const Json& id : value) to.devices[resource].insert(id.get<int>());
      for (const int id : to.devices[resource]) node.devices[resource][id] = 0;
    }
  }
  for (const auto& [resource, value] : event.at("capacity").items()) {
    const int64_t amount = ParseAmount(resource, value);
    if (!IsDevice(resource)) {
      node.capacity[resource] = amount;
    } else if (!node.devices.contains(resource)) {
      for (int id = 0; id < amount; ++id) node.devices[resource][id] = 0;
    }
  }
  if (event.contains("topology_manager")) {
    node.policy = Text(event.at("topology_manager"), "policy", "none");
    node.cpu_manager = Text(event.at("topology_manager"), "cpu_manager", "none");
  }
  return node;
}

Queue ReadQueue(const Json& event) {
  Queue queue;
  queue.name = event.at("name");
  queue.parent = Text(event, "parent");
  queue.order = Text(event, "order", queue.order);
  if (event.contains("preempt")) {
    const Json& preempt = event.at("preempt");
    queue.within = Text(preempt, "within", "never");
    queue.reclaim = Text(preempt, "reclaim", "never");
    queue.borrow = Text(preempt, "borrow", "never");
  }
  for (const Json& entry : event.value("quota", Json::array())) {
    const std::string resource = entry.at("resource");
    QuotaEntry& to = queue.quota[{entry.at("flavor"), resource}];
    if (entry.contains("nominal")) to.nominal = ParseAmount(resource, entry.at("nominal"));
    if (entry.contains("borrow")) to.borrow = ParseAmount(resource, entry.at("borrow"));
    if (entry.contains("lend")) to.lend = ParseAmount(resource, entry.at("lend"));
  }
  return queue;
}

Task ReadTask(const Json& from) {
  Task task;
  task.name = from.at("name");
  task.count = from.at("count");
  task.min = from.value("min", task.count);
  for (const auto& [resource, value] : from.at("shape").items())
    task.shape[resource] = ParseAmount(resource, value);
  task.select = ReadLabels(from, "select");
  for (const Json& item : from.value("tolerate", Json::array()))
    task.tolerate.push_back({Text(item, "key"), Text(item, "operator", "Equal"),
                             Text(item, "value"), Text(item, "effect")});
  return task;
}

Job ReadJob(const Json& event, int line) {
  Job job;
  job.name = event.at("name");
  job.script_line = line;
  job.queue = Text(event, "queue", "default");
  job.priority = event.value("priority", 0);
  job.preemptible = event.value("preemptible", true);
  for (const Json& task : event.at("tasks")) job.tasks.push_back(ReadTask(task));
  if (event.contains("topology")) {
    const Json& topology = event.at("topology");
    job.required = Text(topology, "required");
    if (topology.contains("slice")) {
      job.slice_size = topology.at("slice").at("size");
      job.slice_level = topology.at("slice").at("level");
    }
  }
  job.duration = Maybe<int64_t>(event, "duration");
  job.limit = Maybe<int64_t>(event, "limit");
  job.checkpoint_every = Maybe<int64_t>(event, "checkpoint_every");
  job.max_wait = Maybe<int64_t>(event, "max_wait");
  job.left = job.duration;
  if (event.contains("elastic")) {
    job.elastic_min = event.at("elastic").value("min", 0);
    job.elastic_max = event.at("elastic").value("max", 0);
  }
  return job;
}

}  // namespace

int64_t ParseAmount(const std::string& resource, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    throw BadInput("not a quantity: " + text);
  }
  static const std::map<std::string, double> kSuffix = {
      {"", 1},     {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
      {"P", 1e15}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}};
  const auto suffix = kSuffix.find(text.substr(end));
  if (suffix == kSuffix.end()) throw BadInput("not a quantity: " + text);
  return std::llround(number * suffix->second * (resource == "cpu" ? 1000 : 1));
}

bool IsDevice(const std::string& resource) { return resource.find('/') != std::string::npos; }

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& t) {
    if (!t.effect.empty() && t.effect != taint.effect) return false;
    if (!t.key.empty() && t.key != taint.key) return false;
    if (t.op == "Exists") return true;
    return !t.key.empty() && t.value == taint.value;
  });
}

bool HasLabels(const Labels& have, const Labels& want) {
  return std::all_of(want.begin(), want.end(), [&](const auto& item) {
    const auto found = have.find(item.first);
    return found != have.end() && found->second == item.second;
  });
}

std::string Node::GpuResource() const {
  for (const auto& [resource, ids] : devices)
    if (resource.ends_with("/gpu")) return resource;
  return "";
}

bool Job::Legal() const {
  std::vector<int> bound(tasks.size(), 0);
  for (const auto& [rank, where] : ranks) ++bound[static_cast<size_t>(rank.first)];
  for (size_t i = 0; i < tasks.size(); ++i)
    if (bound[i] < tasks[i].min) return false;
  return !ranks.empty() && static_cast<int>(ranks.size()) >= elastic_min;
}

std::optional<int64_t> State::LeftAfter(const Job& job, int64_t t) {
  if (!job.left || !job.checkpoint_every || *job.checkpoint_every <= 0) return job.left;
  const int64_t every = *job.checkpoint_every;
  return std::max<int64_t>(0, *job.left - (t - job.started) / every * every);
}

void State::Take(Job& job, const Rank& rank, const Bound& bound) {
  const Task& task = job.tasks[static_cast<size_t>(rank.first)];
  if (const auto node = nodes.find(bound.node); node != nodes.end()) {
    for (const auto& [resource, amount] : task.shape)
      if (!IsDevice(resource) && resource != "gpu_milli") node->second.used[resource] += amount;
    const auto milli = task.shape.find("gpu_milli");
    for (const auto& [resource, ids] : bound.devices)
      for (const int id : ids)
        node->second.devices[resource][id] += milli != task.shape.end() &&
                                                      resource.ends_with("/gpu") &&
                                                      !task.shape.contains(resource)
                                                  ? static_cast<int>(milli->second)
                                                  : kWholeDevice;
  }
  for (const auto& [what, amount] : bound.charged) direct_use[{job.queue, what}] += amount;
  job.ranks[rank] = bound;
}

void State::Free(Job& job, const Rank& rank) {
  const auto found = job.ranks.find(rank);
  if (found == job.ranks.end()) return;
  const Bound& bound = found->second;
  const Task& task = job.tasks[static_cast<size_t>(rank.first)];
  if (const auto node = nodes.find(bound.node); node != nodes.end()) {
    for (const auto& [resource, amount] : task.shape)
      if (!IsDevice(resource) && resource != "gpu_milli") node->second.used[resource] -= amount;
    const auto milli = task.shape.find("gpu_milli");
    for (const auto& [resource, ids] : bound.devices)
      for (const int id : ids)
        node->second.devices[resource][id] -= milli != task.shape.end() &&
                                                      resource.ends_with("/gpu") &&
                                                      !task.shape.contains(resource)
                                                  ? static_cast<int>(milli->second)
                                                  : kWholeDevice;
  }
  for (const auto& [what, amount] : bound.charged) direct_use[{job.queue, what}] -= amount;
  job.ranks.erase(found);
}

void State::FreeAll(Job& job) {
  while (!job.ranks.empty()) Free(job, job.ranks.begin()->first);
}

void State::EndRuns(int64_t t, std::map<std::string, std::string>* ended) {
  for (auto& [name, job] : jobs) {
    if (job.status != Job::Status::kRunning || !job.ends || *job.ends > t) continue;
    const bool done = job.left && job.started + *job.left <= *job.ends;
    FreeAll(job);
    job.status = Job::Status::kFinished;
    (*ended)[name] = done ? "DONE" : "LIMIT";
  }
}

void State::Apply(const Json& event, int line, std::map<std::string, std::string>* ended,
                  std::set<std::string>* hurt) {
  const std::string op = event.at("op");
  const auto lose = [&](const auto& which) {
    for (auto& [name, job] : jobs) {
      std::vector<Rank> gone;
      for (const auto& [rank, bound] : job.ranks)
        if (which(job, rank, bound)) gone.push_back(rank);
      if (gone.empty()) continue;
      if (job.lost_at != now) job.lost.clear();
      job.lost_at = now;
      for (const Rank& rank : gone) {
        Free(job, rank);
        job.lost.insert(rank);
      }
      if (hurt) hurt->insert(name);
    }
  };
  const auto node = [&]() -> Node& {
    const auto found = nodes.find(event.at("name"));
    if (found == nodes.end()) throw BadInput("no such node: " + event.at("name").dump());
    return found->second;
  };
  const auto of_node = [&](const Job&, const Rank&, const Bound& bound) {
    return bound.node == event.at("name");
  };
  const auto end = [&](const char* why) {
    const auto found = jobs.find(event.at("name"));
    if (found == jobs.end()) return;
    Job& job = found->second;
    const bool ran = job.status == Job::Status::kRunning;
    const bool waits = job.status == Job::Status::kPending;
    if (!ran && !waits) return;
    if (!ran &&
        std::string(why) == "DONE") {  // whether a waiting job can be done is not said: both
      if (ended) (*ended)[job.name] = "?DONE";
      return;
    }
    FreeAll(job);
    job.status = Job::Status::kFinished;
    if (ended) (*ended)[job.name] = ran ? why : std::string("?") + why;
  };

  if (op == "topology") {
    levels = event.at("levels").get<std::vector<std::string>>();
  } else if (op == "node.add") {
    lose(of_node);
    nodes[event.at("name")] = ReadNode(event, line);
  } else if (op == "node.remove") {
    lose(of_node);
    nodes.erase(event.at("name").get<std::string>());
  } else if (op == "node.cordon") {
    node().cordoned = true;
  } else if (op == "node.uncordon") {
    node().cordoned = node().failed = false;
  } else if (op == "node.fail") {
    node().failed = true;
    lose(of_node);
  } else if (op == "node.health") {
    node().health = event.at("value");
    if (node().health == "accepted") node().failed = false;
  } else if (op == "flavor.add") {
    flavors[event.at("name")] = ReadLabels(event, "labels");
  } else if (op == "queue.add") {
    Queue queue = ReadQueue(event);
    if (!queue.parent.empty()) children[queue.parent].push_back(queue.name);
    queues[queue.name] = std::move(queue);
  } else if (op == "queue.quota") {
    const auto found = queues.find(event.at("queue"));
    if (found == queues.end()) throw BadInput("no such queue: " + event.at("queue").dump());
    const std::string resource = event.at("resource");
    QuotaEntry& entry = found->second.quota[{event.at("flavor"), resource}];
    if (event.contains("nominal")) entry.nominal = ParseAmount(resource, event.at("nominal"));
    if (event.contains("borrow")) entry.borrow = ParseAmount(resource, event.at("borrow"));
    if (event.contains("lend")) entry.lend = ParseAmount(resource, event.at("lend"));
  } else if (op == "job.submit") {
    Job job = ReadJob(event, line);
    job.submitted = now;
    job.order = submitted++;
    jobs[job.name] = std::move(job);
  } else if (op == "job.cancel") {
    end("CANCELLED");
  } else if (op == "job.finish") {
    end("DONE");
  } else if (op == "task.fail") {
    const std::string task_name = event.at("task");
    const int number = event.at("rank");
    lose([&](const Job& job, const Rank& rank, const Bound&) {
      return job.name == event.at("name") && rank.second == number &&
             job.tasks[static_cast<size_t>(rank.first)].name == task_name;
    });
  } else if (op != "ask.why" && op != "ask.whatif" && op != "end") {
    throw BadInput("unknown op: " + op);
  }
}

std::optional<std::string> State::Domain(const Node& node, const std::string& level) const {
  const auto found = std::find(levels.begin(), levels.end(), level);
  if (found == levels.end()) return std::nullopt;
  const auto depth = static_cast<size_t>(found - levels.begin());
  if (depth + 1 == levels.size()) return "node " + node.name;
  if (depth >= node.at.size()) return std::nullopt;
  std::string path;
  for (size_t i = 0; i <= depth; ++i) path += "/" + node.at[i];
  return path;
}

std::vector<const Queue*> State::Chain(const std::string& queue) const {
  std::vector<const Queue*> chain;
  for (auto found = queues.find(queue); found != queues.end() && chain.size() <= queues.size();
       found = queues.find(found->second.parent))
    chain.push_back(&found->second);
  return chain;
}

}  // namespace sched_checker
