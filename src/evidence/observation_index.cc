#include <algorithm>
#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "evidence/verdict.h"

namespace muster {

namespace {

// Places that speak for more than themselves; backend/hosts.h names the three hosts.
bool SpeaksForAll(const Subject& subject) {
  if (subject.kind == SubjectKind::kSite || subject.kind == SubjectKind::kFabric) return true;
  return subject.kind == SubjectKind::kNode &&
         (subject.id == "fabric" || subject.id == "monitor" || subject.id == "facility");
}

// A total order, also where a figure is not a number.
struct ValueLess {
  bool operator()(const Value& a, const Value& b) const {
    if (a.index() != b.index()) return a.index() < b.index();
    const auto* x = std::get_if<double>(&a);
    return x ? std::strong_order(*x, std::get<double>(b)) < 0 : a < b;
  }
};

}  // namespace

struct ObservationIndex::Impl {
  // Borrows its texts from the observations.
  struct Key {
    uint32_t fact = 0;
    SubjectKind kind = SubjectKind::kSite;
    std::string_view id;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}(key.id) ^
             ((key.fact * size_t{31} + static_cast<size_t>(key.kind)) * size_t{0x9E3779B97F4A7C15});
    }
  };

  struct Slice {
    uint32_t first = 0, count = 0;
  };

  std::span<const Observation> all;
  std::unordered_map<std::string_view, uint32_t> fact_ids;
  std::vector<std::vector<size_t>> of_fact;          // seen, by fact
  std::vector<std::vector<size_t>> missing_for_all;  // unobserved by a place that speaks for all
  std::unordered_map<Key, Slice, KeyHash> seen;
  std::vector<size_t> seen_order;  // grouped by key, oldest first
  std::unordered_map<Key, std::vector<size_t>, KeyHash> missing;

  mutable std::mutex census_mutex;
  mutable std::map<std::tuple<SubjectKind, std::string, std::vector<std::string>>, Census> censuses;

  explicit Impl(std::span<const Observation> observations) : all(observations) { Build(); }

  void Build() {
    std::vector<Slice*> slice_of(all.size(), nullptr);
    for (size_t i = 0; i < all.size(); ++i) {
      const Observation& seen_one = all[i];
      const uint32_t fact = Intern(seen_one.fact);
      const Key key{fact, seen_one.subject.kind, seen_one.subject.id};
      if (seen_one.value() == nullptr) {
        missing[key].push_back(i);
        if (SpeaksForAll(seen_one.subject)) missing_for_all[fact].push_back(i);
        continue;
      }
      of_fact[fact].push_back(i);
      slice_of[i] = &seen[key];  // element addresses are stable under rehashing
      ++slice_of[i]->count;
    }
    uint32_t next = 0;
    for (auto& [key, slice] : seen) {
      slice.first = next;
      next += slice.count;
      slice.count = 0;
    }
    seen_order.resize(next);
    for (size_t i = 0; i < all.size(); ++i) {
      if (Slice* slice = slice_of[i]) seen_order[slice->first + slice->count++] = i;
    }
    // By time, then by value, so that the order in which they came in does not matter.
    const auto older = [this](size_t a, size_t b) {
      if (all[a].observed_at != all[b].observed_at) return all[a].observed_at < all[b].observed_at;
      return ValueLess{}(*all[a].value(), *all[b].value());
    };
    for (const auto& [key, slice] : seen) {
      if (slice.count > 1) {
        const auto begin = seen_order.begin() + slice.first;
        std::stable_sort(begin, begin + slice.count, older);
      }
    }
  }

  uint32_t Intern(std::string_view fact) {
    const auto [it, added] = fact_ids.try_emplace(fact, static_cast<uint32_t>(fact_ids.size()));
    if (added) {
      of_fact.emplace_back();
      missing_for_all.emplace_back();
    }
    return it->second;
  }

  std::optional<uint32_t> FactId(std::string_view fact) const {
    const auto it = fact_ids.find(fact);
    if (it == fact_ids.end()) return std::nullopt;
    return it->second;
  }

  std::span<const size_t> Missing(const Key& key) const {
    const auto it = missing.find(key);
    if (it == missing.end()) return {};
    return it->second;
  }

  std::optional<size_t> Newest(std::span<const size_t> of) const {
    if (of.empty()) return std::nullopt;
    return *std::max_element(of.begin(), of.end(), [this](size_t a, size_t b) {
      const auto rank = [this](size_t i) {
        const Unobserved& why = *all[i].unobserved();
        return std::tie(all[i].observed_at, why.reason, why.detail);
      };
      return rank(a) < rank(b);
    });
  }
};

