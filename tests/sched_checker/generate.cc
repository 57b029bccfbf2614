// muster_sched_generate --seed N [--nodes N] [--jobs N] [--without a,b]: a random cluster script,
// the same for the same arguments on every machine. Features: queues, preempt, topology, elastic,
// failures, shares, numa (off unless --with numa), many (several tasks), wait (max_wait), quota
// (changes of quota), unknown (run times that are not declared).
#include <cstdint>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;

// SplitMix64 (Steele, Lea, Flood 2014).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  int Upto(int bound) { return static_cast<int>(Next() % static_cast<uint64_t>(bound)); }
  int Between(int low, int high) { return low + Upto(high - low + 1); }
  bool Percent(int chance) { return Upto(100) < chance; }
  template <typename T>
  const T& Of(const std::vector<T>& items) {
    return items[static_cast<size_t>(Upto(static_cast<int>(items.size())))];
  }

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

struct Wish {
  uint64_t seed = 1;
  int nodes = 0, jobs = 0;
  std::set<std::string> without = {"numa"};
  bool Has(const std::string& feature) const { return !without.contains(feature); }
};

class Generator {
 public:
  explicit Generator(const Wish& wish) : wish_(wish), dice_(wish.seed * 0x1234567ull + 99) {
    nodes_ = wish.nodes > 0 ? wish.nodes : dice_.Between(1, 16);
    jobs_ = wish.jobs > 0 ? wish.jobs : dice_.Between(1, 40);
    two_kinds_ = dice_.Percent(30);
  }
  void Print() {
    Emit({{"op", "topology"}, {"levels", {"spine", "leaf", "node"}}});
    for (int i = 0; i < nodes_; ++i) Emit(NodeAdd(i));
    if (wish_.Has("queues") && dice_.Percent(85)) Queues();
    std::vector<int> submits;
    for (int i = 0; i < jobs_; ++i) {
      if (dice_.Percent(70)) now_ += dice_.Between(0, 40) * 10;
      Emit(JobSubmit(i));
      if (dice_.Percent(35)) Disturb(i);
    }
    now_ += dice_.Percent(50) ? 100000 : dice_.Between(0, 3000);
    Emit({{"op", "end"}});
  }

 private:
  void Emit(Json event) {
    Json line = {{"t", now_}};
    line.update(event);
    std::cout << line.dump() << "\n";
  }
  std::string NodeName(int i) const { return "n" + std::to_string(i); }
  Json NodeAdd(int i) {
    const bool other = two_kinds_ && i % 3 == 0;
    const int gpus = other ? 4 : 8;
    Json node = {{"op", "node.add"},
                 {"name", NodeName(i)},
                 {"at", {"s" + std::to_string(i / 8), "l" + std::to_string(i % 8 / 4)}},
                 {"labels", {{"gpu", other ? "a100" : "h100"}}}};
    if (i == nodes_ - 1 && nodes_ > 2 && wish_.seed % 5 == 0)
      node["taints"] = {{{"key", "dedicated"}, {"value", "x"}, {"effect", "NoSchedule"}}};
    node["capacity"] = {{"cpu", "96"}, {"memory", "1Ti"}, {"nvidia.com/gpu", std::to_string(gpus)}};
    if (!wish_.Has("numa")) return node;
    Json zones = Json::array();
    for (int zone = 0; zone < 2; ++zone) {
      Json ids = Json::array();
      for (int id = 0; id < gpus / 2; ++id) ids.push_back(zone * gpus / 2 + id);
      zones.push_back({{"cpu", "48"}, {"memory", "512Gi"}, {"nvidia.com/gpu", ids}});
    }
    node["numa"] = zones;
    node["topology_manager"] = {
        {"policy",
         dice_.Of<std::string>({"none", "best-effort", "restricted", "single-numa-node"})},
        {"scope", dice_.Of<std::string>({"pod", "container"})},
        {"cpu_manager", dice_.Of<std::string>({"none", "static"})}};
    return node;
  }

