// What is said of jobs that wait: that they wait, why, until when, and what would help.
#include "replay.h"

namespace sched_checker {

namespace {

bool AnyCode(const std::vector<std::string>& codes, std::initializer_list<const char*> of) {
  return std::any_of(of.begin(), of.end(), [&](const char* code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  });
}

}  // namespace

void Replay::Pending(const Line& line) {
  static const std::set<std::string> kCodes = {"QUOTA",    "GANG",  "TOPOLOGY", "SHAPE",
                                               "HEALTH",   "TAINT", "SELECTOR", "ORDER",
                                               "RESERVED", "LIMIT"};
  const Job* job = Named(line);
  if (job == nullptr) return;
  if (job->status != Job::Status::kPending) {
    Say("PENDING", job->name + " does not wait", job);
    return;
  }
  Waiting& waiting = waiting_[job->name];
  waiting = {line.number, state_.now, {}, line.json.value("would_start_if", Json::array()), true};
  for (const Json& cause : line.json.at("because")) {
    const std::string code = cause.at("code");
    if (!kCodes.contains(code)) Say("FORMAT", "pending: no such code " + code, job);
    waiting.codes.push_back(code);
  }
  if (waiting.codes.empty()) Say("BECAUSE", job->name + " waits for no reason", job);
}

// Reasons that a look at the state refutes.
void Replay::CheckBecause(const Job& job, const Waiting& waiting) {
  const auto some_node = [&](const auto& which) {
    return std::any_of(state_.nodes.begin(), state_.nodes.end(),
                       [&](const auto& item) { return which(item.second); });
  };
  const auto some_task = [&](const auto& which) {
    return std::any_of(job.tasks.begin(), job.tasks.end(), which);
  };
  const auto say = [&](const std::string& text) {
    Say("BECAUSE", job.name + ": " + text, &job, waiting.line);
  };
  if (AnyCode(waiting.codes, {"HEALTH"}) && !some_node([](const Node& n) { return !n.usable(); }) &&
      job.lost_at < 0)
    say("HEALTH, and every node is usable");
  if (AnyCode(waiting.codes, {"TOPOLOGY"}) && job.required.empty() && job.slice_size == 0)
    say("TOPOLOGY, and it wishes none");
  if (AnyCode(waiting.codes, {"TAINT"}) && !some_node([&](const Node& node) {
        return some_task([&](const Task& task) {
          return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
            return taint.effect != "PreferNoSchedule" && !Tolerates(task.tolerate, taint);
          });
        });
      }))
    say("TAINT, and it tolerates all there are");
  if (AnyCode(waiting.codes, {"SELECTOR"}) && !some_node([&](const Node& node) {
        return some_task([&](const Task& task) { return !HasLabels(node.labels, task.select); });
      }) &&
      !state_.nodes.empty())
    say("SELECTOR, and every node has its labels");
  const auto other_waits = [&](const auto& which) {
    return std::any_of(state_.jobs.begin(), state_.jobs.end(), [&](const auto& item) {
      return item.first != job.name && item.second.status == Job::Status::kPending &&
             which(item.second);
    });
  };
  if (AnyCode(waiting.codes, {"RESERVED"}) && !other_waits([&](const Job& other) {
        const bool late =
            other.max_wait && !other.first_start && state_.now >= other.submitted + *other.max_wait;
        return late || reserved_.contains(other.name);
      }))
    say("RESERVED, and nothing is kept for anybody");
  const auto queue = state_.queues.find(job.queue);
  const bool strict = queue != state_.queues.end() && queue->second.order == "fifo";
  if (AnyCode(waiting.codes, {"ORDER"}) &&
      (!strict || !other_waits([&](const Job& other) { return other.queue == job.queue; })))
    say("ORDER, and nobody stands in front of it");
  if (AnyCode(waiting.codes, {"QUOTA"}) && QuotaAdmits(state_, job) == Answer::kYes)
    say("QUOTA, and quota would admit it");
}

void Replay::CheckWaiting() {
  const bool small = Small();
  for (auto& [name, waiting] : waiting_) {
    const Job& job = state_.jobs.at(name);
    if (job.status != Job::Status::kPending) continue;
    if (waiting.fresh) CheckBecause(job, waiting);
    if (small && waiting.fresh) CheckWould(job, waiting);
    waiting.fresh = false;
    if (!small) continue;
    const bool late =
        job.max_wait && !job.first_start && state_.now >= job.submitted + *job.max_wait;
    const bool held = AnyCode(waiting.codes, {"ORDER", "RESERVED", "LIMIT"});
    if (held && !late) continue;
    const Answer answer = CanStart(state_, job);
    report_.searched += answer != Answer::kUnknown;
    if (answer != Answer::kYes) continue;
    if (late)
      Say("MAX_WAIT", name + " waits beyond its max_wait and could start", &job, waiting.line);
    if (!held)
      Say("STARTABLE",
          name + " could start; it is said to wait for " +
              (waiting.codes.empty() ? "nothing" : waiting.codes[0]),
          &job, waiting.line);
  }
}

