// What the engine costs beside the world it waits for: a step of one run and of a hundred side by
// side, over the real journal; a plan of a large fleet; opening a run's journal of many records.
#include <benchmark/benchmark.h>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/journal_log.h"
#include "engine/testing/sim_drive.h"
#include "world/posix/posix_files.h"
#include "world/testing/memory_files.h"

namespace muster::engine::testing {
namespace {

// A run as a process has it: its engine on its own journal.
struct BenchRun {
  Plan plan;
  std::unique_ptr<JournalLog> log;
  SimRequests requests;
  std::unique_ptr<Engine> engine;
};

// What one run did before is asked for rarely, and is not what is measured here.
class NoHistory final : public History {
 public:
  Result<int> Attempts(const Subject&, Rung, TimePoint) override { return 0; }
};

const SimBook& BookOf(size_t n) { return SimBooks()[n % SimBooks().size()]; }

std::vector<std::unique_ptr<BenchRun>> StartRuns(SimSite& site, Files& files, NoHistory& history,
                                                 size_t many, const std::string& folder) {
  std::vector<std::unique_ptr<BenchRun>> runs;
  for (size_t n = 0; n < many; ++n) {
    const std::string node = site.cluster.cluster.nodes[n].name;
    site.cluster.At(node).fault.heals = Rung::kGpu;
    auto run = std::make_unique<BenchRun>();
    run->plan = *SimPlan(site, BookOf(n), {node});
    const std::string name = "run-" + std::to_string(n);
    run->log = std::move(*JournalLog::Open(files, folder + "/" + name, "bench"));
    run->requests.waiting.push_back(
        {Requests::Request::Kind::kApprove, "*", "bench", run->plan.hash, ""});
    EngineOptions options;
    options.run = name;
    options.by = "bench";
    run->engine = std::make_unique<Engine>(
        run->plan,
        EnginePorts{*run->log, site.cluster, site.cluster, site.locks, history, run->requests},
        options);
    CHECK(run->engine->Begin(site.cluster.now).ok(), "a run begins");
    runs.push_back(std::move(run));
  }
  return runs;
}

struct Cost {
  size_t steps = 0, calls = 0, records = 0, syncs = 0, closed = 0;
};

// All in turns, to their ends or until each waits for a person.
Cost LeadAll(SimSite& site, std::vector<std::unique_ptr<BenchRun>>& runs) {
  Cost cost;
  bool open = true;
  for (int round = 0; open && round < 20'000; ++round) {
    open = false;
    TimePoint wake = TimePoint::max();
    bool worked = false;
    for (const auto& run : runs) {
      if (run->engine->state().closed) continue;
      ++cost.calls;
      const auto progress = run->engine->Advance(site.cluster.now);
      CHECK(progress.ok(), "the journal takes it");
      open = open || progress->kind != Progress::Kind::kBlocked;
      if (progress->kind == Progress::Kind::kWait) wake = std::min(wake, progress->until);
      worked = worked || progress->kind == Progress::Kind::kWorked;
    }
    if (!worked && wake != TimePoint::max()) site.cluster.now = wake;
  }
  for (const auto& run : runs) {
    cost.steps += run->engine->steps();
    cost.records += run->log->records();
    cost.syncs += run->log->syncs();
    cost.closed += run->engine->state().closed ? 1 : 0;
  }
  return cost;
}

void Print(benchmark::State& state, const Cost& cost) {
  const auto steps = static_cast<double>(std::max<size_t>(cost.steps, 1));
  state.counters["steps"] = static_cast<double>(cost.steps);
  state.counters["runs_closed"] = static_cast<double>(cost.closed);
  state.counters["records_per_step"] = static_cast<double>(cost.records) / steps;
  state.counters["fsyncs_per_step"] = static_cast<double>(cost.syncs) / steps;
  state.counters["s_per_step"] = benchmark::Counter(
      steps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Argument: runs side by side. A journal in memory: no fsync is in the figure. Making the cluster
// and the plans is left out.
void LeadRuns(benchmark::State& state) {
  const auto many = static_cast<size_t>(state.range(0));
  Cost cost;
  for (auto _ : state) {
    state.PauseTiming();
    {
      SimSite site(static_cast<int>(many) + 1, 1);
      NoHistory history;
      muster::testing::MemoryFiles files;
      auto runs = StartRuns(site, files, history, many, "/runs");
      state.ResumeTiming();
      cost = LeadAll(site, runs);
      state.PauseTiming();
    }
    state.ResumeTiming();
  }
  Print(state, cost);
}
BENCHMARK(LeadRuns)->Arg(1)->Arg(28)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// The same on the disk of the current folder, with a real fdatasync for each batch.
void LeadRunsOnDisk(benchmark::State& state) {
  const auto many = static_cast<size_t>(state.range(0));
  const std::string folder = "engine_bench.runs";
  PosixFiles files;
  Cost cost;
  for (auto _ : state) {
    state.PauseTiming();
    CHECK(files.MakeFolders(folder).ok(), "a folder is made");
    {
      SimSite site(static_cast<int>(many) + 1, 1);
      NoHistory history;
      auto runs = StartRuns(site, files, history, many, folder);
      state.ResumeTiming();
      cost = LeadAll(site, runs);
      state.PauseTiming();
    }
    for (size_t n = 0; n < many; ++n) {
      for (const char* end : {"", ".lock", ".reserve"})
        (void)files.Remove(folder + "/run-" + std::to_string(n) + end);
    }
    state.ResumeTiming();
  }
  Print(state, cost);
}
BENCHMARK(LeadRunsOnDisk)->Arg(100)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

// The core alone; `bench/run.sh` plans with the binary, the site file and the reading of the fleet.
void PlanAFleet(benchmark::State& state) {
  SimSite site(static_cast<int>(state.range(0)), 1);
  std::vector<std::string> nodes;
  for (const Node& node : site.cluster.cluster.nodes) nodes.push_back(node.name);
  size_t bytes = 0;
  for (auto _ : state) {
    const auto plan = SimPlan(site, SimBooks()[0], nodes);
    if (!plan.ok()) state.SkipWithError("no plan");
    bytes = WritePlan(*plan).size();
  }
  state.counters["plan_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(PlanAFleet)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

// The records of whole runs, over and over under one opening: of every kind that a run without
// people has, with the lengths that they have.
std::string LongJournal(size_t records) {
  SimSite site(40, 1);
  NoHistory history;
  muster::testing::MemoryFiles files;
  auto runs = StartRuns(site, files, history, 28, "/runs");
  (void)LeadAll(site, runs);
  auto log = std::move(*JournalLog::Open(files, "/j", "bench"));
  std::vector<Entry> middle;
  size_t written = 0;
  const auto write = [&](const Entry& entry) {
    CHECK(log->Write(entry, ++written % 10'000 == 0 ? Log::Need::kDurable : Log::Need::kLater).ok(),
          "a record is appended");
  };
  for (size_t n = 0; n < runs.size(); ++n) {
    const auto stored = ReadRun(files, "/runs/run-" + std::to_string(n));
    for (const Entry& entry : stored->entries) {
      if (entry.type == EntryType::kOpen && n == 0) write(entry);
      const bool once = entry.type == EntryType::kOpen || entry.type == EntryType::kClosed ||
                        entry.type == EntryType::kEnded || entry.type == EntryType::kUnlocked;
      if (!once) middle.push_back(entry);
    }
  }
  while (written < records) {
    for (size_t i = 0; i < middle.size() && written < records; ++i) write(middle[i]);
  }
  Entry last;
  last.type = EntryType::kPaused;
  CHECK(log->Write(last, Log::Need::kDurable).ok(), "the rest is written");
  return *files.Read("/j");
}

// Read, checked, decoded and applied, as `runbook status` and a resumed engine do.
void OpenAJournal(benchmark::State& state) {
  muster::testing::MemoryFiles files;
  files.Put("/j", LongJournal(static_cast<size_t>(state.range(0))));
  size_t entries = 0;
  for (auto _ : state) {
    const auto stored = ReadRun(files, "/j");
    if (!stored.ok()) {
      state.SkipWithError(stored.error().ToString().c_str());
      break;
    }
    entries = stored->entries.size();
  }
  state.counters["records"] = static_cast<double>(entries);
  state.counters["bytes"] = static_cast<double>(files.Read("/j")->size());
}
BENCHMARK(OpenAJournal)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace muster::engine::testing
