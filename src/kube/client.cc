#include "kube/client.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::kube {

namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(100);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr size_t kLargestBody = 2ull << 30;

bool OnlyReads(const Request& request) { return request.Method() == "GET"; }

// The versions in an APIGroup or an APIVersions document.
std::vector<std::string> VersionsOf(const std::string& body) {
  std::vector<std::string> versions;
  const Json json = Json::parse(body, nullptr, false);
  for (const Json& version : ListAt(json, "versions")) {
    const std::string name =
        version.is_string() ? version.get<std::string>() : TextAt(version, "version");
    if (!name.empty()) versions.push_back(Printable(name));
  }
  return versions;
}

}  // namespace

struct Client::Call {
  uint64_t id = 0;
  Request request;
  Done done;
  std::optional<StreamEvents> stream;
  uint64_t exchange = 0;  // 0: not under way
  int tries = 0;
  bool renewed = false, gone = false, counted = false, too_large = false;
  Duration began{};
  ResponseHead head;
  std::string body;
  bool Streams() const { return stream.has_value() && head.status == 200; }
};

Client::Client(const ClusterConfig& config, Transport& transport, Credentials& credentials,
               Clock& clock, Random& random)
    : config_(config),
      transport_(transport),
      credentials_(credentials),
      clock_(clock),
      random_(random),
      tls_(config.tls) {}

Client::~Client() {
  for (auto& [id, call] : calls_) {
    call->gone = true;
    if (call->exchange != 0) transport_.Cancel(call->exchange);
  }
}

uint64_t Client::Start(Request request, Done done) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id_;
  call->request = std::move(request);
  call->done = std::move(done);
  call->began = clock_.Monotonic();
  calls_.emplace(call->id, call);
  call->request.urgent ? queue_.push_front(call) : queue_.push_back(call);
  SendQueued();
  return call->id;
}

uint64_t Client::Stream(Request request, StreamEvents events) {
  auto call = std::make_shared<Call>();
  call->id = ++last_id_;
  call->request = std::move(request);
  call->stream = std::move(events);
  call->began = clock_.Monotonic();
  calls_.emplace(call->id, call);
  Send(call);
  return call->id;
}

void Client::Cancel(uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const std::shared_ptr<Call> call = found->second;
  calls_.erase(found);
  call->gone = true;
  if (call->exchange != 0) transport_.Cancel(call->exchange);
  if (call->counted) --in_flight_;
  call->counted = false;
  SendQueued();
}

uint64_t Client::After(Duration delay, std::function<void()> then) {
  const uint64_t id = ++last_id_;
  timers_.emplace(std::pair(clock_.Monotonic() + delay, id), std::move(then));
  return id;
}

void Client::CancelTimer(uint64_t timer) {
  for (auto it = timers_.begin(); it != timers_.end(); ++it) {
    if (it->first.second != timer) continue;
    timers_.erase(it);
    return;
  }
}

void Client::RunTimers() {
  const Duration now = clock_.Monotonic();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const std::function<void()> then = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    then();
  }
}

void Client::Poll(Duration timeout) {
  RunTimers();
  Duration wait = std::max(timeout, Duration::zero());
  if (!timers_.empty()) {
    wait = std::clamp(timers_.begin()->first.first - clock_.Monotonic(), Duration::zero(), wait);
  }
  if (!unproven_.empty()) {
    constexpr Duration kLook = std::chrono::milliseconds(5);
    credentials_.Wait(std::min(wait, kLook));
    SendUnproven();
    wait = std::min(wait, kLook);
  }
  transport_.Poll(wait);
  RunTimers();
}

void Client::SendUnproven() {
  if (!credentials_.Ready()) return;
  for (const auto& call : std::exchange(unproven_, {})) {
    if (!call->gone) Send(call);
  }
}

Answer Client::Await(Request request) {
  std::optional<Answer> got;
  Start(std::move(request), [&got](const Answer& answer) { got = answer; });
  while (!got) Poll(std::chrono::seconds(1));
  return std::move(*got);
}

Result<std::string> Client::Ask(Request request) {
  Answer answer = Await(std::move(request));
  if (answer.error) return Fail(std::move(*answer.error));
  return std::move(answer.body);
}

