// Follows one collection for as long as it is asked to: lists it, watches from there, resumes where
// a connection broke, and lists again when the server no longer knows that place. It knows nothing
// of kinds; a ListWatchSink does (kube/reflector.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/client.h"
#include "kube/object.h"
#include "kube/stream_reader.h"

namespace muster::kube {

enum class ListMode {
  kStream,  // the watch itself brings the objects first (WatchList; Kubernetes 1.32 and newer),
            // falling back to pages where the server refuses
  kPages,
};

struct Followed {
  Resource resource;
  std::string ns = {};  // empty: all
  Selector selector = {};
  ListMode mode = ListMode::kPages;
  bool watch = true;  // false: pages once, then it has stopped; the right to list is enough
  int page_size = 500;
  // The server closes a watch after this; without any byte for `silence` we do. Bookmarks come
  // about once a minute.
  Duration watch_for = std::chrono::minutes(8);
  Duration silence = std::chrono::seconds(150);
};

// Called from Client::Poll.
class ListWatchSink {
 public:
  virtual ~ListWatchSink() = default;
  // A whole state follows: SyncItem for each object, then SyncEnds. A sync that broke off begins
  // again with SyncBegins; what it gave until then does not count.
  virtual void SyncBegins() = 0;
  virtual Status SyncItem(std::string_view json) = 0;
  virtual void SyncEnds(uint64_t version) = 0;
  // A change after the sync. False: it cannot follow what came before; the state is listed again.
  virtual Result<bool> Apply(WatchKind kind, std::string_view json) = 0;
  // The newest version of what was applied since the sync, or the sync's own.
  virtual uint64_t version() const = 0;
  // A person should know; `fatal` ones end the following (forbidden, no such API).
  virtual void Trouble(const Error& error, bool fatal) = 0;
};

struct ListWatchStats {
  uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0;
  uint64_t resumed = 0;  // watches that went on from where the last one ended
  uint64_t expired = 0;  // 410: listed again
  uint64_t broken = 0;   // connections and events that broke off
  uint64_t out_of_order = 0;
};

class ListWatch {
 public:
  ListWatch(Client& client, Followed followed, ListWatchSink& sink);
  ~ListWatch();
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;

  void Start();
  void Stop();
  // Where it stands: everything up to here was handed over. 0 before the first list.
  uint64_t version() const { return version_; }
  bool stopped() const { return state_ == State::kStopped; }
  // Since when (Client's monotonic clock) changes may have been missed: a watch broke off, and what
  // came meanwhile is not here yet. Empty otherwise, before the first list and when stopped.
  std::optional<Duration> lost_since() const { return lost_since_; }
  const ListWatchStats& stats() const { return stats_; }

 private:
  enum class State { kStopped, kListing, kStreaming, kWatching, kWaiting };
  void Relist();
  void ListPageFrom(std::string token);
  void OnPage(const Answer& answer);
  void OpenWatch(bool initial_events);
  void OnBytes(std::string_view bytes);
  bool OnLine(std::string_view line);
  void OnBookmark(std::string_view json);
  bool OnErrorEvent(std::string_view json);
  void OnWatchEnd(const Answer& answer);
  void Later(bool relist, Duration least = {});
  void Fatal(const Error& error);
  void ArmSilence();
  void NoteLoss();
  void Drop();

  Client& client_;
  const Followed followed_;
  ListWatchSink& sink_;
  State state_ = State::kStopped;
  bool stream_lists_;
  bool ended_by_us_ = false, relist_next_ = false;
  uint64_t version_ = 0;
  std::string version_text_;
  LineSplitter lines_;
  uint64_t call_ = 0, timer_ = 0, silence_timer_ = 0, settle_timer_ = 0;
  Duration last_byte_{};
  int failures_ = 0;
  std::optional<Duration> lost_since_;
  ListWatchStats stats_;
};

}  // namespace muster::kube
