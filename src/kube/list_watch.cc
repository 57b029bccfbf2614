#include "kube/list_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kube {

namespace {

constexpr Duration kFirstWait = std::chrono::milliseconds(100);
constexpr Duration kLongestWait = std::chrono::seconds(30);
// What changed while a watch was not open comes right after it opened.
constexpr Duration kSettle = std::chrono::milliseconds(200);

// What another try cannot mend, until a person does something.
bool IsFatal(const Answer& answer) {
  return answer.error &&
         (answer.error->code == Code::kPermission || answer.error->code == Code::kInvalid ||
          (answer.error->code == Code::kNotFound && answer.status == 404));
}

}  // namespace

ListWatch::ListWatch(Client& client, Followed followed, ListWatchSink& sink)
    : client_(client),
      followed_(std::move(followed)),
      sink_(sink),
      stream_lists_(followed_.watch && followed_.mode == ListMode::kStream) {}

ListWatch::~ListWatch() { Stop(); }

void ListWatch::Start() {
  if (state_ != State::kStopped) return;
  failures_ = 0;
  if (version_ != 0 && followed_.watch) return OpenWatch(false);
  Relist();
}

void ListWatch::Stop() {
  Drop();
  if (timer_ != 0) client_.CancelTimer(timer_);
  timer_ = 0;
  state_ = State::kStopped;
  lost_since_.reset();
}

// Ends what is under way, without an event.
void ListWatch::Drop() {
  if (call_ != 0) client_.Cancel(call_);
  call_ = 0;
  if (silence_timer_ != 0) client_.CancelTimer(silence_timer_);
  silence_timer_ = 0;
  if (settle_timer_ != 0) client_.CancelTimer(settle_timer_);
  settle_timer_ = 0;
  lines_ = LineSplitter();
}

void ListWatch::Relist() {
  version_ = 0;
  version_text_.clear();
  ++stats_.lists;
  sink_.SyncBegins();
  if (stream_lists_) return OpenWatch(true);
  state_ = State::kListing;
  ListPageFrom({});
}

void ListWatch::ListPageFrom(std::string token) {
  Request request =
      List(followed_.resource, followed_.ns, followed_.selector, followed_.page_size, token);
  call_ = client_.Start(std::move(request), [this](const Answer& answer) { OnPage(answer); });
}

void ListWatch::OnPage(const Answer& answer) {
  call_ = 0;
  if (!answer.ok()) {
    // A continue token lives five minutes or until etcd is compacted: begin again.
    if (answer.status == 410) {
      ++stats_.expired;
      return Later(true);
    }
    if (IsFatal(answer)) return Fatal(*answer.error);
    sink_.Trouble(*answer.error, false);
    return Later(true);
  }
  const auto page =
      ReadList(answer.body, [this](std::string_view json) { return sink_.SyncItem(json); });
  if (!page.ok()) {
    ++stats_.broken;
    sink_.Trouble(Error(page.error()).Context("listing " + followed_.resource.Title()), false);
    return Later(true);
  }
  if (!page->continue_token.empty()) return ListPageFrom(page->continue_token);
  version_text_ = page->resource_version;
  version_ = VersionNumber(version_text_);
  failures_ = 0;
  sink_.SyncEnds(version_);
  if (state_ != State::kListing) return;
  if (!followed_.watch) return Stop();
  OpenWatch(false);
}

void ListWatch::OpenWatch(bool initial_events) {
  Request request = List(followed_.resource, followed_.ns, followed_.selector);
  request.verb = "watch";
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("allowWatchBookmarks", "true");
  if (initial_events) {
    request.query.emplace_back("sendInitialEvents", "true");
    request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  } else {
    request.query.emplace_back("resourceVersion", version_text_);
  }
  // Not all watches of a restarted server at the same second.
  const auto seconds =
      static_cast<int64_t>(Seconds(followed_.watch_for) * (1 + 0.25 * client_.random().Unit()));
  request.query.emplace_back("timeoutSeconds", std::to_string(seconds));
  request.timeout = Duration::zero();
  state_ = initial_events ? State::kStreaming : State::kWatching;
  ++stats_.watches;
  ended_by_us_ = relist_next_ = false;
  lines_ = LineSplitter();
  last_byte_ = client_.clock().Monotonic();
  // A list that comes as events is there with its last one, not with its first byte.
  const auto opened = [this, initial_events] {
    if (!initial_events && lost_since_)
      settle_timer_ = client_.After(kSettle, [this] {
        settle_timer_ = 0;
        lost_since_.reset();
      });
  };
  call_ = client_.Stream(std::move(request),
                         {opened, [this](std::string_view bytes) { OnBytes(bytes); },
                          [this](const Answer& answer) { OnWatchEnd(answer); }});
  ArmSilence();
}

// A connection whose other end is gone says nothing at all, for ever.
void ListWatch::ArmSilence() {
  silence_timer_ = client_.After(followed_.silence, [this] {
    silence_timer_ = 0;
    if (client_.clock().Monotonic() - last_byte_ < followed_.silence) return ArmSilence();
    const bool was_streaming = state_ == State::kStreaming;
    ++stats_.broken;
    NoteLoss();
    Drop();
    sink_.Trouble({Code::kTimeout,
                   fmt::format("watching {}: no byte for {}; connecting again",
                               followed_.resource.Title(), FormatDuration(followed_.silence)),
                   {}},
                  false);
    Later(was_streaming);
  });
}

