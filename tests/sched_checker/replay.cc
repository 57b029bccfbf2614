#include "replay.h"

#include <limits>

#include "base/digest.h"

namespace sched_checker {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

template <typename Use>
void EachLine(std::string_view text, const Use& use) {
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    use(++number, text.substr(at, end - at));
    at = end + 1;
  }
}

const std::map<std::string, std::set<std::string>>& KeysOfLines() {
  static const std::map<std::string, std::set<std::string>> kKeys = {
      {"admit", {"job", "flavors"}},
      {"bind", {"job", "task", "rank", "node", "devices", "numa"}},
      {"evict", {"job", "why"}},
      {"shrink", {"job", "task", "ranks", "why"}},
      {"pending", {"job", "because", "would_start_if"}},
      {"reject", {"job", "why"}},
      {"reserve", {"job", "start", "nodes", "why"}},
      {"finish", {"job", "why"}},
      {"answer", {"ask", "about", "start", "was", "because", "would_start_if", "why", "never"}},
      {"summary", {"decisions_sha256", "bound", "pending"}}};
  return kKeys;
}

}  // namespace

Report Check(std::string_view script, std::string_view decisions, const Options& options) {
  return Replay(script, decisions, options).Run();
}

Replay::Replay(std::string_view script, std::string_view decisions, const Options& options)
    : options_(options) {
  int64_t last = 0;
  EachLine(script, [&](int number, std::string_view text) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos || text.front() == '#') return;
    try {
      Line line{number, 0, Json::parse(text)};
      line.t = line.json.at("t");
      if (line.t < last) throw BadInput("t goes back");
      last = line.t;
      if (line.json.at("op") == "end") end_at_ = line.t;
      events_.push_back(std::move(line));
    } catch (const std::exception& e) {
      throw BadInput("script line " + std::to_string(number) + ": " + e.what());
    }
  });
  ReadDecisions(decisions);
  report_.events = events_.size();
  report_.decisions = decisions_.size();
  horizon_ = end_at_ ? *end_at_
                     : std::max(events_.empty() ? 0 : events_.back().t,
                                decisions_.empty() ? 0 : decisions_.back().t);
}

void Replay::ReadDecisions(std::string_view text) {
  if (!text.empty() && text.back() != '\n') Say("FORMAT", "the last line has no end", nullptr, 0);
  EachLine(text, [&](int number, std::string_view bytes) {
    line_ = number;
    try {
      Line line{number, 0, Json::parse(bytes)};
      line.t = line.json.at("t");
      const std::string kind = line.json.at("do");
      const auto keys = KeysOfLines().find(kind);
      if (keys == KeysOfLines().end()) throw BadInput("unknown line: " + kind);
      for (const auto& [key, value] : line.json.items())
        if (key != "t" && key != "do" && !keys->second.contains(key))
          throw BadInput(kind + " has no key " + key);
      if (!decisions_.empty() && line.t < decisions_.back().t) Say("LINES", "t goes back");
      if (kind != "summary") {
        digest_input_.append(bytes);
        digest_input_ += '\n';
      }
      if (kind == "finish") finish_lines_[line.json.at("job")].push_back(line.t);
      decisions_.push_back(std::move(line));
    } catch (const std::exception& e) {
      Say("FORMAT", e.what());
    }
  });
  line_ = 0;
}

Report Replay::Run() {
  while (NextTime() != kNever) Step(NextTime());
  if (!summed_) Say("SUMMARY", "there is no summary line");
  return std::move(report_);
}

int64_t Replay::NextTime() const {
  int64_t next = kNever;
  if (next_event_ < events_.size()) next = std::min(next, events_[next_event_].t);
  // A line whose t went back is read at once; it was complained about.
  if (next_decision_ < decisions_.size())
    next = std::min(next, std::max(state_.now, decisions_[next_decision_].t));
  for (const auto& [name, job] : state_.jobs) {
    if (job.status == Job::Status::kRunning && job.ends && *job.ends <= horizon_)
      next = std::min(next, *job.ends);
    if (job.status == Job::Status::kPending && job.max_wait &&
        job.submitted + *job.max_wait > state_.now && job.submitted + *job.max_wait <= horizon_)
      next = std::min(next, job.submitted + *job.max_wait);
  }
  return next;
}

void Replay::Step(int64_t t) {
  state_.now = t;
  state_.EndRuns(t, &owed_);
  while (next_event_ < events_.size() && events_[next_event_].t == t) Event(events_[next_event_++]);
  while (next_decision_ < decisions_.size() && decisions_[next_decision_].t <= t)
    Decision(decisions_[next_decision_++]);
  CloseGang();
  EndOfTime();
}

void Replay::Event(const Line& line) {
  const std::string op = line.json.at("op");
  std::set<std::string> before_pending;
  try {
    state_.Apply(line.json, line.number, &owed_, &hurt_);
  } catch (const std::exception& e) {
    throw BadInput("script line " + std::to_string(line.number) + ": " + e.what());
  }
  if (op == "job.submit") {
    const Job& job = state_.jobs.at(line.json.at("name"));
    became_pending_.insert(job.name);
    arrived_[job.priority] = state_.now;
  } else if (op == "ask.whatif") {
    for (const Json& about : line.json.value("about", Json::array()))
      asked_.emplace_back(line.number, about.get<std::string>());
  } else if (op.starts_with("node.") || op.starts_with("queue.") || op == "flavor.add" ||
             op == "task.fail") {
    disturbed_at_ = state_.now;
  }
}