  void Queues() {
    for (const std::string kind : {"h100", "a100"})
      Emit({{"op", "flavor.add"}, {"name", kind}, {"labels", {{"gpu", kind}}}});
    Emit({{"op", "queue.add"}, {"name", "root"}});
    const bool deep = dice_.Percent(30);
    if (deep) Emit({{"op", "queue.add"}, {"name", "team"}, {"parent", "root"}});
    const int count = dice_.Between(1, 4);
    for (int i = 0; i < count; ++i) {
      const std::string name = "q" + std::to_string(i);
      Json queue = {{"op", "queue.add"},
                    {"name", name},
                    {"parent", deep && i < 2 ? "team" : "root"},
                    {"order", dice_.Of<std::string>(
                                  {"fifo", "best-effort-fifo", "best-effort-fifo", "fair"})}};
      queue["quota"] = Json::array();
      for (const std::string kind : {"h100", "a100"}) {
        if (kind == "a100" && !two_kinds_) continue;
        Json entry = {{"flavor", kind},
                      {"resource", "nvidia.com/gpu"},
                      {"nominal", std::to_string(dice_.Between(0, nodes_ * 8 / count))}};
        if (dice_.Percent(40)) entry["borrow"] = std::to_string(dice_.Between(0, 16));
        if (dice_.Percent(40)) entry["lend"] = std::to_string(dice_.Between(0, 8));
        queue["quota"].push_back(entry);
      }
      if (wish_.Has("preempt") && dice_.Percent(70))
        queue["preempt"] = {
            {"within", dice_.Of<std::string>({"never", "lower-priority", "lower-or-newer-equal"})},
            {"reclaim", dice_.Of<std::string>({"never", "lower-priority", "any"})},
            {"borrow", dice_.Of<std::string>({"never", "never", "lower-priority"})}};
      queues_.push_back(name);
      Emit(queue);
    }
  }

  Json JobSubmit(int i) {
    const int roles = wish_.Has("many") && dice_.Percent(12) ? 2 : 1;
    Json job = {{"op", "job.submit"}, {"name", "j" + std::to_string(i)}};
    if (!queues_.empty()) job["queue"] = dice_.Of(queues_);
    if (dice_.Percent(50)) job["priority"] = dice_.Between(0, 3);
    if (dice_.Percent(10)) job["preemptible"] = false;
    job["tasks"] = Json::array();
    for (int role = 0; role < roles; ++role) {
      Json task = {{"name", role == 0 ? "worker" : "driver"}};
      const int count = role > 0            ? 1
                        : dice_.Percent(60) ? dice_.Between(1, 4)
                                            : dice_.Between(1, nodes_ + 1);
      task["count"] = count;
      if (roles == 1 && dice_.Percent(15)) task["min"] = dice_.Between(1, count);
      if (roles == 1 && wish_.Has("shares") && dice_.Percent(12)) {
        task["shape"] = {{"gpu_milli", std::to_string(dice_.Between(1, 10) * 100)}, {"cpu", "2"}};
      } else {
        const int gpus = dice_.Of<int>({1, 1, 2, 4, 8, 8, dice_.Between(1, 9)});
        task["shape"] = {{"nvidia.com/gpu", std::to_string(gpus)},
                         {"cpu", std::to_string(gpus * 8)}};
      }
      if (dice_.Percent(20))
        task["select"] = {{"gpu", two_kinds_ && dice_.Percent(50) ? "a100" : "h100"}};
      if (dice_.Percent(30)) task["tolerate"] = {{{"key", "dedicated"}, {"operator", "Exists"}}};
      job["tasks"].push_back(task);
    }
    const int count = job["tasks"][0]["count"];
    if (wish_.Has("elastic") && roles == 1 && count > 1 && dice_.Percent(15)) {
      job["tasks"][0]["min"] = 1;
      job["elastic"] = {{"min", dice_.Between(1, count)}, {"max", count}};
    }
    if (wish_.Has("topology") && dice_.Percent(40)) {
      Json topology = Json::object();
      if (dice_.Percent(60))
        topology["required"] = dice_.Of<std::string>({"spine", "leaf", "leaf", "node"});
      if (dice_.Percent(40)) topology["preferred"] = "leaf";
      if (dice_.Percent(30) && roles == 1)
        topology["slice"] = {{"size", dice_.Between(1, 4)},
                             {"level", dice_.Of<std::string>({"leaf", "node"})}};
      if (!topology.empty()) job["topology"] = topology;
    }
    if (!wish_.Has("unknown") || dice_.Percent(80)) job["duration"] = dice_.Between(1, 300) * 10;
    if (dice_.Percent(20)) job["limit"] = dice_.Between(1, 400) * 10;
    if (dice_.Percent(30)) job["checkpoint_every"] = dice_.Between(1, 20) * 10;
    if (wish_.Has("wait") && dice_.Percent(10)) job["max_wait"] = dice_.Between(10, 300) * 10;
    return job;
  }