ObservationIndex::ObservationIndex(std::span<const Observation> observations)
    : impl_(std::make_shared<const Impl>(observations)) {}

const Observation& ObservationIndex::at(size_t i) const { return impl_->all[i]; }

std::span<const size_t> ObservationIndex::Find(const Subject& subject,
                                               std::string_view fact) const {
  const auto id = impl_->FactId(fact);
  if (!id) return {};
  const auto it = impl_->seen.find(Impl::Key{*id, subject.kind, subject.id});
  if (it == impl_->seen.end()) return {};
  return std::span(impl_->seen_order).subspan(it->second.first, it->second.count);
}

std::optional<size_t> ObservationIndex::WhyNot(const Subject& subject,
                                               std::string_view fact) const {
  const auto id = impl_->FactId(fact);
  if (!id) return std::nullopt;
  if (auto own = impl_->Newest(impl_->Missing({*id, subject.kind, subject.id}))) return own;
  if (auto host = impl_->Newest(impl_->Missing({*id, SubjectKind::kNode, subject.Host()})))
    return host;
  return impl_->Newest(impl_->missing_for_all[*id]);
}

std::optional<size_t> ObservationIndex::TakenBack(const Subject& subject, std::string_view fact,
                                                  TimePoint seen_at) const {
  const auto id = impl_->FactId(fact);
  if (!id || (impl_->missing.empty())) return std::nullopt;
  if (auto own = impl_->Newest(impl_->Missing({*id, subject.kind, subject.id}));
      own && at(*own).observed_at >= seen_at) {
    return own;
  }
  const auto hard = [&](std::span<const size_t> of) -> std::optional<size_t> {
    std::vector<size_t> telling;
    for (const size_t i : of) {
      if (at(i).observed_at > seen_at && at(i).unobserved()->reason != UnknownReason::kNotObserved)
        telling.push_back(i);
    }
    return impl_->Newest(telling);
  };
  if (auto host = hard(impl_->Missing({*id, SubjectKind::kNode, subject.Host()}))) return host;
  return hard(impl_->missing_for_all[*id]);
}

std::span<const size_t> ObservationIndex::OfFact(std::string_view fact) const {
  const auto id = impl_->FactId(fact);
  if (!id) return {};
  return impl_->of_fact[*id];
}

std::vector<Subject> ObservationIndex::SubjectsWith(SubjectKind kind, std::string_view fact) const {
  std::vector<Subject> subjects;
  const auto id = impl_->FactId(fact);
  if (!id) return subjects;
  for (const size_t i : impl_->of_fact[*id]) {
    if (at(i).subject.kind == kind) subjects.push_back(at(i).subject);
  }
  for (const auto& [key, list] : impl_->missing) {
    if (key.fact == *id && key.kind == kind) subjects.push_back(at(list.front()).subject);
  }
  std::sort(subjects.begin(), subjects.end());
  subjects.erase(std::unique(subjects.begin(), subjects.end()), subjects.end());
  return subjects;
}

const ObservationIndex::Census& ObservationIndex::CensusOf(
    SubjectKind kind, std::string_view fact, std::span<const std::string> leave_out) const {
  const std::lock_guard lock(impl_->census_mutex);
  const auto [it, added] = impl_->censuses.try_emplace(
      {kind, std::string(fact), std::vector<std::string>(leave_out.begin(), leave_out.end())});
  Census& census = it->second;
  if (!added) return census;

  // Newest value of each subject, then how many subjects have each value.
  std::unordered_map<std::string_view, size_t> newest;
  for (const size_t i : OfFact(fact)) {
    if (at(i).subject.kind != kind) continue;
    const std::span<const size_t> own = Find(at(i).subject, fact);
    newest.try_emplace(at(i).subject.id, own.back());
  }
  std::map<Value, std::pair<size_t, size_t>, ValueLess>
      counts;  // value -> how many, one that has it
  for (const auto& [id, i] : newest) {
    const Value& value = *at(i).value();
    const auto* text = std::get_if<std::string>(&value);
    if (text && std::find(leave_out.begin(), leave_out.end(), *text) != leave_out.end()) continue;
    auto& [count, example] = counts.try_emplace(value, 0, i).first->second;
    ++count;
    example = std::min(example, i);
    ++census.subjects;
  }
  census.distinct = counts.size();
  size_t best = 0;
  for (const auto& [value, entry] : counts) {
    if (entry.first > best) {
      best = entry.first;
      census.usual = entry.second;
    } else if (entry.first == best) {
      census.usual.reset();
    }
  }
  return census;
}

}  // namespace muster
