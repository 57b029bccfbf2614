// Probe pods under way: made, followed until their commands have ended, read.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/kubernetes/pod_words.h"
#include "backend/kubernetes/probe_pods.h"
#include "base/strings.h"
#include "kube/core.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

using std::chrono::seconds;

constexpr int kTicksASecond = 40;  // at most
constexpr Duration kClockTells = std::chrono::minutes(2);
constexpr Duration kSlack = seconds(60);  // for what is around the commands
constexpr Duration kHeldFor = std::chrono::hours(1);

}  // namespace

void ProbePods::Flight::End(Code code, const std::string& why) {
  const Error error{
      code, fmt::format("the probe pod on {}: {}", node, Shorten(why, 300)), {}, false};
  answers.assign(commands.size(), Fail(Error(error)));
  over = true;
}

void ProbePods::Flight::End(const ProbeLog& log) {
  for (const auto& answer : log.answers) {
    if (answer) {
      answers.emplace_back(*answer);
      continue;
    }
    answers.emplace_back(
        Fail(Code::kCorrupt, fmt::format("the log of the probe pod on {} is not whole: what is "
                                         "larger than a kubelet keeps is rotated away",
                                         node)));
  }
  over = true;
}

ProbePods::Flight ProbePods::Plan(const std::string& node, const std::vector<Command>& commands,
                                  int ticks) {
  const std::lock_guard lock(mutex_);
  Flight flight;
  flight.node = node;
  flight.commands = commands;
  flight.ticks = ticks;
  flight.name = fmt::format("muster-probe-{}-{}", run_.substr(0, 8), made_++);
  flight.mark = "@" + flight.name;
  // timeout(1) has three seconds more for its KILL.
  for (const Command& command : commands) flight.longest += command.timeout + seconds(4);
  return flight;
}

void ProbePods::Create(Flight& flight) {
  const Duration lives =
      options_.site.start_within + flight.longest + kSlack + seconds(flight.ticks / kTicksASecond);
  const std::string body = ProbePodJson(options_, run_, flight.name, flight.node,
                                        ProbeCommand(flight.mark, flight.commands, flight.ticks),
                                        std::chrono::duration_cast<seconds>(lives).count());
  {
    const std::lock_guard lock(mutex_);
    out_.insert(flight.name);  // whatever becomes of the answer, it is looked for
  }
  flight.created = Now();
  flight.there = true;
  const auto made = Ask(kube::Create(kube::kPods, options_.site.ns, body));
  if (!made.ok()) flight.End(made.error().code, "it is not made: " + made.error().ToString());
}

Status ProbePods::Look(std::vector<Flight>& flights) {
  TRY(const std::string body, Ask(kube::List(kube::kPods, options_.site.ns, {Own(), {}})));
  for (Flight& flight : flights) flight.there = false;
  const auto read = kube::ReadList(body, [&](std::string_view text) -> Status {
    TRY(const kube::Pod pod, kube::DecodePod(text));
    const auto flight = std::find_if(flights.begin(), flights.end(),
                                     [&](const Flight& f) { return f.name == pod.meta.name; });
    if (flight == flights.end()) return {};
    const auto object = nlohmann::json::parse(text, nullptr, false);
    flight->there = true;
    flight->phase = pod.phase;
    flight->has_run = HasRun(object);
    flight->word = WordOf(object);
    if (flight->word.empty() && !pod.reason.empty())
      flight->word = fmt::format("{}: {}", pod.reason, pod.message);
    flight->word = Printable(flight->word);
    return {};
  });
  if (!read.ok()) return Fail(read.error());
  return {};
}

Result<std::string> ProbePods::Log(const std::string& pod, bool last_line) {
  kube::Request request = kube::Get(kube::kPods, options_.site.ns, pod);
  request.subresource = "log";
  request.query = {{"container", "main"}};
  if (last_line) request.query.emplace_back("tailLines", "1");
  return Ask(std::move(request));
}

void ProbePods::ReadAnswers(Flight& flight) {
  const auto text = Log(flight.name, false);
  if (!text.ok())
    return flight.End(text.error().code, "its log cannot be read: " + text.error().ToString());
  const ProbeLog log = ParseProbeLog(*text, flight.mark, flight.commands);
  if (!log.trouble.empty()) {
    const bool refused = Contains(log.trouble, "permitted") || Contains(log.trouble, "denied");
    return flight.End(refused ? Code::kPermission : Code::kInternal, Printable(log.trouble));
  }
  flight.End(log);
}