void Replay::Decision(const Line& line) {
  line_ = line.number;
  const std::string kind = line.json.at("do");
  if (summed_) Say("LINES", "a line after the summary");
  if (end_at_ && line.t > *end_at_) Say("LINES", "a line after the end of the script");
  if (kind != "bind" || line.json.value("job", "") != gang_) CloseGang();
  try {
    if (kind == "admit") Admit(line);
    if (kind == "bind") Bind(line);
    if (kind == "evict") Evict(line);
    if (kind == "shrink") Shrink(line);
    if (kind == "pending") Pending(line);
    if (kind == "reject") Reject(line);
    if (kind == "reserve") Reserve(line);
    if (kind == "finish") Finish(line);
    if (kind == "answer") answered_.insert(line.json.at("about").get<std::string>());
    if (kind == "summary") Summary(line);
  } catch (const nlohmann::json::exception& e) {
    Say("FORMAT", kind + ": " + e.what());
  }
}

void Replay::Finish(const Line& line) {
  Job* job = Named(line);
  if (job == nullptr) return;
  const std::string why = line.json.at("why");
  const auto owed = owed_.find(job->name);
  if (owed != owed_.end()) {
    const bool optional = owed->second.starts_with("?");  // it never ran
    const std::string expected = optional ? owed->second.substr(1) : owed->second;
    if (why != expected) Say("FINISH", job->name + " ended " + expected + ", not " + why, job);
    owed_.erase(owed);
    job->status = Job::Status::kFinished;
    return;
  }
  const bool failed =
      why == "FAILED" && job->status == Job::Status::kRunning && job->lost_at == state_.now;
  if (!failed)
    Say("FINISH",
        job->name + " does not end here (" + why + ")" +
            (job->ends ? "; its run ends at " + std::to_string(*job->ends) : ""),
        job);
  state_.FreeAll(*job);
  job->status = Job::Status::kFinished;
}

void Replay::Summary(const Line& line) {
  summed_ = true;
  if (line.json.at("decisions_sha256") != muster::Sha256Hex(digest_input_))
    Say("SUMMARY", "decisions_sha256 is not of the lines before");
  int bound = 0, pending = 0;
  for (const auto& [name, job] : state_.jobs) {
    bound += job.status == Job::Status::kRunning;
    pending += job.status == Job::Status::kPending;
  }
  if (line.json.at("bound") != bound)
    Say("SUMMARY", "bound is " + std::to_string(bound) + ", not " + line.json.at("bound").dump());
  if (line.json.at("pending") != pending)
    Say("SUMMARY",
        "pending is " + std::to_string(pending) + ", not " + line.json.at("pending").dump());
}

void Replay::EndOfTime() {
  for (const auto& [name, why] : owed_)
    if (!why.starts_with("?"))
      Say("FINISH", name + " ended " + why + " without a finish line", &state_.jobs.at(name));
  for (const std::string& name : hurt_) {
    const Job& job = state_.jobs.at(name);
    if (job.status == Job::Status::kRunning && !job.Legal())
      Say("GANG", name + " lost ranks and was neither repaired nor evicted", &job);
  }
  for (const std::string& name : became_pending_) {
    const Job& job = state_.jobs.at(name);
    if (job.status == Job::Status::kPending && waiting_[name].said_at != state_.now)
      Say("PENDING", name + " waits from here on and no line says so", &job);
  }
  for (const auto& [line, name] : asked_)
    if (state_.jobs.contains(name) && !answered_.contains(name))
      Say("ANSWER", "ask.whatif about " + name + " has no answer", &state_.jobs.at(name));
  CheckUseful();
  CheckReserved();
  CheckWaiting();
  owed_.clear(), hurt_.clear(), became_pending_.clear(), evictions_.clear(), bound_now_.clear();
  asked_.clear(), answered_.clear();
}

void Replay::Say(const std::string& rule, const std::string& text, const Job* job, int line) {
  report_.violations.push_back({rule, job == nullptr ? 0 : job->script_line,
                                line == 0 ? line_ : line,
                                "t=" + std::to_string(state_.now) + " " + text});
}

Job* Replay::Named(const Line& line, const char* key) {
  const std::string name = line.json.at(key);
  const auto found = state_.jobs.find(name);
  if (found != state_.jobs.end()) return &found->second;
  Say("FORMAT", "no such job: " + name);
  return nullptr;
}

bool Replay::Small() const {
  if (!options_.deep || state_.nodes.size() > options_.deep_nodes) return false;
  size_t live = 0;
  for (const auto& [name, job] : state_.jobs)
    live += job.status == Job::Status::kPending || job.status == Job::Status::kRunning;
  return live <= options_.deep_jobs;
}

}  // namespace sched_checker
