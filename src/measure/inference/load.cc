#include "measure/inference/load.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "measure/inference/answer_timer.h"

namespace muster::inference {
namespace {

using Json = nlohmann::json;

constexpr std::array kWords = {"rack",  "leaf",   "spine", "cable", "rank",  "gang",
                               "ring",  "token",  "queue", "drain", "fan",   "lamp",
                               "floor", "card",   "row",   "page",  "seal",  "ledger",
                               "gate",  "window", "shift", "night", "glass", "packet"};

// Processor time of the whole process from /proc/self/stat (proc(5)): utime and stime, fields 14
// and 15, in ticks of 10 ms.
std::optional<double> ProcessCpuSeconds(Files& files) {
  constexpr double kTicksPerSecond = 100;  // USER_HZ
  const auto stat = files.Read("/proc/self/stat", 4096);
  if (!stat.ok()) return std::nullopt;
  // The program's name stands in parentheses and may hold blanks and more parentheses.
  const size_t end = stat->rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const auto fields = SplitBlank(std::string_view(*stat).substr(end + 1));
  if (fields.size() < 13) return std::nullopt;
  const auto user = ParseInt(fields[11]), system = ParseInt(fields[12]);
  if (!user.ok() || !system.ok()) return std::nullopt;
  return static_cast<double>(*user + *system) / kTicksPerSecond;
}

// Opens a connection for each worker: all hold theirs until the last one has its own. A GET that
// fails counts too, so nobody waits longer than its time-out.
class WarmUp {
 public:
  explicit WarmUp(int workers) : missing_(workers) {}

  void Open(World& world, const LoadPlan& plan) {
    HttpRequest request;
    // Not /health: vLLM's has no body, and nothing could be held.
    request.url = plan.url + "/v1/models";
    request.headers = plan.headers;
    request.timeout = std::chrono::seconds(5);
    bool arrived = false;
    Duration sent{};
    const auto answered = world.http.Stream(
        request,
        [&](std::string_view, Duration) {
          if (!arrived) Arrive(true);
          return arrived = true;
        },
        sent);
    // A server that is not there is noticed by the requests themselves.
    if (!answered.ok() || !arrived) Arrive(false, arrived);
  }

 private:
  void Arrive(bool wait, bool already = false) {
    std::unique_lock lock(mutex_);
    if (!already && --missing_ <= 0) all_.notify_all();
    if (wait) all_.wait(lock, [this] { return missing_ <= 0; });
  }

  std::mutex mutex_;
  std::condition_variable all_;
  int missing_;
};

class Load {
 public:
  Load(World& world, const LoadPlan& plan, const std::function<void(int)>& on_done)
      : world_(world),
        plan_(plan),
        on_done_(on_done),
        arrivals_(PoissonArrivals(plan.requests, plan.requests_per_s, plan.seed)),
        warm_(std::min(plan.workers, plan.requests)) {
    result_.requests.resize(static_cast<size_t>(plan.requests));
  }

  LoadResult Run() {
    const int workers = std::min(plan_.workers, plan_.requests);
    if (workers == 1) {
      warm_.Open(world_, plan_);
      Begin();
      Work();
    } else {
      // Threads stay from the warm-up to the end, so that nobody starts one under load.
      std::vector<std::jthread> threads;
      for (int i = 0; i < workers; ++i) {
        threads.emplace_back([this] {
          warm_.Open(world_, plan_);
          std::call_once(began_once_, [this] { Begin(); });
          Work();
        });
      }
    }
    result_.took = world_.clock.Monotonic() - began_;
    const auto cpu = ProcessCpuSeconds(world_.files);
    if (cpu && cpu_before_ && result_.took > Duration::zero())
      result_.client_cpu = (*cpu - *cpu_before_) / Seconds(result_.took);
    return std::move(result_);
  }

 private:
  void Begin() {
    cpu_before_ = ProcessCpuSeconds(world_.files);
    began_ = world_.clock.Monotonic();
  }

  void Work() {
    for (;;) {
      const int index = next_.fetch_add(1);
      if (index >= plan_.requests) return;
      const auto i = static_cast<size_t>(index);
      const Duration wait = arrivals_[i] - (world_.clock.Monotonic() - began_);
      if (wait > Duration::zero()) world_.clock.SleepFor(wait);
      result_.requests[i] = Ask(index, arrivals_[i]);
      const std::lock_guard lock(done_mutex_);
      ++done_;
      if (on_done_) on_done_(done_);
    }
  }