void Client::SendQueued() {
  while (!queue_.empty() &&
         (in_flight_ < static_cast<int>(window_) || queue_.front()->request.urgent)) {
    const std::shared_ptr<Call> call = queue_.front();
    queue_.pop_front();
    if (call->gone) continue;
    if (Left(*call) <= Duration::zero()) {
      Overdue(call);
      continue;
    }
    ++in_flight_;
    call->counted = true;
    Send(call);
  }
}

Duration Client::Left(const Call& call) const {
  if (call.request.within == Duration::zero()) return Duration::max();
  return call.request.within - (clock_.Monotonic() - call.began);
}

// Whoever asked may no longer be the one to ask: a leader of ten seconds ago.
void Client::Overdue(const std::shared_ptr<Call>& call) {
  Answer answer;
  answer.error =
      Error{Code::kTimeout,
            fmt::format("{}: not sent: its turn did not come within {}",
                        AskedOf(call->request).ToString(), FormatDuration(call->request.within)),
            {}};
  // Not from here: whoever called Start() does not expect callbacks yet.
  After(Duration::zero(), [this, call, answer] { Finish(call, answer); });
}

void Client::Send(const std::shared_ptr<Call>& call) {
  if (!credentials_.Ready()) return unproven_.push_back(call);
  auto token = credentials_.Token();
  if (!token.ok()) {
    // Not from here: whoever called Start() does not expect its callback yet.
    Answer answer;
    answer.error = Error(token.error()).Context(AskedOf(call->request).ToString());
    After(Duration::zero(), [this, call, answer] { Finish(call, answer); });
    return;
  }
  if (!credentials_.cert_pem().empty() && credentials_.cert_pem() != tls_.cert_pem) {
    tls_.cert_pem = credentials_.cert_pem();
    tls_.key_pem = credentials_.key_pem();
    transport_.UseTls(tls_);
  }
  Exchange exchange;
  exchange.method = call->request.Method();
  exchange.path = call->request.PathAndQuery();
  exchange.headers["Accept"] = "application/json";
  if (!token->empty()) exchange.headers["Authorization"] = "Bearer " + *token;
  if (!config_.auth.impersonate.empty()) {
    exchange.headers["Impersonate-User"] = config_.auth.impersonate;
  }
  if (!call->request.body.empty()) exchange.headers["Content-Type"] = call->request.content_type;
  exchange.body = call->request.body;
  exchange.timeout = call->request.timeout;
  if (call->request.within > Duration::zero())
    exchange.timeout =
        std::clamp<Duration>(Left(*call), std::chrono::milliseconds(1), exchange.timeout);
  // The connection of the watches has room for what is urgent.
  exchange.long_lived = call->stream.has_value() || call->request.urgent;
  call->head = {};
  call->body.clear();
  ++call->tries;
  call->exchange = transport_.Start(
      std::move(exchange), {[call](const ResponseHead& head) {
                              call->head = head;
                              if (call->Streams() && call->stream->opened) call->stream->opened();
                            },
                            [call](std::string_view bytes) {
                              if (call->Streams()) {
                                call->stream->bytes(bytes);
                              } else if (call->body.size() + bytes.size() <= kLargestBody) {
                                call->body += bytes;
                              } else {
                                call->too_large = true;
                              }
                            },
                            [this, call](const Status& how) { Ended(call, how); }});
}

void Client::Ended(const std::shared_ptr<Call>& call, const Status& how) {
  call->exchange = 0;
  const Request& request = call->request;
  if (how.has_value() && call->head.status >= 200 && call->head.status < 300 && !call->too_large) {
    if (call->counted) window_ = std::min(kMaxWindow, window_ + 1 / window_);
    Finish(call, {call->head.status, std::move(call->body), {}, {}});
    return;
  }
  if (how.has_value() && !call->too_large) return Failed(call);
  Answer answer;
  answer.status = call->Streams() ? call->head.status : 0;
  Error error = call->too_large ? Error{Code::kParse, "the answer is larger than 2 GiB", {}}
                                : Unreachable(how.error(), AskedOf(request));
  const Duration delay =
      Jittered(std::min(kLongestBackoff, kFirstBackoff * (1 << std::min(call->tries, 6))));
  if (OnlyReads(request) && !call->stream && error.retryable && MayRepeat(*call, delay)) {
    return Again(call, delay);
  }
  if (!OnlyReads(request)) {
    error.message += "; whether it was done is not known: look before repeating it";
    error.retryable = false;
  }
  answer.error = std::move(error);
  Finish(call, std::move(answer));
}