  void Disturb(int job) {
    if (dice_.Percent(70)) now_ += dice_.Between(0, 100) * 10;
    const std::string node = NodeName(dice_.Upto(nodes_));
    const int kind = dice_.Upto(8);
    if (kind == 0) {
      Emit({{"op", "job.cancel"}, {"name", "j" + std::to_string(dice_.Upto(job + 1))}});
    } else if (kind == 1 && wish_.Has("quota") && !queues_.empty()) {
      Emit({{"op", "queue.quota"},
            {"queue", dice_.Of(queues_)},
            {"flavor", "h100"},
            {"resource", "nvidia.com/gpu"},
            {"nominal", std::to_string(dice_.Between(0, nodes_ * 8))}});
    } else if (kind == 2) {
      Emit({{"op", "job.finish"}, {"name", "j" + std::to_string(dice_.Upto(job + 1))}});
    } else if (!wish_.Has("failures")) {
      return;
    } else if (kind == 3) {
      Emit({{"op", "node.fail"}, {"name", node}});
    } else if (kind == 4) {
      Emit({{"op", dice_.Percent(50) ? "node.cordon" : "node.uncordon"}, {"name", node}});
    } else if (kind == 5) {
      Emit({{"op", "node.health"},
            {"name", node},
            {"value", dice_.Of<std::string>({"accepted", "accepted", "suspect", "out"})}});
    } else if (kind == 6) {
      Emit({{"op", "task.fail"},
            {"name", "j" + std::to_string(dice_.Upto(job + 1))},
            {"task", "worker"},
            {"rank", 0}});
    } else {
      Emit({{"op", "node.uncordon"}, {"name", node}});
    }
  }

  Wish wish_;
  Dice dice_;
  int nodes_ = 0, jobs_ = 0;
  bool two_kinds_ = false;
  int64_t now_ = 0;
  std::vector<std::string> queues_;
};

}  // namespace

int main(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    std::stringstream words(value);
    std::string word;
    try {
      if (key == "--seed") {
        wish.seed = std::stoull(value);
      } else if (key == "--nodes") {
        wish.nodes = std::stoi(value);
      } else if (key == "--jobs") {
        wish.jobs = std::stoi(value);
      } else if (key == "--without") {
        while (std::getline(words, word, ',')) wish.without.insert(word);
      } else if (key == "--with") {
        while (std::getline(words, word, ',')) wish.without.erase(word);
      } else {
        throw std::invalid_argument(key);
      }
    } catch (const std::exception&) {
      std::cerr << "usage: muster_sched_generate --seed N [--nodes N] [--jobs N] [--with F,...] "
                   "[--without F,...]\n";
      return 2;
    }
  }
  Generator(wish).Print();
  return 0;
}