  HttpRequest Request(int index) const {
    HttpRequest request;
    request.method = "POST";
    request.url = plan_.url + "/v1/chat/completions";
    request.headers = plan_.headers;
    request.headers["Content-Type"] = "application/json";
    request.headers["Accept"] = "text/event-stream";
    request.timeout = plan_.timeout;
    // ignore_eos: vLLM and llama.cpp then give exactly max_tokens; others ignore it.
    const Json body = {
        {"model", plan_.model},
        {"messages",
         {{{"role", "user"}, {"content", UniquePrompt(index, plan_.prompt_words, plan_.seed)}}}},
        {"max_tokens", plan_.max_tokens},
        {"stream", true},
        {"stream_options", {{"include_usage", true}}},
        {"ignore_eos", true}};
    request.body = body.dump();
    return request;
  }

  RequestOutcome Ask(int index, Duration planned) {
    RequestOutcome outcome;
    outcome.index = index;
    outcome.planned = planned;
    const Duration tried = world_.clock.Monotonic();
    AnswerTimer timer;
    std::string head;  // of an answer that is no stream: its error
    Duration sent{};
    const auto response = world_.http.Stream(
        Request(index),
        [&](std::string_view bytes, Duration at) {
          if (head.size() < 512) head.append(bytes.substr(0, 512));
          timer.Feed(bytes, at);
          return true;
        },
        sent);
    const auto since = [&](std::optional<Duration> at) {
      return at ? std::optional(*at - began_) : std::nullopt;
    };
    outcome.sent = (sent > Duration::zero() ? sent : tried) - began_;
    outcome.ended = world_.clock.Monotonic() - began_;
    outcome.first_byte = since(timer.first_byte);
    outcome.role = since(timer.role);
    outcome.first_content = since(timer.first_content);
    outcome.last_content = since(timer.last_content);
    outcome.messages = timer.messages;
    outcome.tokens = timer.completion_tokens;
    if (!response.ok()) {
      outcome.timed_out = response.error().code == Code::kTimeout;
      outcome.error = response.error().ToString();
    } else if (response->status != 200) {
      outcome.error = fmt::format("HTTP {}: {}", response->status, Shorten(Printable(head), 120));
    } else if (!timer.error.empty()) {
      outcome.error = timer.error;
    } else if (!timer.Complete()) {
      outcome.error = timer.first_content ? "the stream ended in the middle of the answer"
                                          : "the answer has no text";
    }
    return outcome;
  }

  World& world_;
  const LoadPlan& plan_;
  const std::function<void(int)>& on_done_;
  const std::vector<Duration> arrivals_;
  WarmUp warm_;
  std::once_flag began_once_;
  Duration began_{};
  std::optional<double> cpu_before_;
  std::atomic<int> next_{0};
  std::mutex done_mutex_;
  int done_ = 0;
  LoadResult result_;
};

}  // namespace

std::optional<double> RequestOutcome::ttft_s() const {
  if (!first_content) return std::nullopt;
  return Seconds(*first_content - sent);
}

std::optional<double> RequestOutcome::tpot_s() const {
  if (!first_content || !last_content || !tokens || *tokens < 2 || messages < 2)
    return std::nullopt;
  return Seconds(*last_content - *first_content) / (*tokens - 1);
}

std::vector<Duration> PoissonArrivals(int requests, double requests_per_s, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<Duration> arrivals;
  double at = 0;
  for (int i = 0; i < requests; ++i) {
    at += -std::log(1 - random.Unit()) / requests_per_s;
    arrivals.push_back(FromSeconds(at));
  }
  return arrivals;
}

std::string UniquePrompt(int index, int words, uint64_t seed) {
  SeededRandom random(seed * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(index));
  // The number comes first: prefix caches compare from the front.
  std::string prompt = fmt::format("{:x}-{}:", random.Next(), index);
  for (int i = 0; i < words; ++i) {
    prompt += ' ';
    prompt += kWords[random.Below(kWords.size())];
  }
  return prompt;
}

Result<LoadResult> RunLoad(World& world, const LoadPlan& plan,
                           const std::function<void(int)>& on_done) {
  if (plan.url.empty() || plan.requests < 1 || plan.requests > 10'000'000 ||
      !(plan.requests_per_s > 0) || plan.workers < 1 || plan.workers > 4096 ||
      plan.max_tokens < 1 || plan.prompt_words < 0 || plan.timeout <= Duration::zero()) {
    return Fail(Code::kInvalid,
                "a load needs a URL, a request or more, a rate above zero, and 1 to 4096 workers");
  }
  return Load(world, plan, on_done).Run();
}

}  // namespace muster::inference
