// A run in the simulation: its journal in memory, of which what is not durable is lost in a crash,
// its engine, which can be dropped and made anew from the journal, and what people ask of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/lock_table.h"
#include "engine/testing/sim_cluster.h"

namespace muster::engine::testing {

// When the next write to the journal breaks the engine.
enum class LogCrash { kNone, kBefore, kAfter };

class SimLog final : public Log {
 public:
  Status Write(const Entry& entry, Need need) override {
    ++writes;
    const LogCrash crash = crash_at == writes ? crash_how : LogCrash::kNone;
    if (crash == LogCrash::kBefore) return Fail(Code::kUnavailable, "the plug was pulled");
    entries.push_back(entry);
    if (need != Need::kLater) {
      durable = entries.size();
      ++syncs;
    }
    if (crash == LogCrash::kAfter) return Fail(Code::kUnavailable, "the plug was pulled");
    return {};
  }
  // What is left after the power went out; `more` of those that were never synced made it anyway.
  void Crash(size_t more) { entries.resize(std::min(entries.size(), durable + more)); }

  std::vector<Entry> entries;
  size_t durable = 0, writes = 0, syncs = 0;
  size_t crash_at = 0;  // the number of a write
  LogCrash crash_how = LogCrash::kNone;
};

class SimRequests final : public Requests {
 public:
  std::vector<Request> Take() override { return std::exchange(waiting, {}); }
  std::vector<Request> waiting;
};

struct SimSite;

// What other runs did, from their journals.
class SimHistory final : public History {
 public:
  SimHistory(SimSite& site, std::string asking) : site_(site), asking_(std::move(asking)) {}
  Result<int> Attempts(const Subject& on, Rung rung, TimePoint since) override;

 private:
  SimSite& site_;
  std::string asking_;
};

struct SimRun {
  SimRun(SimSite& to, std::string named, Plan made)
      : site(to), name(std::move(named)), plan(std::move(made)), history(to, name) {}
  // A new engine on what the journal holds. False: the journal does not hold together.
  bool Start(Sabotage sabotage = Sabotage::kNone);
  void Crash(size_t more) {
    engine.reset();
    log.Crash(more);
  }
  bool closed() const { return engine != nullptr && engine->state().closed; }

  SimSite& site;
  std::string name;
  Plan plan;
  SimLog log;
  SimRequests requests;
  SimHistory history;
  std::unique_ptr<Engine> engine;
  std::string trouble;
  TimePoint wake;
  EngineOptions options;
};

class SimLocks final : public Locks {
 public:
  explicit SimLocks(SimSite& site) : site_(site) {}
  Result<uint64_t> Take(const std::string& run, const std::string& node,
                        const std::vector<Want>& wants) override;
  Status Release(const std::string& run, const std::string& node) override {
    table.Release(run, node);
    return {};
  }
  LockTable table;

 private:
  SimSite& site_;
};

struct SimSite {
  SimSite(int nodes, uint64_t seed) : cluster(nodes, seed), locks(*this) {}
  SimCluster cluster;
  SimLocks locks;
  std::vector<std::unique_ptr<SimRun>> runs;
};

inline bool SimRun::Start(Sabotage sabotage) {
  RunState state;
  for (const Entry& entry : log.entries) {
    if (const Status applied = state.Apply(entry); !applied.ok()) {
      trouble = applied.error().ToString();
      return false;
    }
  }
  log.durable = log.entries.size();
  options.run = name;
  options.by = "sim";
  options.sabotage = sabotage;
  engine = std::make_unique<Engine>(
      plan, EnginePorts{log, site.cluster, site.cluster, site.locks, history, requests}, options,
      std::move(state));
  if (engine->state().closed) return true;
  const Status begun = engine->Begin(site.cluster.now);
  if (!begun.ok()) engine.reset();
  return true;
}

inline Result<uint64_t> SimLocks::Take(const std::string& run, const std::string& node,
                                       const std::vector<Want>& wants) {
  return table.Take(
      run, node, wants,
      [&](const std::string& other) {
        for (const auto& r : site_.runs) {
          if (r->name == other) return r->closed() ? Standing::kClosed : Standing::kLive;
        }
        return Standing::kUnknown;
      },
      [&](const std::string& of, const std::string& by) {
        const auto& lease = site_.cluster.At(of).hold.lease;
        return lease && lease->run == by;
      });
}

inline Result<int> SimHistory::Attempts(const Subject& on, Rung rung, TimePoint since) {
  int attempts = 0;
  for (const auto& run : site_.runs) {
    if (run->name == asking_) continue;
    for (const Entry& entry : run->log.entries) {
      if (entry.type == EntryType::kIntent && entry.rung == rung && entry.at >= since &&
          run->plan.targets[static_cast<size_t>(entry.target)].on == on)
        ++attempts;
    }
  }
  return attempts;
}

}  // namespace muster::engine::testing