void ProbePods::Step(Flight& flight) {
  const Duration now = Now();
  if (!flight.there) return flight.End(Code::kUnavailable, "somebody removed it");
  if (flight.phase == "Succeeded" || flight.phase == "Failed") {
    if (!flight.has_run) return flight.End(Code::kRefused, "it was refused: " + flight.word);
    return ReadAnswers(flight);
  }
  if (flight.phase != "Running") {
    if (now - flight.created < options_.site.start_within) return;
    return flight.End(
        Code::kUnavailable,
        fmt::format("it does not start within {}: {}", FormatDuration(options_.site.start_within),
                    flight.word.empty() ? "its kubelet says nothing" : flight.word));
  }
  if (!flight.running) flight.running = now;
  const auto last = Log(flight.name, true);
  if (last.ok() && (StartsWith(*last, flight.mark + " all ") || LastTick(*last, flight.mark) ||
                    StartsWith(*last, flight.mark + " over")))
    return ReadAnswers(flight);
  const bool refused = !last.ok() && last.error().code == Code::kPermission;
  if (refused || (!last.ok() && now - *flight.running >= options_.site.start_within))
    return flight.End(last.error().code, "its log cannot be read: " + last.error().ToString());
  if (now - *flight.running >= flight.longest + kSlack)
    flight.End(Code::kTimeout, "its commands do not end");
}

// What has brought its answers goes at once, unless it tells the time.
void ProbePods::Landed(const Flight& flight, bool clock) {
  const bool tells = clock && std::any_of(flight.answers.begin(), flight.answers.end(),
                                          [](const auto& answer) { return answer.ok(); });
  if (!tells) return static_cast<void>(Delete(flight.name).ok());  // Remove() looks again
  const std::lock_guard lock(mutex_);
  clocks_[flight.node] = {flight.name, flight.mark};
}

std::map<std::string, ProbePods::Answers> ProbePods::Run(
    const std::map<std::string, std::vector<Command>>& commands, bool clock) {
  std::vector<Flight> flights;
  const int ticks =
      clock ? static_cast<int>(std::chrono::duration_cast<seconds>(kClockTells).count()) *
                  kTicksASecond
            : 0;
  for (const auto& [node, asked] : commands) flights.push_back(Plan(node, asked, ticks));
  const Status ready = Prepare();
  if (!ready.ok()) {
    for (Flight& flight : flights) flight.End(ready.error().code, ready.error().ToString());
  }
  size_t next = 0, ended = 0;
  while (ready.ok() && ended < flights.size()) {
    for (; next < flights.size() && next - ended < options_.at_once; ++next) Create(flights[next]);
    const Status looked = Look(flights);
    ended = 0;
    for (size_t i = 0; i < next; ++i) {
      Flight& flight = flights[i];
      const bool was_over = flight.over;
      if (!was_over && looked.ok()) Step(flight);
      if (!was_over && !looked.ok())
        flight.End(looked.error().code, "it cannot be followed: " + looked.error().ToString());
      if (!was_over && flight.over) Landed(flight, clock);
      ended += flight.over ? 1 : 0;
    }
    if (ended < flights.size()) client_.clock().SleepFor(options_.every);
  }
  std::map<std::string, Answers> all;
  for (Flight& flight : flights) all[flight.node] = std::move(flight.answers);
  return all;
}

Result<std::string> ProbePods::Time(const std::string& node) {
  std::pair<std::string, std::string> clock;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clocks_.find(node);
    if (found == clocks_.end())
      return Fail(Code::kUnavailable,
                  fmt::format("no probe pod tells the time of {}, and one that is started for it "
                              "would be later than a clock may be off",
                              node));
    clock = found->second;
  }
  TRY(const std::string last, Log(clock.first, true));
  const auto tick = LastTick(last, clock.second);
  // A container that was killed leaves an old line behind.
  TRY(const std::string object, Ask(kube::Get(kube::kPods, options_.site.ns, clock.first)));
  TRY(const kube::Pod pod, kube::DecodePod(object));
  if (tick && pod.phase == "Running") return *tick + "\n";
  return Fail(Code::kUnavailable, fmt::format("the probe pod on {} tells no time any more", node));
}

// A pod that runs until it is killed, as a process would.
class ProbePods::Held final : public Child {
 public:
  Held(ProbePods& pods, std::string pod) : pods_(pods), pod_(std::move(pod)) {}
  ~Held() override { Kill(); }
  int pid() const override { return 0; }
  std::optional<int> Poll() override { return killed_ ? std::optional<int>(137) : std::nullopt; }
  Result<int> Wait(Duration) override {
    if (killed_) return 137;
    return Fail(Code::kTimeout, "a pod that is held is not waited for");
  }
  void Kill() override {
    if (!killed_) static_cast<void>(pods_.Delete(pod_).ok());
    killed_ = true;
  }
  std::string Output() override { return ""; }

 private:
  ProbePods& pods_;
  const std::string pod_;
  bool killed_ = false;
};

Result<std::unique_ptr<Child>> ProbePods::Start(const std::string& node, const Command& command) {
  TRY_VOID(Prepare());
  Command held = command;
  held.timeout = kHeldFor;
  std::vector<Flight> one = {Plan(node, {held}, 0)};
  Create(one[0]);
  while (!one[0].over) {
    TRY_VOID(Look(one));
    Flight& flight = one[0];
    if (flight.phase == "Running") return std::make_unique<Held>(*this, flight.name);
    Step(flight);
    if (!flight.over) client_.clock().SleepFor(options_.every);
  }
  Landed(one[0], false);
  const auto& answer = one[0].answers.front();
  if (!answer.ok()) return Fail(answer.error());
  return Fail(Code::kUnavailable, "it ended at once: " + Printable(answer->err));
}

}  // namespace muster::kubernetes