// The server answered, and it was no success.
void Client::Failed(const std::shared_ptr<Call>& call) {
  const auto retry_after = call->head.headers.find("retry-after");
  const ApiStatus status =
      ReadApiStatus(call->head.status, call->body,
                    retry_after == call->head.headers.end() ? "" : retry_after->second);
  const Asked asked = AskedOf(call->request);
  if (call->head.status == 401 && !call->renewed && credentials_.Refused()) {
    call->renewed = true;
    ++stats_.token_renewals;
    return Again(call, Duration::zero());
  }
  // An eviction's 429 is a disruption budget's answer, not the server's load.
  const bool budget = call->request.subresource == "eviction";
  if (call->head.status == 429 && !budget) {
    ++stats_.throttled;
    const Duration now = clock_.Monotonic();
    if (now - narrowed_at_ > std::chrono::seconds(1)) {
      window_ = std::max(4.0, window_ / 2);
      narrowed_at_ = now;
    }
    const Duration delay = Jittered(status.retry_after.value_or(std::chrono::seconds(1)));
    if (MayRepeat(*call, delay)) return Again(call, delay);
  }
  const bool nothing_there = call->head.status == 404 &&
                             (!status.is_status || (status.name.empty() && status.kind.empty()));
  if (nothing_there) return Discover(call);
  Answer answer{call->head.status, std::move(call->body), status.reason, ToError(status, asked)};
  const Duration delay =
      Jittered(status.retry_after.value_or(kFirstBackoff * (1 << std::min(call->tries, 6))));
  if (OnlyReads(call->request) && !call->stream && call->head.status >= 500 &&
      MayRepeat(*call, delay)) {
    return Again(call, delay);
  }
  Finish(call, std::move(answer));
}

// A path that the server does not know: which part of it is missing decides the fix.
void Client::Discover(const std::shared_ptr<Call>& call) {
  Exchange exchange;
  exchange.path = call->request.resource.group.empty()
                      ? std::string("/api")
                      : "/apis/" + PercentEncode(call->request.resource.group);
  exchange.headers["Accept"] = "application/json";
  if (auto token = credentials_.Token(); token.ok() && !token->empty()) {
    exchange.headers["Authorization"] = "Bearer " + *token;
  }
  call->body.clear();
  call->head = {};
  call->exchange = transport_.Start(
      std::move(exchange),
      {[call](const ResponseHead& head) { call->head = head; },
       [call](std::string_view bytes) {
         if (call->body.size() < (1u << 20)) call->body += bytes;
       },
       [this, call](const Status& how) {
         call->exchange = 0;
         const Asked asked = AskedOf(call->request);
         Answer answer{404, {}, "NotFound", {}};
         if (how.has_value() && call->head.status == 404) {
           answer.error = MissingResource(asked, std::nullopt);
         } else if (how.has_value() && call->head.status == 200) {
           answer.error = MissingResource(asked, VersionsOf(call->body));
         } else {
           answer.error = Error{
               Code::kNotFound, asked.ToString() + ": the server does not know this path", {}};
         }
         Finish(call, std::move(answer));
       }});
}

void Client::Again(const std::shared_ptr<Call>& call, Duration delay) {
  if (call->renewed || call->tries > 0) ++stats_.repeated;
  if (call->counted) --in_flight_;
  call->counted = false;
  After(delay, [this, call] {
    if (call->gone) return;
    if (call->stream) return Send(call);
    queue_.push_back(call);
    SendQueued();
  });
  SendQueued();
}

void Client::Finish(const std::shared_ptr<Call>& call, Answer answer) {
  if (call->gone) return;
  call->gone = true;
  calls_.erase(call->id);
  if (call->counted) --in_flight_;
  call->counted = false;
  ++stats_.calls;
  SendQueued();
  if (call->stream) {
    if (call->stream->end) call->stream->end(answer);
  } else if (call->done) {
    call->done(answer);
  }
}

Duration Client::Jittered(Duration delay) {
  return delay + FromSeconds(Seconds(delay) * 0.25 * random_.Unit());
}

bool Client::MayRepeat(const Call& call, Duration delay) const {
  return clock_.Monotonic() + delay - call.began < call.request.patience;
}

Asked Client::AskedOf(const Request& request) const {
  return {request.verb,   request.resource,       request.ns, request.name, request.subresource,
          config_.server, credentials_.Describe()};
}

}  // namespace muster::kube