void ListWatch::OnBytes(std::string_view bytes) {
  last_byte_ = client_.clock().Monotonic();
  const uint64_t call = call_;
  const Status fed = lines_.Feed(
      bytes, [this, call](std::string_view line) { return call == call_ && OnLine(line); });
  if (call != call_ || state_ == State::kStopped) return;  // the sink stopped us
  if (!fed.has_value()) {
    ended_by_us_ = true;
    sink_.Trouble(fed.error(), false);
  }
  if (!ended_by_us_) return;
  const bool relist = relist_next_ || state_ == State::kStreaming;
  NoteLoss();
  Drop();
  Later(relist);
}

// False when the watch must end here.
bool ListWatch::OnLine(std::string_view line) {
  const auto event = ReadWatchLine(line);
  if (!event.ok()) {
    // What came before it was whole; go on from there.
    ++stats_.broken;
    ended_by_us_ = true;
    sink_.Trouble(Error(event.error()).Context("watching " + followed_.resource.Title()), false);
    return false;
  }
  if (event->kind == WatchKind::kError) return OnErrorEvent(event->object);
  if (event->kind == WatchKind::kBookmark) {
    OnBookmark(event->object);
    return true;
  }
  ++stats_.events;
  if (state_ == State::kStreaming) {
    // In a list that comes as events everything is an addition; a change may already slip in.
    if (event->kind == WatchKind::kDeleted) {
      ended_by_us_ = relist_next_ = true;
      return false;
    }
    const Status taken = sink_.SyncItem(event->object);
    if (taken.has_value()) return true;
    sink_.Trouble(taken.error(), false);
    ++stats_.broken;
    ended_by_us_ = true;
    return false;
  }
  const auto applied = sink_.Apply(event->kind, event->object);
  if (!applied.ok()) {
    ++stats_.broken;
    ended_by_us_ = relist_next_ = true;
    sink_.Trouble(Error(applied.error()).Context("watching " + followed_.resource.Title()), false);
    return false;
  }
  if (!*applied) {
    ++stats_.out_of_order;
    ended_by_us_ = relist_next_ = true;
    return false;
  }
  if (const uint64_t version = sink_.version(); version > version_) {
    version_ = version;
    version_text_ = std::to_string(version_);
  }
  failures_ = 0;
  return true;
}

void ListWatch::OnBookmark(std::string_view json) {
  ++stats_.bookmarks;
  const auto version = ValueAt(json, "/metadata/resourceVersion");
  if (!version || VersionNumber(*version) == 0) return;
  if (state_ == State::kStreaming) {
    const auto end = ValueAt(json, "/metadata/annotations/k8s.io~1initial-events-end");
    if (end != "true") return;
    state_ = State::kWatching;
    version_ = VersionNumber(*version);
    version_text_ = *version;
    failures_ = 0;
    lost_since_.reset();
    sink_.SyncEnds(version_);
    return;
  }
  if (VersionNumber(*version) > version_) {
    version_ = VersionNumber(*version);
    version_text_ = *version;
  }
}

bool ListWatch::OnErrorEvent(std::string_view json) {
  const ApiStatus status = ReadApiStatus(500, json, {});
  ended_by_us_ = true;
  if (status.code == 410) {
    ++stats_.expired;
    relist_next_ = true;
    return false;
  }
  ++stats_.broken;
  ++failures_;
  sink_.Trouble(ToError(status, {"watch", followed_.resource, followed_.ns, {}, {}, {}, {}}),
                false);
  return false;
}

void ListWatch::OnWatchEnd(const Answer& answer) {
  call_ = 0;
  const bool streaming = state_ == State::kStreaming;
  Drop();
  if (!answer.ok()) NoteLoss();
  if (answer.status == 410) {
    ++stats_.expired;
    return Later(true);
  }
  // A server without WatchList refuses sendInitialEvents (422, or 400 before 1.27).
  if (streaming && (answer.status == 422 || answer.status == 400)) {
    stream_lists_ = false;
    --stats_.lists;
    return Relist();
  }
  if (IsFatal(answer)) return Fatal(*answer.error);
  if (!answer.ok()) {
    ++stats_.broken;
    sink_.Trouble(*answer.error, false);
  } else if (client_.clock().Monotonic() - last_byte_ < std::chrono::seconds(1)) {
    // An end in good order is no failure; one right at the start, again and again, would be a
    // storm.
    ++failures_;
  }
  Later(streaming);
}

// From here on changes may be missed; a watch that ended in good order is opened again at once.
void ListWatch::NoteLoss() {
  if (!lost_since_ && version_ != 0) lost_since_ = client_.clock().Monotonic();
}

void ListWatch::Later(bool relist, Duration least) {
  state_ = State::kWaiting;
  const Duration wait =
      std::max(least, std::min(kLongestWait, kFirstWait * (1 << std::min(failures_, 9))));
  ++failures_;
  const Duration jittered = wait + FromSeconds(Seconds(wait) * 0.5 * client_.random().Unit());
  timer_ = client_.After(jittered, [this, relist] {
    timer_ = 0;
    if (relist || version_ == 0) return Relist();
    ++stats_.resumed;
    OpenWatch(false);
  });
}

void ListWatch::Fatal(const Error& error) {
  Stop();
  sink_.Trouble(error, true);
}

}  // namespace muster::kube
