// What we know of one collection, and every difference as it becomes known: added, updated,
// deleted, each once and in order, whatever the connection goes through. After a gap the new list
// is held against what was known, so a deletion that nobody told us of is still reported.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/list_watch.h"

namespace muster::kube {

enum class ChangeKind { kAdded, kUpdated, kDeleted };

// Borrowed for the length of the call. kAdded: no before; kDeleted: no after, and `before` is the
// last state that we saw.
template <typename T>
struct Change {
  ChangeKind kind;
  const T* before = nullptr;
  const T* after = nullptr;
};

// The rule of versions, apart from any connection. T is decoded by `decode` (kube/core.h).
template <typename T>
class KnownObjects {
 public:
  struct Entry {
    std::string uid;
    uint64_t version = 0;
    T value;
  };
  using Decode = Result<T> (*)(std::string_view);
  using OnChange = std::function<void(const Change<T>&)>;

  KnownObjects(Decode decode, OnChange on_change)
      : decode_(decode), on_change_(std::move(on_change)) {}

  void SyncBegins() { incoming_.clear(); }

  Status SyncItem(std::string_view json) {
    TRY(T value, decode_(json));
    std::string key = value.meta.Key();
    const uint64_t version = VersionNumber(value.meta.resource_version);
    Entry& entry = incoming_[std::move(key)];
    if (entry.version > version) return {};  // a change that slipped into the list came first
    entry = Entry{value.meta.uid, version, std::move(value)};
    return {};
  }

  // The list is the truth, also when it is older than what we knew (etcd restored from a backup).
  // Deletions come first: what is added may need the room.
  void SyncEnds(uint64_t version) {
    std::unordered_map<std::string, Entry> before = std::move(known_);
    known_ = std::move(incoming_);
    incoming_.clear();
    version_ = version;
    for (const auto& [key, old] : before) {
      const auto now = known_.find(key);
      if (now == known_.end() || now->second.uid != old.uid) Tell(&old.value, nullptr);
    }
    for (const auto& [key, entry] : known_) {
      const auto old = before.find(key);
      const bool same = old != before.end() && old->second.uid == entry.uid;
      if (!same) {
        Tell(nullptr, &entry.value);
      } else if (old->second.version != entry.version) {
        Tell(&old->second.value, &entry.value);
      }
    }
    synced_ = true;
  }

  // False when the order is broken: something older than what we have seen, about an object that we
  // cannot place. Then only a list can tell.
  Result<bool> Apply(WatchKind kind, std::string_view json) {
    TRY(T value, decode_(json));
    std::string key = value.meta.Key();
    const uint64_t version = VersionNumber(value.meta.resource_version);
    const auto found = known_.find(key);
    if (version <= version_) {
      const bool had_it =
          found != known_.end() && found->second.version >= version && kind != WatchKind::kDeleted;
      const bool last_again = version == version_ && key == last_key_;
      return had_it || last_again;
    }
    version_ = version;
    last_key_ = key;
    if (kind == WatchKind::kDeleted) {
      if (found == known_.end()) return true;
      const Entry old = std::move(found->second);
      known_.erase(found);
      Tell(&old.value, nullptr);
      return true;
    }
    Entry entry{value.meta.uid, version, std::move(value)};
    if (found == known_.end()) {
      Tell(nullptr, &known_.emplace(std::move(key), std::move(entry)).first->second.value);
      return true;
    }
    std::swap(found->second, entry);
    const Entry& now = found->second;
    if (entry.uid == now.uid) {
      Tell(&entry.value, &now.value);
    } else {  // a namesake: the old one went while we were not told
      Tell(&entry.value, nullptr);
      Tell(nullptr, &now.value);
    }
    return true;
  }

  const std::unordered_map<std::string, Entry>& all() const { return known_; }
  const T* Find(const std::string& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second.value;
  }
  bool synced() const { return synced_; }
  uint64_t version() const { return version_; }

 private:
  void Tell(const T* before, const T* after) {
    if (!on_change_) return;
    on_change_({before == nullptr  ? ChangeKind::kAdded
                : after == nullptr ? ChangeKind::kDeleted
                                   : ChangeKind::kUpdated,
                before, after});
  }

  Decode decode_;
  OnChange on_change_;
  std::unordered_map<std::string, Entry> known_, incoming_;
  uint64_t version_ = 0;
  std::string last_key_;
  bool synced_ = false;
};

// KnownObjects behind a ListWatch. `on_change` is called from Client::Poll and may start calls; it
// must not destroy the reflector. The changes of a sync come in no order but deletions first.
template <typename T>
class Reflector final : private ListWatchSink {
 public:
  using OnTrouble = std::function<void(const Error&, bool fatal)>;
  Reflector(Client& client, Followed followed, typename KnownObjects<T>::Decode decode,
            typename KnownObjects<T>::OnChange on_change, OnTrouble on_trouble = {})
      : known_(decode, std::move(on_change)),
        on_trouble_(std::move(on_trouble)),
        list_watch_(client, std::move(followed), *this) {}

  void Start() { list_watch_.Start(); }
  void Stop() { list_watch_.Stop(); }
  // A whole state was handed over at least once.
  bool synced() const { return known_.synced(); }
  // It gave up; the last trouble was fatal.
  bool stopped() const { return list_watch_.stopped(); }
  // Since when changes may have been missed (kube/list_watch.h).
  std::optional<Duration> lost_since() const { return list_watch_.lost_since(); }
  const KnownObjects<T>& known() const { return known_; }
  const ListWatchStats& stats() const { return list_watch_.stats(); }
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  void SyncBegins() override { known_.SyncBegins(); }
  Status SyncItem(std::string_view json) override { return known_.SyncItem(json); }
  void SyncEnds(uint64_t version) override {
    trouble_.reset();
    known_.SyncEnds(version);
  }
  Result<bool> Apply(WatchKind kind, std::string_view json) override {
    return known_.Apply(kind, json);
  }
  uint64_t version() const override { return known_.version(); }
  void Trouble(const Error& error, bool fatal) override {
    trouble_ = error;
    if (on_trouble_) on_trouble_(error, fatal);
  }

  KnownObjects<T> known_;
  std::optional<Error> trouble_;
  OnTrouble on_trouble_;
  ListWatch list_watch_;
};

}  // namespace muster::kube
