#include "backend/kubernetes/working_gang.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "backend/kubernetes/pod_words.h"
#include "backend/kubernetes/rank_script.h"
#include "base/strings.h"
#include "kube/core.h"
#include "kube/json.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

using kube::Json;

constexpr int kGraceSeconds = 15;  // for the others, once a rank has failed
constexpr const char* kCompletionIndex = "batch.kubernetes.io/job-completion-index";
// No scheduler answers to it: such pods are bound by whoever made them.
constexpr const char* kNoScheduler = "muster.dev-placed";

// One pod of the gang, as it was last seen.
struct Member {
  bool seen = false, there = false, bound = false, run = false, ended = false, asked = false;
  std::string name, uid, node, word;
  std::optional<PodLog> log;  // once it was read
  std::string log_trouble;
};

class Watcher {
 public:
  Watcher(kube::Client& client, const ClusterJobsOptions& options, const GangSpec& spec,
          const render::JobRequest& request)
      : client_(client), options_(options), spec_(spec), request_(request) {
    members_.resize(spec.nodes.size());
  }

  Result<GangResult> Watch() {
    const Duration asked = Now();
    std::optional<Duration> bound_at, running_at, failed_at;
    while (true) {
      TRY_VOID(Look());
      for (size_t i = 0; i < members_.size(); ++i) {
        Member& member = members_[i];
        if (spec_.exactly_there && member.there && !member.bound) TRY_VOID(Bind(member, i));
        if (member.ended && !member.log) TRY_VOID(ReadLog(member, i));
      }
      const Duration now = Now();
      const size_t bound = Count(&Member::bound);
      if (bound == members_.size() && !bound_at) bound_at = now;
      if (Count(&Member::run) == members_.size() && !running_at) running_at = now;
      if (!failed_at && AnyFailed()) failed_at = now;
      if (Count(&Member::ended) == members_.size()) break;
      if (!bound_at && now - asked >= options_.patience) return Fail(NotBound(bound));
      if (bound_at && !running_at && !failed_at && now - *bound_at >= options_.start_within)
        return Fail(NotStarted());
      if (running_at && now - *running_at >= spec_.timeout) {
        timed_out_ = true;
        break;
      }
      // A controller ends the others of a failed rank; if it does not, they hang in a collective.
      if (failed_at && now - *failed_at >= std::chrono::seconds(2 * kGraceSeconds)) break;
      client_.clock().SleepFor(options_.every);
    }
    took_ = Now() - running_at.value_or(bound_at.value_or(asked));
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].log) TRY_VOID(ReadLog(members_[i], i));
    }
    return Gather();
  }

 private:
  Duration Now() { return client_.clock().Monotonic(); }
  size_t Count(bool Member::* what) const {
    return static_cast<size_t>(
        std::count_if(members_.begin(), members_.end(), [&](const Member& m) { return m.*what; }));
  }
  bool AnyFailed() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& m) {
      return m.log && std::any_of(m.log->ranks.begin(), m.log->ranks.end(),
                                  [](const RankLog& r) { return r.exit_code.value_or(0) != 0; });
    });
  }

  Status Look() {
    const std::string selector = fmt::format("app.kubernetes.io/name={}", request_.name);
    TRY(const std::string body, client_.Ask(kube::List(kube::kPods, request_.ns, {selector, {}})));
    for (Member& member : members_) member.there = false;
    TRY_VOID(kube::ReadList(body, [&](std::string_view text) -> Status {
      TRY(const kube::Pod pod, kube::DecodePod(text));
      return Seen(pod, Json::parse(text, nullptr, false));
    }));
    for (Member& member : members_) {
      // Whoever deleted it, its output went with it.
      if (member.seen && !member.there && !member.ended) SaysNothing(member, "its pod is gone");
    }
    return {};
  }

  static void SaysNothing(Member& member, std::string why) {
    member.ended = true;
    member.log_trouble = std::move(why);
    member.log = PodLog{};
  }

  Status Seen(const kube::Pod& pod, const Json& object) {
    const std::string* index = pod.meta.Annotation(kCompletionIndex);
    const auto place = index == nullptr ? Result<int64_t>(int64_t{-1}) : ParseInt(*index);
    size_t at = place.ok() && *place >= 0 ? static_cast<size_t>(*place) : members_.size();
    if (index == nullptr) {  // Volcano: the master and its workers
      const size_t dash = pod.meta.name.rfind('-');
      const auto number = ParseInt(pod.meta.name.substr(dash + 1));
      const bool worker = Contains(pod.meta.name, "-worker-");
      if (number.ok() && *number >= 0) at = static_cast<size_t>(*number) + (worker ? 1 : 0);
    }
    if (at >= members_.size()) return {};
    Member& member = members_[at];
    if (member.seen && member.uid != pod.meta.uid) {
      return Fail(Code::kUnavailable, fmt::format("pod {} was made again as {}: somebody ended it",
                                                  member.name, pod.meta.name));
    }
    member.seen = member.there = true;
    member.name = pod.meta.name;
    member.uid = pod.meta.uid;
    member.node = pod.node_name;
    member.bound = !pod.node_name.empty();
    member.ended = pod.Finished();
    member.run = member.run || HasRun(object) || member.ended;
    member.word = WordOf(object);
    scheduler_.Hear(pod);
    const std::string stopped = StoppedBefore(object);
    if (member.ended && !stopped.empty()) {
      // It waited for rank 0, whose own words say more, if there are any.
      SaysNothing(member, stopped);
      member.word.clear();
    } else if (pod.phase == "Failed" && !HasRun(object)) {
      return Fail(Code::kRefused,
                  fmt::format("pod {} was refused by {}: {}: {}", pod.meta.name,
                              pod.node_name.empty() ? "the cluster" : pod.node_name,
                              Printable(pod.reason), Shorten(Printable(pod.message), 300)));
    }
    if (member.bound &&
        std::find(spec_.nodes.begin(), spec_.nodes.end(), member.node) == spec_.nodes.end()) {
      return Fail(Code::kRefused,
                  fmt::format("pod {} was placed on {}, which is not of the scope: what it would "
                              "measure is not asked for",
                              pod.meta.name, member.node));
    }
    return {};
  }

  Status Bind(Member& member, size_t index) {
    if (member.asked) return {};  // its node stands in the object soon
    const kube::Answer answer =
        client_.Await(kube::Bind(request_.ns, member.name, member.uid, spec_.nodes[index]));
    if (answer.ok() || answer.status == 409) {
      member.asked = true;
      return {};
    }
    // A pod that was deleted meanwhile is told by the next look.
    if (answer.status == 404) return {};
    return Fail(Error(*answer.error).Context("binding " + member.name));
  }

  // Whoever may not read logs is told at once: the others' would be refused as well.
  Status ReadLog(Member& member, size_t index) {
    const int first = static_cast<int>(index) * spec_.ranks_per_node;
    member.log = ParsePodLog("", request_.name, first, spec_.ranks_per_node);
    if (!member.there) {
      if (member.log_trouble.empty()) member.log_trouble = "it was never made";
      return {};
    }
    auto text = ReadPodLog(client_, request_.ns, member.name);
    if (!text.ok()) {
      if (text.error().code == Code::kPermission)
        return Fail(Error(text.error()).Context("the output of pod " + member.name));
      member.log_trouble = text.error().ToString();
      return {};
    }
    member.log = ParsePodLog(text->text, request_.name, first, spec_.ranks_per_node);
    if (!member.log->whole) {
      member.log_trouble = fmt::format("{} is missing{}", member.log->missing,
                                       text->cut ? " (the log is larger than is read)" : "");
    }
    return {};
  }

  Error NotBound(size_t bound) const {
    return Error{Code::kRefused,
                 fmt::format("{} of {} pods were bound in {}: {}", bound, members_.size(),
                             FormatDuration(options_.patience), scheduler_.Text()),
                 {},
                 false};
  }
  Error NotStarted() const {
    std::string text;
    for (const Member& member : members_) {
      if (member.run) continue;
      text += fmt::format("{}{} on {}: {}", text.empty() ? "" : "; ", member.name, member.node,
                          member.word.empty() ? "its container does not start" : member.word);
    }
    return Error{Code::kTimeout,
                 fmt::format("not every pod started within {}: {}",
                             FormatDuration(options_.start_within), Shorten(Printable(text), 400)),
                 {},
                 false};
  }

  // A run is evidence when every rank's words are whole, or when a rank's own failure says why
  // others' are not.
  Result<GangResult> Gather() {
    const bool explained = AnyFailed() || timed_out_;
    GangResult result;
    result.took = took_;
    result.all_started = true;
    std::optional<double> first;
    for (const Member& member : members_) {
      for (const RankLog& rank : member.log->ranks)
        if (rank.began_unix_s)
          first = std::min(first.value_or(*rank.began_unix_s), *rank.began_unix_s);
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      const Member& member = members_[i];
      if (!member.log_trouble.empty() && !explained) {
        return Fail(Code::kUnavailable,
                    fmt::format("the log of pod {} on {} is not whole: {}{}{}",
                                member.name.empty() ? std::to_string(i) : member.name,
                                member.node.empty() ? "no node" : member.node, member.log_trouble,
                                member.word.empty() ? "" : "; ", Printable(member.word)));
      }
      if (member.log->ranks.empty()) result.all_started = false;
      for (const RankLog& rank : member.log->ranks) {
        if (!rank.begun) result.all_started = false;
        if (!rank.begun) continue;
        if (!rank.began_unix_s)
          return Fail(Code::kUnavailable,
                      "`date +%s.%N` of the image does not tell when a rank began");
        result.ranks.push_back(ResultOf(rank, member, *rank.began_unix_s - *first));
      }
    }
    return result;
  }

  RankResult ResultOf(const RankLog& log, const Member& member, double after_s) const {
    RankResult rank;
    rank.rank = log.rank;
    rank.node = member.node;
    rank.started_after = FromSeconds(after_s);
    rank.result.out = log.out;
    rank.result.exit_code = log.exit_code.value_or(-1);
    rank.result.timed_out = timed_out_ && !log.exit_code;
    rank.result.took = took_;
    if (!log.exit_code)
      rank.result.err = "(it had not ended when the gang was; " + member.log_trouble + ")\n";
    if (!member.log->stray.empty()) rank.result.err += member.log->stray;
    return rank;
  }

  kube::Client& client_;
  const ClusterJobsOptions& options_;
  const GangSpec& spec_;
  const render::JobRequest& request_;
  std::vector<Member> members_;
  SchedulerWord scheduler_;
  bool timed_out_ = false;
  Duration took_{};
};

}  // namespace