// The changes are applied to a copy of the state; then the job must at least find quota and room.
void Replay::CheckWould(const Job& job, const Waiting& waiting) {
  if (!waiting.would.is_array() || waiting.would.empty()) return;
  for (const auto& [name, queue] : state_.queues)
    if (queue.within != "never" || queue.reclaim != "never" || queue.borrow != "never") return;
  // Nor what a job beyond its max_wait would start by: it may evict.
  if (job.max_wait && !job.first_start && state_.now >= job.submitted + *job.max_wait) return;
  State fork = state_;
  try {
    for (const Json& event : waiting.would) fork.Apply(event, 0, nullptr, nullptr);
  } catch (const std::exception& e) {
    Say("WOULD", job.name + ": would_start_if is no event: " + e.what(), &job, waiting.line);
    return;
  }
  const auto found = fork.jobs.find(job.name);
  if (found == fork.jobs.end() || found->second.status != Job::Status::kPending) return;
  const Answer answer = CanStart(fork, found->second);
  report_.searched += answer != Answer::kUnknown;
  if (answer == Answer::kNo)
    Say("WOULD", job.name + " would not start after its would_start_if", &job, waiting.line);
}

void Replay::Reject(const Line& line) {
  Job* job = Named(line);
  if (job == nullptr) return;
  if (job->status != Job::Status::kPending) Say("REJECT", job->name + " does not wait", job);
  job->status = Job::Status::kRejected;
  waiting_.erase(job->name);
  const Json& why = line.json.at("why");
  if (why.at("code") != "SHAPE" || !why.contains("detail")) return;
  const Json& detail = why.at("detail");
  if (detail.contains("valid") && detail.contains("asked"))
    for (const Json& valid : detail.at("valid"))
      if (valid == detail.at("asked")) Say("REJECT", "`asked` stands in `valid`", job);
  // A usable node without topology rules that could hold every task refutes it.
  const bool taken =
      !job->tasks.empty() &&
      std::all_of(job->tasks.begin(), job->tasks.end(), [&](const Task& task) {
        return std::any_of(state_.nodes.begin(), state_.nodes.end(), [&](const auto& item) {
          return item.second.policy == "none" && Eligible(state_, item.second, task, {}) &&
                 RanksThatFit(item.second, task.shape, 1, true) >= 1;
        });
      });
  if (taken) Say("REJECT", "a usable node takes every shape of " + job->name, job);
}

void Replay::Reserve(const Line& line) {
  const Job* job = Named(line);
  if (job == nullptr) return;
  if (job->status != Job::Status::kPending) Say("RESERVE", job->name + " does not wait", job);
  const int64_t start = line.json.at("start");
  const bool taken_back = start == -1;
  if (start < state_.now && !taken_back) Say("RESERVE", "a start in the past", job);
  for (const Json& node : line.json.value("nodes", Json::array()))
    if (!state_.nodes.contains(node)) Say("FORMAT", "reserve: no such node " + node.dump(), job);
  const auto before = reserved_.find(job->name);
  if (taken_back && before == reserved_.end())
    Say("RESERVE", "taken back, and nothing was promised to " + job->name, job);
  if (before != reserved_.end() && (taken_back || start > before->second.start)) {
    bool reason = disturbed_at_ >= before->second.made_at;
    for (const auto& [priority, at] : arrived_)
      reason = reason || (priority > job->priority && at >= before->second.made_at);
    // It was promised on the run times of earlier runs, and somebody runs longer.
    const bool unknown = line.json.value("why", Json()) == "a run time that was not known";
    for (const auto& [name, other] : state_.jobs)
      reason = reason || (unknown && other.status == Job::Status::kRunning && !other.duration &&
                          !other.limit);
    if (!line.json.contains("why"))
      Say("RESERVE", "a later start of " + job->name + " without a reason", job);
    else if (!reason)
      Say("RESERVE", "a later start of " + job->name + " and nothing happened that could be why",
          job);
  }
  if (taken_back) {
    reserved_.erase(job->name);
    return;
  }
  reserved_[job->name] = {start, state_.now, line.number,
                          line.json.value("nodes", std::vector<std::string>())};
}

void Replay::CheckReserved() {
  for (auto it = reserved_.begin(); it != reserved_.end();) {
    const Job& job = state_.jobs.at(it->first);
    const bool waits = job.status == Job::Status::kPending;
    if (waits && it->second.start <= state_.now)
      Say("RESERVE",
          job.name + " does not start at its reserved start " + std::to_string(it->second.start),
          &job, it->second.line);
    it = !waits || it->second.start <= state_.now ? reserved_.erase(it) : std::next(it);
  }
}

}  // namespace sched_checker
