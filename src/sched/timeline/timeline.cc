#include "sched/timeline/timeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::timeline {

namespace {

using Json = nlohmann::json;
using RankKey = std::tuple<std::string, std::string, int>;  // job, task, rank

constexpr int64_t kLatest = 1'000'000'000'000'000;  // ms: 30,000 years
constexpr int kMostGpus = 1024;                     // of one node

int WholeNumber(const Json& value) {
  if (value.is_number_integer()) return value.get<int>();
  const auto number = ParseInt(value.get<std::string>());
  return number.ok() ? static_cast<int>(*number) : 0;
}
bool IsGpu(std::string_view resource) { return EndsWith(resource, "/gpu"); }

double GpusOf(const Json& shape) {
  double gpus = 0;
  for (const auto& [resource, value] : shape.items()) {
    if (IsGpu(resource)) gpus += WholeNumber(value);
    if (resource == "gpu_milli") gpus += WholeNumber(value) / 1000.0;
  }
  return gpus;
}

class Reader {
 public:
  // Both files, merged by time; at one time the script's lines come first.
  Result<Timeline> Read(std::string_view script, std::string_view decisions) {
    const auto events = Lines(script), lines = Lines(decisions);
    size_t e = 0, d = 0;
    TRY(std::optional<Json> event, Next(events, e, "script"));
    TRY(std::optional<Json> line, Next(lines, d, "decisions"));
    while (event || line) {
      const bool first = event && (!line || (*event)["t"] <= (*line)["t"]);
      Json& now = first ? *event : *line;
      const size_t at = first ? e : d;
      const char* file = first ? "script" : "decisions";
      try {
        now_ = now.at("t").get<int64_t>();
        out_.end = std::max(out_.end, now_);
        if (first) {
          Event(now);
        } else {
          Decision(now);
        }
      } catch (const std::exception& error) {
        return Fail(Code::kParse, fmt::format("{} line {}: {}", file, at, Printable(error.what())));
      }
      if (first) {
        TRY(event, Next(events, e, "script"));
      } else {
        TRY(line, Next(lines, d, "decisions"));
      }
    }
    return Finish();
  }

 private:
  static Result<std::optional<Json>> Next(const std::vector<std::string_view>& lines, size_t& at,
                                          const char* file) {
    while (at < lines.size()) {
      const std::string_view text = Trim(lines[at++]);
      if (text.empty() || text[0] == '#') continue;
      Json json = Json::parse(text, nullptr, false);
      if (!json.is_object() || !json.contains("t") || !json["t"].is_number_integer())
        return Fail(
            Code::kParse,
            fmt::format("{} line {}: a JSON object with a whole number t was expected", file, at));
      const auto t = json["t"].get<int64_t>();
      if (t < 0 || t > kLatest)
        return Fail(Code::kParse,
                    fmt::format("{} line {}: t is not from 0 to {}", file, at, kLatest));
      return std::optional<Json>(std::move(json));
    }
    return std::optional<Json>();
  }

  void Event(const Json& event) {
    const std::string op = event.at("op");
    if (op == "node.add") {
      AddNode(event);
    } else if (op == "node.fail" || op == "node.remove") {
      const std::string name = event.at("name");
      EndStays([&](const RankKey&, const Stay& stay) { return nodes_[stay.node].name == name; });
      if (const auto found = present_.find(name); found != present_.end() && op == "node.remove") {
        nodes_[found->second].until = now_;
        present_.erase(found);
      }
    } else if (op == "job.submit") {
      const std::string name = event.at("name");
      Job job{name, event.value("queue", "default"), now_, -1, -1, 0, 0, {}};
      for (const Json& task : event.at("tasks")) {
        const double each = GpusOf(task.at("shape"));
        gpus_[{name, task.at("name").get<std::string>()}] = each;
        job.gpus += each * task.at("count").get<int>();
      }
      job_index_[name] = out_.jobs.size();
      out_.jobs.push_back(std::move(job));
      waiting_[name] = now_;
    } else if (op == "job.cancel") {
      if (job_index_.contains(event.at("name").get<std::string>())) Over(event.at("name"));
    } else if (op == "task.fail") {
      const RankKey key{event.at("name"), event.at("task"), event.at("rank").get<int>()};
      EndStays([&](const RankKey& rank, const Stay&) { return rank == key; });
    }
  }

