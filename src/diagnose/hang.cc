#include "diagnose/hang.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/median.h"

namespace muster::diagnose {

namespace {

std::string Names(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() == 16) {
      names.push_back("...");
      break;
    }
    names.push_back(std::to_string(rank));
  }
  return Join(names, ",");
}

void Say(FactStore& facts, std::string id, Attributes attrs, const Place& at, std::string text) {
  facts.Add({std::move(id), std::move(attrs), at, std::move(text)});
}

// Where nobody says how many ranks there are: from rank 0 on, or a host's worth of them in a row.
template <typename T>
bool LooksWhole(const std::map<int, T>& by_rank) {
  constexpr int kHost = 4;
  const int first = by_rank.begin()->first, last = by_rank.rbegin()->first;
  const int ranks = static_cast<int>(by_rank.size());
  return last - first + 1 == ranks && (first == 0 || ranks >= kHost);
}

}  // namespace

void HangTable::AddDump(RankDump dump) {
  if (dump.rank < 0) {
    // A dump does not name its rank; files are given in the order of ranks, as the recorder names
    // them.
    dump.rank = 0;
    while (dumps_.contains(dump.rank)) ++dump.rank;
  }
  const int rank = dump.rank;
  dumps_[rank] = std::move(dump);
}

void HangTable::AddTimeout(int rank, std::string_view group, int64_t sequence, std::string_view op,
                           std::string_view numel, const Fact& line) {
  auto& slot = timeouts_[std::string(group)];
  if (slot.size() > 65536) return;
  slot.try_emplace(rank,
                   Timeout{sequence, std::string(op), std::string(numel), line.at, line.text});
}

void HangTable::AddProgress(int rank, std::string_view group, int64_t enqueued, int64_t completed,
                            const Fact& line) {
  auto& slot = progress_[std::string(group)];
  if (slot.size() > 65536) return;
  slot.try_emplace(rank, Progress{enqueued, completed, line.at, line.text});
}

void HangTable::AddFacts(FactStore& facts, std::optional<int> world) const {
  if (dumps_.size() >= 2) {
    FromDumps(facts);
    SlowRank(facts);
  } else if (dumps_.size() == 1) {
    const auto& [rank, dump] = *dumps_.begin();
    for (const Recorded& e : dump.entries) {
      if (e.state == "completed" || e.completed_ns > 0) continue;
      Say(facts, "hang.one_dump",
          {{"rank", std::to_string(rank)}, {"op", e.op}, {"sequence", std::to_string(e.sequence)}},
          dump.at,
          fmt::format("the only dump: rank {} waits in {} number {}", rank, e.op, e.sequence));
      break;
    }
  }
  FromWatchdogs(facts, world);
}

