#include "kube/lease.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kube {

namespace {

// MicroTime: exactly six digits after the point.
std::string MicroTime(TimePoint time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const TimePoint whole{std::chrono::seconds(micros / 1000000)};
  std::string text = FormatTime(whole);
  text.pop_back();  // "Z"
  return fmt::format("{}.{:06}Z", text, micros % 1000000);
}

}  // namespace

LeaderElector::LeaderElector(Client& client, LeaseOptions options, OnChange on_change,
                             OnTrouble on_trouble)
    : client_(client),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      on_trouble_(std::move(on_trouble)) {}

LeaderElector::~LeaderElector() {
  if (call_ != 0) client_.Cancel(call_);
  if (timer_ != 0) client_.CancelTimer(timer_);
  if (expiry_ != 0) client_.CancelTimer(expiry_);
}

void LeaderElector::Start() {
  if (!stopped_) return;
  stopped_ = false;
  Look();
}

bool LeaderElector::Leading() const {
  return leading_ && client_.clock().Monotonic() < valid_until_;
}

void LeaderElector::Look() {
  Request request = Get(kLeases, options_.ns, options_.name);
  request.EndWithin(options_.renew_deadline / 2);
  request.urgent = true;
  call_ = client_.Start(std::move(request), [this](const Answer& answer) { OnLook(answer); });
}

void LeaderElector::OnLook(const Answer& answer) {
  call_ = 0;
  if (answer.status == 404 && answer.reason == "NotFound" && answer.error &&
      answer.error->code == Code::kNotFound) {
    return Take(true);
  }
  auto lease = answer.ok() ? DecodeLease(answer.body) : Fail(*answer.error);
  if (!lease.ok()) {
    if (on_trouble_) on_trouble_(lease.error());
    return Again(options_.retry);
  }
  const Duration now = client_.clock().Monotonic();
  heard_at_ = now;
  if (!seen_at_ || lease->meta.resource_version != lease_.meta.resource_version) seen_at_ = now;
  lease_ = std::move(*lease);
  if (lease_.holder == options_.identity) return Take(false);
  SetLeading(false);
  // Only our own clock is asked: a holder that wrote nothing for its whole duration is gone.
  const Duration left = *seen_at_ + std::chrono::seconds(lease_.duration_s) - now;
  const bool ended = options_.has_ended && options_.has_ended(lease_.holder);
  if (lease_.holder.empty() || left <= Duration::zero() || ended) return Take(false);
  Again(std::min(left, options_.retry));
}

void LeaderElector::Take(bool create) {
  const Duration sent_at = client_.clock().Monotonic();
  const bool ours = !create && lease_.holder == options_.identity;
  if (!ours || !acquired_) acquired_ = client_.clock().Now();
  Request request =
      create ? Create(kLeases, options_.ns, Body(options_.identity, true, options_.duration))
             : Update(kLeases, options_.ns, options_.name,
                      Body(options_.identity, false, options_.duration));
  request.EndWithin(options_.renew_deadline / 2);
  request.urgent = true;
  call_ = client_.Start(std::move(request),
                        [this, sent_at](const Answer& answer) { OnTaken(answer, sent_at); });
}

void LeaderElector::OnTaken(const Answer& answer, Duration sent_at) {
  call_ = 0;
  auto lease = answer.ok() ? DecodeLease(answer.body) : Fail(*answer.error);
  if (!lease.ok()) {
    // 409: somebody wrote it; look who. Anything else: whether it was written is not known; look.
    const bool lost_race = answer.status == 409;
    if (!lost_race && on_trouble_) on_trouble_(lease.error());
    return Again(lost_race ? Duration::zero() : options_.retry / 2);
  }
  lease_ = std::move(*lease);
  seen_at_ = heard_at_ = client_.clock().Monotonic();
  valid_until_ = sent_at + options_.renew_deadline;
  if (expiry_ != 0) client_.CancelTimer(expiry_);
  expiry_ = client_.After(valid_until_ - client_.clock().Monotonic(), [this] { Expire(); });
  SetLeading(true);
  // The callback may have released it.
  if (stopped_) return;
  timer_ = client_.After(options_.retry, [this] {
    timer_ = 0;
    if (Leading()) return Take(false);
    Look();
  });
}

void LeaderElector::Again(Duration delay) {
  if (stopped_) return;
  timer_ = client_.After(delay, [this] {
    timer_ = 0;
    Look();
  });
}

void LeaderElector::Expire() {
  expiry_ = 0;
  if (!Leading()) SetLeading(false);
}

void LeaderElector::SetLeading(bool leading) {
  if (leading == leading_) return;
  leading_ = leading;
  if (on_change_) on_change_(leading);
}

void LeaderElector::Release(std::function<void()> done) {
  stopped_ = true;
  if (call_ != 0) client_.Cancel(call_);
  if (timer_ != 0) client_.CancelTimer(timer_);
  if (expiry_ != 0) client_.CancelTimer(expiry_);
  call_ = timer_ = expiry_ = 0;
  const bool had_it = leading_;
  SetLeading(false);
  if (!had_it) {
    client_.After(Duration::zero(), std::move(done));
    return;
  }
  Request request =
      Update(kLeases, options_.ns, options_.name, Body("", false, std::chrono::seconds(1)));
  request.EndWithin(options_.renew_deadline / 2);
  request.urgent = true;
  client_.Start(std::move(request), [done = std::move(done)](const Answer&) {
    if (done) done();
  });
}

std::string LeaderElector::Body(std::string_view holder, bool create, Duration duration) const {
  const std::string version =
      create ? ""
             : fmt::format(",\"resourceVersion\":{}", JsonString(lease_.meta.resource_version));
  const bool same = !create && lease_.holder == holder;
  const int64_t transitions = create ? 0 : lease_.transitions + (same || holder.empty() ? 0 : 1);
  const TimePoint now = client_.clock().Now();
  return fmt::format(
      R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":{},"namespace":{}{}}},)"
      R"("spec":{{"holderIdentity":{},"leaseDurationSeconds":{},"acquireTime":"{}","renewTime":"{}","leaseTransitions":{}}}}})",
      JsonString(options_.name), JsonString(options_.ns), version, JsonString(holder),
      std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()),
      MicroTime(acquired_.value_or(now)), MicroTime(now), transitions);
}

}  // namespace muster::kube