  void AddNode(const Json& event) {
    Node node;
    node.name = event.at("name");
    node.since = now_;
    if (event.contains("at")) node.path = event.at("at").get<std::vector<std::string>>();
    for (const auto& [resource, value] : event.at("capacity").items())
      if (IsGpu(resource)) node.gpus += WholeNumber(value);
    if (node.gpus < 0 || node.gpus > kMostGpus) throw std::runtime_error("GPUs out of range");
    if (present_.contains(node.name)) nodes_[present_[node.name]].until = now_;
    present_[node.name] = nodes_.size();
    nodes_.push_back(std::move(node));
  }

  void Decision(const Json& line) {
    const std::string kind = line.at("do");
    if (kind == "summary" || kind == "answer") return;
    const std::string name = line.at("job");
    const auto found = job_index_.find(name);
    if (found == job_index_.end()) throw std::runtime_error("the script has no job " + name);
    Job& job = out_.jobs[found->second];
    if (kind == "bind") {
      const auto node = present_.find(line.at("node"));
      if (node == present_.end())
        throw std::runtime_error("the script has no node " + line.at("node").get<std::string>());
      Stay stay{found->second, node->second, now_, -1, gpus_[{name, line.at("task")}], {}};
      if (line.contains("devices"))
        for (const auto& [resource, ids] : line.at("devices").items())
          if (IsGpu(resource)) stay.devices = ids.get<std::vector<int>>();
      live_[{name, line.at("task"), line.at("rank").get<int>()}] = stay;
      if (job.first_start < 0) job.first_start = now_;
      EndWait(job);
    } else if (kind == "evict") {
      EndStays([&](const RankKey& rank, const Stay&) { return std::get<0>(rank) == name; });
      ++job.evictions;
      waiting_[name] = now_;
    } else if (kind == "shrink") {
      const auto ranks = line.at("ranks").get<std::set<int>>();
      const auto task = line.at("task").get<std::string>();
      EndStays([&](const RankKey& rank, const Stay&) {
        return std::get<0>(rank) == name && std::get<1>(rank) == task &&
               ranks.contains(std::get<2>(rank));
      });
    } else if (kind == "finish" || kind == "reject") {
      Over(name);
    }
  }

  void Over(const std::string& name) {
    Job& job = out_.jobs[job_index_.at(name)];
    EndStays([&](const RankKey& rank, const Stay&) { return std::get<0>(rank) == name; });
    EndWait(job);
    if (job.over < 0) job.over = now_;
  }
  void EndWait(Job& job) {
    const auto found = waiting_.find(job.name);
    if (found == waiting_.end()) return;
    if (now_ > found->second) job.waits.emplace_back(found->second, now_);
    waiting_.erase(found);
  }
  template <typename Which>
  void EndStays(const Which& which) {
    for (auto it = live_.begin(); it != live_.end();) {
      if (!which(it->first, it->second)) {
        ++it;
        continue;
      }
      it->second.end = now_;
      if (it->second.end > it->second.start) out_.stays.push_back(it->second);
      it = live_.erase(it);
    }
  }

  Timeline Finish() {
    now_ = out_.end;
    EndStays([](const RankKey&, const Stay&) { return true; });
    for (Job& job : out_.jobs) EndWait(job);
    // Nodes by path and name; stays follow them.
    std::vector<size_t> order(nodes_.size()), place(nodes_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tie(nodes_[a].path, nodes_[a].name) < std::tie(nodes_[b].path, nodes_[b].name);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      out_.nodes.push_back(nodes_[order[i]]);
    }
    for (Stay& stay : out_.stays) stay.node = place[stay.node];
    std::stable_sort(out_.stays.begin(), out_.stays.end(),
                     [](const Stay& a, const Stay& b) { return a.start < b.start; });
    return std::move(out_);
  }

  Timeline out_;
  int64_t now_ = 0;
  std::vector<Node> nodes_;
  std::map<std::string, size_t> present_, job_index_;
  std::map<std::pair<std::string, std::string>, double> gpus_;  // job, task -> of one rank
  std::map<RankKey, Stay> live_;
  std::map<std::string, int64_t> waiting_;
};

}  // namespace