void HangTable::FromDumps(FactStore& facts) const {
  std::map<std::string, std::set<int>> members;
  for (const auto& [rank, dump] : dumps_) {
    for (const Recorded& e : dump.entries) members[e.group].insert(rank);
    for (const auto& [group, ranks] : dump.members)
      for (const int r : ranks)
        if (members.contains(group)) members[group].insert(r);
  }
  for (const auto& [group, ranks] : members) {
    // Last sequence number each rank entered.
    std::map<int, const Recorded*> last;
    std::map<int64_t, std::map<int, const Recorded*>> by_sequence;
    for (const auto& [rank, dump] : dumps_)
      for (const Recorded& e : dump.entries)
        if (e.group == group) {
          last[rank] = last.contains(rank) && last[rank]->sequence > e.sequence ? last[rank] : &e;
          by_sequence[e.sequence][rank] = &e;
        }
    if (last.size() < 2) continue;
    // The first sequence number at which what the ranks do differs.
    for (const auto& [sequence, entries] : by_sequence) {
      std::map<std::string, std::vector<int>> kinds;
      for (const auto& [rank, e] : entries) kinds[e->op + " " + e->sizes].push_back(rank);
      if (kinds.size() < 2) continue;
      auto odd = std::min_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      const Recorded* e = entries.at(odd->second.front());
      const bool one_to_one =
          e->op.find("send") != std::string::npos || e->op.find("recv") != std::string::npos ||
          e->op.find("gather") != std::string::npos || e->op.find("scatter") != std::string::npos;
      if (one_to_one && kinds.size() == entries.size()) continue;
      Say(facts, "hang.mismatch",
          {{"rank", Names(odd->second)},
           {"op", e->op},
           {"sequence", std::to_string(sequence)},
           {"group", group}},
          dumps_.at(odd->second.front()).at,
          fmt::format(
              "number {} of group {}: rank {} does {} {}, others do {}", sequence, group,
              Names(odd->second), e->op, e->sizes,
              kinds.begin() == odd ? std::next(kinds.begin())->first : kinds.begin()->first));
      return;
    }
    int64_t most = 0, least = INT64_MAX;
    for (const auto& [rank, e] : last) {
      most = std::max(most, e->sequence);
      least = std::min(least, e->sequence);
    }
    if (least < most) {
      std::vector<int> behind;
      for (const auto& [rank, e] : last)
        if (e->sequence == least) behind.push_back(rank);
      const Recorded* missed = nullptr;
      for (const auto& [rank, e] : by_sequence[least + 1]) missed = e;
      if (missed == nullptr) continue;
      Say(facts, "hang.behind",
          {{"rank", Names(behind)},
           {"op", missed->op},
           {"sequence", std::to_string(least + 1)},
           {"group", group}},
          dumps_.at(behind.front()).at,
          fmt::format("rank {} never entered {} number {} of group {}; others are at {}",
                      Names(behind), missed->op, least + 1, group, most));
      continue;
    }
    std::vector<int> waiting, done;
    for (const auto& [rank, e] : last)
      (e->state == "completed" || e->completed_ns > 0 ? done : waiting).push_back(rank);
    std::vector<int> absent;
    for (const int rank : ranks)
      if (!dumps_.contains(rank)) absent.push_back(rank);
    if (!waiting.empty() && !absent.empty())
      Say(facts, "hang.silent",
          {{"rank", Names(absent)},
           {"op", last.begin()->second->op},
           {"sequence", std::to_string(most)},
           {"group", group}},
          dumps_.begin()->second.at,
          fmt::format("no dump of rank {}; all others wait in {} number {}", Names(absent),
                      last.begin()->second->op, most));
    else if (!waiting.empty() && done.empty())
      Say(facts, "hang.all_entered",
          {{"op", last.begin()->second->op}, {"sequence", std::to_string(most)}, {"group", group}},
          dumps_.begin()->second.at,
          fmt::format("every rank entered {} number {} of group {} and none left it",
                      last.begin()->second->op, most, group));
    else if (waiting.empty())
      Say(facts, "hang.none", {{"group", group}}, dumps_.begin()->second.at,
          fmt::format("every recorded collective of group {} completed", group));
  }
}

// The rank that is the last to enter, collective after collective, holds the others up.
void HangTable::SlowRank(FactStore& facts) const {
  std::map<std::pair<std::string, int64_t>, std::map<int, int64_t>> created;
  for (const auto& [rank, dump] : dumps_)
    for (const Recorded& e : dump.entries)
      if (e.created_ns > 0) created[{e.group, e.sequence}][rank] = e.created_ns;
  std::map<int, std::vector<double>> lag_ms;
  size_t complete = 0;
  for (const auto& [key, by_rank] : created) {
    if (by_rank.size() != dumps_.size()) continue;
    ++complete;
    std::vector<double> times;
    for (const auto& [rank, ns] : by_rank) times.push_back(static_cast<double>(ns) / 1e6);
    const double middle = Median(times);
    for (const auto& [rank, ns] : by_rank)
      lag_ms[rank].push_back(static_cast<double>(ns) / 1e6 - middle);
  }
  if (complete < 5 || dumps_.size() < 3) return;
  int slow = -1;
  double worst = 0, second = 0;
  for (const auto& [rank, lags] : lag_ms) {
    const double lag = Median(lags);
    if (lag > worst) {
      second = worst;
      worst = lag;
      slow = rank;
    } else {
      second = std::max(second, lag);
    }
  }
  // Ten milliseconds, and four times the next: less is the clocks of the hosts.
  if (slow < 0 || worst < 10 || worst < 4 * std::max(second, 1.0)) return;
  Say(facts, "hang.slow_rank",
      {{"rank", std::to_string(slow)}, {"lag_ms", fmt::format("{:.0f}", worst)}},
      dumps_.at(slow).at,
      fmt::format("rank {} enters collectives {:.0f} ms after the others (median of {})", slow,
                  worst, complete));
}

