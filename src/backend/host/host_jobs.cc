#include "backend/host/host_jobs.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "backend/host/remote_script.h"
#include "base/strings.h"
#include "world/posix/free_port.h"

namespace muster::host {

namespace {

using std::chrono::seconds;

constexpr Duration kScriptLimit = seconds(30);

// Runs `work` for each item, at most `parallel` at the same time.
template <typename T>
void ForAll(const std::vector<T>& items, size_t parallel,
            const std::function<void(const T&, size_t)>& work) {
  std::mutex mutex;
  size_t next = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::min(parallel, items.size()); ++t) {
    threads.emplace_back([&] {
      for (;;) {
        size_t mine = 0;
        {
          const std::lock_guard lock(mutex);
          if (next == items.size()) return;
          mine = next++;
        }
        work(items[mine], mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Ready {
  std::vector<std::string> problems;
  std::set<int64_t> ports;  // taken
  std::string address;
};

Ready ReadReady(const Result<CommandResult>& result) {
  Ready ready;
  if (!result.ok() || result->timed_out || result->exit_code != 0) {
    ready.problems.push_back(!result.ok()        ? result.error().ToString()
                             : result->timed_out ? "no answer in time"
                                                 : Shorten(Printable(Trim(result->err)), 200));
    return ready;
  }
  for (const std::string_view line : Lines(result->out)) {
    if (const auto problem = After(line, "problem ")) ready.problems.emplace_back(*problem);
    if (const auto address = After(line, "address ")) ready.address = std::string(*address);
    if (const auto port = After(line, "port ")) {
      if (const auto number = ParseHex(*port); number.ok())
        ready.ports.insert(static_cast<int64_t>(*number));
    }
  }
  return ready;
}

}  // namespace

// One gang from readiness to the proof of its end.
class HostJobs::Gang {
 public:
  Gang(HostJobs& jobs, const GangSpec& spec) : jobs_(jobs), spec_(spec), nodes_(spec.nodes) {
    std::sort(nodes_.begin(), nodes_.end());
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  }

  Result<GangResult> Run() {
    TRY_VOID(CheckPlacement());
    TRY_VOID(AskReadiness());
    StartAll();
    Status ended = jobs_.EndOn(nodes_, spec_.name);
    result_.took = Now() - began_;
    if (!ended.ok()) return Fail(std::move(ended.error()));
    return std::move(result_);
  }

 private:
  Duration Now() const { return jobs_.local_.clock.Monotonic(); }
  int WorldSize() const { return static_cast<int>(spec_.nodes.size()) * spec_.ranks_per_node; }

  Status CheckPlacement() const {
    if (!IsGangName(spec_.name)) {
      return Fail(Code::kInvalid,
                  fmt::format("\"{}\" cannot name a gang: letters, digits, '.', '_' and '-'",
                              Printable(spec_.name)));
    }
    if (spec_.nodes.empty() || spec_.ranks_per_node < 1 || spec_.argv.empty()) {
      return Fail(Code::kInvalid, "a gang needs a node, a rank and a program");
    }
    if (nodes_.size() != spec_.nodes.size())
      return Fail(Code::kRefused, "a gang names a node twice");
    for (const std::string& node : nodes_) {
      if (!jobs_.hosts_.At(node).ok())
        return Fail(Code::kRefused, fmt::format("the site has no node {}", node));
      const auto gpus = jobs_.gpus_.find(node);
      const auto asked = static_cast<size_t>(spec_.ranks_per_node) *
                         static_cast<size_t>(std::max(0, spec_.gpus_per_rank));
      if (gpus != jobs_.gpus_.end() && asked > gpus->second) {
        return Fail(Code::kRefused, fmt::format("{} has {} GPUs and the gang asks for {} on it",
                                                node, gpus->second, asked));
      }
    }
    return {};
  }

  Status AskReadiness() {
    std::vector<Ready> answers(spec_.nodes.size());
    ForAll<std::string>(
        spec_.nodes, static_cast<size_t>(jobs_.hosts_.Parallel()),
        [&](const std::string& node, size_t i) {
          answers[i] = ReadReady(jobs_.Script(node, ReadyScript(spec_.name, node, spec_.argv[0])));
        });
    std::string problems;
    for (size_t i = 0; i < answers.size(); ++i) {
      for (const std::string& problem : answers[i].problems) {
        problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", spec_.nodes[i], problem);
      }
    }
    if (!problems.empty()) {
      // Nothing was started; what an earlier gang of this name left running is not ours to end
      // here.
      ForAll<std::string>(
          spec_.nodes, static_cast<size_t>(jobs_.hosts_.Parallel()),
          [&](const std::string& node, size_t) {
            static_cast<void>(jobs_.Script(node, ForgetScript(spec_.name, node)).ok());
          });
      return Fail(Code::kRefused,
                  fmt::format("gang {} cannot start whole: {}", spec_.name, problems));
    }
    ChooseMaster(answers[0]);
    return {};
  }

  void ChooseMaster(const Ready& first) {
    const bool all_here = std::all_of(nodes_.begin(), nodes_.end(), [&](const std::string& node) {
      return jobs_.hosts_.Ssh(node) == nullptr;
    });
    master_address_ = all_here || first.address.empty() ? "127.0.0.1" : first.address;
    do {
      master_port_ =
          static_cast<int64_t>(kFirstMeetingPort + jobs_.local_.random.Below(kMeetingPorts));
    } while (first.ports.contains(master_port_));
  }

  Command RankCommand(int rank) const {
    const int local = rank % spec_.ranks_per_node;
    Command command{spec_.argv};
    command.env = {{"RANK", std::to_string(rank)},
                   {"WORLD_SIZE", std::to_string(WorldSize())},
                   {"LOCAL_RANK", std::to_string(local)},
                   {"LOCAL_WORLD_SIZE", std::to_string(spec_.ranks_per_node)},
                   {"GROUP_RANK", std::to_string(rank / spec_.ranks_per_node)},
                   {"MASTER_ADDR", master_address_},
                   {"MASTER_PORT", std::to_string(master_port_)}};
    for (const auto& [name, value] : spec_.env) command.env[name] = value;
    command.timeout = spec_.timeout;
    return command;
  }

  void StartAll() {
    began_ = Now();
    began_wall_ = jobs_.local_.clock.Now();
    result_.ranks.resize(static_cast<size_t>(WorldSize()));
    running_ = WorldSize();
    std::vector<std::thread> threads;
    threads.reserve(result_.ranks.size());
    for (int rank = 0; rank < WorldSize(); ++rank) {
      threads.emplace_back([this, rank] { RunRank(rank); });
    }
    EndWhenOneFailed();
    for (std::thread& thread : threads) thread.join();
    result_.all_started = started_ == WorldSize();
  }

  void RunRank(int rank) {
    RankResult& mine = result_.ranks[static_cast<size_t>(rank)];
    mine.rank = rank;
    mine.node = spec_.nodes[static_cast<size_t>(rank / spec_.ranks_per_node)];
    RankScript script{spec_.name, mine.node, rank,
                      fmt::format("muster-rank-{}-{}", rank, master_port_), RankCommand(rank)};
    const Duration asked = Now() - began_;
    Result<CommandResult> result = Launch(script);
    const Duration ended = Now() - began_;
    std::optional<std::string> when;
    if (result.ok()) {
      when = TakeMarked(result->err, script.marker, "started");
      mine.result = std::move(*result);
    } else {
      mine.result.exit_code = 255;
      mine.result.err = result.error().ToString() + "\n";
    }
    mine.started_after = asked;
    if (when) {
      if (const auto wall = ParseDouble(*when); wall.ok()) {
        mine.started_after =
            std::clamp(FromSeconds(*wall) - began_wall_.time_since_epoch(), asked, ended);
      }
    }
    const std::lock_guard lock(mutex_);
    if (when) ++started_;
    if (!when || mine.result.exit_code != 0) one_failed_ = true;
    if (!when) one_never_started_ = true;
    --running_;
    changed_.notify_all();
  }

  Result<CommandResult> Launch(const RankScript& rank) {
    TRY(const std::string script, RankScriptText(rank));
    if (SshHost* ssh = jobs_.hosts_.Ssh(rank.node)) return ssh->RunHeld(script, spec_.timeout);
    Command command{{"/bin/sh", "-c", script}};
    command.timeout = spec_.timeout;
    return jobs_.local_.processes.Run(command);
  }

  // A rank whose peer is gone waits in its collective for ever.
  void EndWhenOneFailed() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0 || one_failed_; });
    if (running_ == 0) return;
    const auto whole = [this] { return running_ == 0 || one_never_started_; };
    changed_.wait_for(lock, jobs_.options_.failure_grace, whole);
    if (running_ == 0) return;
    lock.unlock();
    static_cast<void>(jobs_.EndOn(nodes_, spec_.name).ok());
  }

  HostJobs& jobs_;
  const GangSpec& spec_;
  std::vector<std::string> nodes_;  // sorted
  std::string master_address_;
  int64_t master_port_ = 0;
  Duration began_{};
  TimePoint began_wall_;
  GangResult result_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int running_ = 0;
  int started_ = 0;
  bool one_failed_ = false;
  bool one_never_started_ = false;
};

HostJobs::HostJobs(const Site& site, std::string site_folder, World local, HostJobsOptions options)
    : local_(local),
      options_(std::move(options)),
      hosts_(site, std::move(site_folder), local, options_.site) {
  for (const Node& node : site.cluster.nodes) {
    if (node.family != GpuFamily::kNone && !node.gpus.empty()) gpus_[node.name] = node.gpus.size();
  }
}

HostJobs::~HostJobs() = default;

Result<GangResult> HostJobs::RunGang(const GangSpec& spec) { return Gang(*this, spec).Run(); }

Result<CommandResult> HostJobs::Script(const std::string& node, const std::string& script) {
  if (SshHost* ssh = hosts_.Ssh(node)) return ssh->RunScript(script, kScriptLimit);
  Command command{{"/bin/sh", "-c", script}};
  command.timeout = kScriptLimit;
  return local_.processes.Run(command);
}

Status HostJobs::EndOn(const std::vector<std::string>& nodes, const std::string& gang_name) {
  std::mutex mutex;
  std::string problems;
  ForAll<std::string>(
      nodes, static_cast<size_t>(hosts_.Parallel()), [&](const std::string& node, size_t) {
        const Result<CommandResult> ended = Script(node, EndScript(gang_name, node));
        if (ended.ok() && !ended->timed_out && ended->exit_code == 0) return;
        const std::lock_guard lock(mutex);
        problems +=
            fmt::format("{}{}: {}", problems.empty() ? "" : "; ", node,
                        ended.ok() ? "something of it withstood KILL" : ended.error().ToString());
      });
  if (problems.empty()) return {};
  return Fail(Code::kUnavailable,
              fmt::format("gang {} is not proven to have ended: {}", gang_name, problems));
}

Result<std::vector<std::string>> HostJobs::Leftovers(const std::string& gang_name) {
  if (!IsGangName(gang_name))
    return Fail(Code::kInvalid, fmt::format("\"{}\" cannot name a gang", Printable(gang_name)));
  const std::vector<std::string> nodes = hosts_.Names();
  std::vector<std::vector<std::string>> found(nodes.size());
  ForAll<std::string>(
      nodes, static_cast<size_t>(hosts_.Parallel()), [&](const std::string& node, size_t i) {
        const Result<CommandResult> look = Script(node, LookScript(gang_name, node));
        if (!look.ok() || look->timed_out || look->exit_code != 0) {
          found[i].push_back(
              fmt::format("{}: cannot be asked: {}", node,
                          look.ok() ? "no answer in time" : look.error().ToString()));
          return;
        }
        for (const std::string_view line : Lines(look->out))
          found[i].push_back(fmt::format("{}: {}", node, Printable(line)));
      });
  std::vector<std::string> all;
  for (std::vector<std::string>& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

Status HostJobs::Clean(const std::string& gang_name) {
  if (!IsGangName(gang_name))
    return Fail(Code::kInvalid, fmt::format("\"{}\" cannot name a gang", Printable(gang_name)));
  return EndOn(hosts_.Names(), gang_name);
}

}  // namespace muster::host