Result<Timeline> ReadTimeline(std::string_view script, std::string_view decisions) {
  return Reader().Read(script, decisions);
}

std::vector<std::string> Queues(const Timeline& timeline) {
  std::set<std::string> names;
  for (const Job& job : timeline.jobs) names.insert(job.queue);
  return {names.begin(), names.end()};
}

namespace {

// At the end itself, what ran to the end still runs.
bool Covers(const Timeline& timeline, int64_t t, int64_t start, int64_t end) {
  return start <= t && (t < end || (t >= timeline.end && end == timeline.end));
}
bool Sits(const Timeline& timeline, const Stay& stay, int64_t t) {
  if (!Covers(timeline, t, stay.start, stay.end)) return false;
  return t < timeline.end || timeline.jobs[stay.job].over != timeline.end;
}
bool IsThere(const Node& node, int64_t t) {
  return node.since <= t && (node.until < 0 || t < node.until);
}

}  // namespace

Moment At(const Timeline& timeline, int64_t t) {
  Moment moment;
  moment.t = t;
  const auto queues = Queues(timeline);
  moment.used_by_queue.assign(queues.size(), 0);
  std::vector<double> used(timeline.nodes.size(), 0);
  std::set<size_t> running;
  for (const Stay& stay : timeline.stays) {
    if (stay.start > t) break;
    if (!Sits(timeline, stay, t)) continue;
    const Job& job = timeline.jobs[stay.job];
    used[stay.node] += stay.gpus;
    moment.used += stay.gpus;
    running.insert(stay.job);
    const auto queue = std::lower_bound(queues.begin(), queues.end(), job.queue) - queues.begin();
    moment.used_by_queue[static_cast<size_t>(queue)] += stay.gpus;
  }
  for (size_t i = 0; i < timeline.nodes.size(); ++i) {
    const Node& node = timeline.nodes[i];
    if (!IsThere(node, t)) continue;
    moment.gpus += node.gpus;
    if (used[i] > 0) moment.stranded += std::max(0.0, node.gpus - used[i]);
  }
  moment.running = static_cast<int>(running.size());
  for (const Job& job : timeline.jobs) {
    const bool waits = std::any_of(job.waits.begin(), job.waits.end(), [&](const auto& span) {
      return Covers(timeline, t, span.first, span.second);
    });
    if (!waits || (job.over >= 0 && job.over <= t)) continue;
    ++moment.waiting;
    moment.gpus_waited_for += job.gpus;
  }
  return moment;
}

std::vector<Seats> SeatsAt(const Timeline& timeline, int64_t t) {
  std::vector<Seats> all(timeline.nodes.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = {i, std::vector<int>(static_cast<size_t>(timeline.nodes[i].gpus), -1)};
  for (const Stay& stay : timeline.stays) {
    if (!Sits(timeline, stay, t)) continue;
    std::vector<int>& jobs = all[stay.node].jobs;
    int unnamed = stay.devices.empty() ? static_cast<int>(stay.gpus + 0.999) : 0;
    for (int& seat : jobs)
      if (unnamed > 0 && seat < 0) seat = static_cast<int>(stay.job), --unnamed;
    for (const int id : stay.devices)
      if (id >= 0 && static_cast<size_t>(id) < jobs.size())
        jobs[static_cast<size_t>(id)] = static_cast<int>(stay.job);
  }
  std::erase_if(all, [&](const Seats& s) { return !IsThere(timeline.nodes[s.node], t); });
  return all;
}

std::vector<Moment> Moments(const Timeline& timeline, size_t most) {
  std::set<int64_t> times = {0, timeline.end};
  for (const Stay& stay : timeline.stays) times.insert({stay.start, stay.end});
  for (const Job& job : timeline.jobs) times.insert(job.submitted);
  std::vector<int64_t> wanted(times.begin(), times.end());
  if (wanted.size() > most && most > 1) {
    wanted.clear();
    for (size_t i = 0; i < most; ++i)
      wanted.push_back(timeline.end * static_cast<int64_t>(i) / static_cast<int64_t>(most - 1));
  }
  std::vector<Moment> moments;
  for (const int64_t t : wanted) moments.push_back(At(timeline, t));
  return moments;
}

}  // namespace muster::timeline