Result<render::JobRequest> WorkingRequest(const ClusterJobsOptions& options, const GangSpec& spec) {
  if (spec.nodes.empty() || spec.ranks_per_node < 1 || spec.argv.empty())
    return Fail(Code::kInvalid, "a gang needs a node, a rank and a program");
  render::JobRequest request = ProofRequest(options, spec.name);
  if (!spec.image.empty()) request.image = spec.image;
  if (spec.exactly_there) {
    request.dialect = render::Dialect::kJob;
    request.queue.clear();
    request.scheduler = kNoScheduler;
  }
  const int pods = static_cast<int>(spec.nodes.size());
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(
      spec.timeout + options.start_within + options.patience + std::chrono::minutes(5));
  request.limit_s = limit.count();
  request.ttl_s = 600;
  if (pods > 1) request.wait_s = 120;
  request.node_variable = "MUSTER_NODE";
  request.devices = options.devices;
  request.networks = options.networks;
  render::Group group;
  group.name = "rank";
  group.pods = pods;
  group.gpus = spec.ranks_per_node * spec.gpus_per_rank;
  group.cpu_milli = options.CpuMilliFor(group.gpus);
  group.memory_bytes = options.memory_bytes;
  group.command = RankCommand(request.name, pods, spec.ranks_per_node, kGraceSeconds, spec.argv);
  request.groups.push_back(std::move(group));
  for (const auto& [name, value] : spec.env) request.env.emplace_back(name, value);
  return request;
}

Result<GangResult> WatchWorking(kube::Client& client, const ClusterJobsOptions& options,
                                const GangSpec& spec, const render::JobRequest& request) {
  return Watcher(client, options, spec, request).Watch();
}

Result<LogText> ReadPodLog(kube::Client& client, const std::string& ns, const std::string& pod,
                           int64_t most_bytes) {
  kube::Request request = kube::Get(kube::kPods, ns, pod);
  request.subresource = "log";
  request.query = {{"container", "main"}, {"limitBytes", std::to_string(most_bytes)}};
  request.patience = std::chrono::seconds(20);
  TRY(std::string text, client.Ask(std::move(request)));
  const bool cut = static_cast<int64_t>(text.size()) >= most_bytes;
  return LogText{std::move(text), cut};
}

}  // namespace muster::kubernetes