// A rank's time-out is of the oldest collective that it could not finish: it has entered that one,
// and whoever is further has left it. Where the two differ in kind, the lines may be of two process
// groups, whose numbers do not compare.
void HangTable::Apart(FactStore& facts, const std::map<int, Timeout>& by_rank, int64_t least,
                      int64_t most) {
  std::vector<int> behind, ahead;
  for (const auto& [rank, t] : by_rank) {
    if (t.sequence == least) behind.push_back(rank);
    if (t.sequence == most) ahead.push_back(rank);
  }
  const Timeout& last = by_rank.at(behind.front());
  const Timeout& first = by_rank.at(ahead.front());
  const std::string number = std::to_string(least);
  if (last.op == first.op)
    return Say(facts, "hang.behind",
               {{"rank", Names(behind)}, {"stuck_op", last.op}, {"stuck_sequence", number}},
               last.at, last.text);
  Say(facts, "hang.apart",
      {{"rank", Names(behind)},
       {"op", last.op},
       {"sequence", number},
       {"ahead", Names(ahead)},
       {"ahead_op", first.op},
       {"ahead_sequence", std::to_string(most)}},
      last.at, last.text);
}

void HangTable::FromWatchdogs(FactStore& facts, std::optional<int> world) const {
  for (const auto& [group, by_rank] : timeouts_) {
    // Differing collectives at one sequence number.
    std::map<int64_t, std::map<std::string, std::vector<int>>> kinds;
    int64_t least = INT64_MAX, most = -1;
    for (const auto& [rank, t] : by_rank) {
      kinds[t.sequence][t.op + " " + t.numel].push_back(rank);
      least = std::min(least, t.sequence);
      most = std::max(most, t.sequence);
    }
    const auto& first = *by_rank.begin();
    bool said = false;
    for (const auto& [sequence, ops] : kinds) {
      if (ops.size() < 2 || sequence < 0) continue;
      const auto odd = std::min_element(ops.begin(), ops.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      const Timeout& t = by_rank.at(odd->second.front());
      Say(facts, "hang.mismatch",
          {{"rank", Names(odd->second)}, {"op", t.op}, {"sequence", std::to_string(sequence)}},
          t.at, t.text);
      said = true;
      break;
    }
    if (said) continue;
    if (least >= 0 && least < most) {
      Apart(facts, by_rank, least, most);
      continue;
    }
    const auto progress = progress_.find(group);
    if (progress != progress_.end() && progress->second.size() > 1) {
      int64_t low = INT64_MAX, high = -1;
      for (const auto& [rank, p] : progress->second) {
        low = std::min(low, p.enqueued);
        high = std::max(high, p.enqueued);
      }
      if (low < high) {
        std::vector<int> behind;
        for (const auto& [rank, p] : progress->second)
          if (p.enqueued == low) behind.push_back(rank);
        const Progress& p = progress->second.at(behind.front());
        Say(facts, "hang.behind",
            {{"rank", Names(behind)},
             {"op", first.second.op},
             {"sequence", std::to_string(low + 1)}},
            p.at, p.text);
        continue;
      }
    }
    std::vector<int> silent;
    if (world && by_rank.size() >= 2)
      for (int r = 0; r < *world && silent.size() < 1024; ++r)
        if (!by_rank.contains(r)) silent.push_back(r);
    if (!silent.empty() && silent.size() < by_rank.size()) {
      Say(facts, "hang.silent",
          {{"rank", Names(silent)},
           {"op", first.second.op},
           {"sequence", std::to_string(first.second.sequence)}},
          first.second.at,
          fmt::format("no watchdog line of rank {}; {} other ranks timed out in {} number {}",
                      Names(silent), by_rank.size(), first.second.op, first.second.sequence));
    } else if (by_rank.size() >= 2 && (world ? silent.empty() : LooksWhole(by_rank))) {
      Say(facts, "hang.all_entered",
          {{"op", first.second.op},
           {"sequence", std::to_string(first.second.sequence)},
           {"ranks", std::to_string(by_rank.size())}},
          first.second.at, first.second.text);
    } else if (by_rank.size() >= 2) {
      std::vector<int> waiting;
      for (const auto& [rank, t] : by_rank) waiting.push_back(rank);
      Say(facts, "hang.some_wait",
          {{"rank", Names(waiting)},
           {"op", first.second.op},
           {"sequence", std::to_string(first.second.sequence)}},
          first.second.at, first.second.text);
    }
  }
}

}  // namespace muster::diagnose
