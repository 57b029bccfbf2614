// What the engine costs beside the world it waits for: a step without fsync, a hundred runs side by
// side, a plan of a large fleet, and opening a journal of many records.
#include <benchmark/benchmark.h>

#include "engine/journal_log.h"
#include "engine/testing/sim_drive.h"
#include "world/testing/memory_files.h"

namespace muster::engine::testing {
namespace {

// Runs to their end, one after another in turns; items are calls of Advance.
void LeadRuns(benchmark::State& state) {
  const int many = static_cast<int>(state.range(0));
  size_t calls = 0;
  for (auto _ : state) {
    SimSite site(many * 10, 1);
    for (int n = 0; n < many; ++n) {
      const std::string node = site.cluster.cluster.nodes[static_cast<size_t>(n) * 10].name;
      site.cluster.At(node).fault.heals = Rung::kProcess;
      auto plan = SimPlan(site, SimBooks()[n % SimBooks().size()], {node});
      if (!plan.ok()) continue;
      site.runs.push_back(
          std::make_unique<SimRun>(site, "run-" + std::to_string(n), std::move(*plan)));
      site.runs.back()->Start();
      site.runs.back()->requests.waiting.push_back(
          {Requests::Request::Kind::kApprove, "*", "bench", site.runs.back()->plan.hash, ""});
    }
    bool open = true;
    for (int round = 0; open && round < 5000; ++round) {
      open = false;
      TimePoint wake = TimePoint::max();
      bool worked = false;
      for (const auto& run : site.runs) {
        if (run->closed()) continue;
        open = true;
        ++calls;
        const auto progress = run->engine->Advance(site.cluster.now);
        if (!progress.ok()) state.SkipWithError("the engine stopped");
        if (progress->kind == Progress::Kind::kWait) wake = std::min(wake, progress->until);
        worked = worked || progress->kind == Progress::Kind::kWorked;
      }
      if (!worked && wake != TimePoint::max()) site.cluster.now = wake;
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(calls));
}
BENCHMARK(LeadRuns)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);

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

void OpenAJournal(benchmark::State& state) {
  muster::testing::MemoryFiles files;
  {
    auto opened = journal::Writer::Open(files, "/j");
    Entry entry;
    entry.type = EntryType::kApproved;
    entry.step = "reboot";
    entry.by = "bench";
    const std::string payload = EncodeEntry(entry);
    for (int64_t n = 0; n < state.range(0); ++n)
      (void)opened->writer->Append(static_cast<uint32_t>(entry.type), payload);
    (void)opened->writer->Sync();
  }
  for (auto _ : state) {
    const auto opened = journal::Writer::Open(files, "/j");
    if (!opened.ok() || opened->recovered.records.size() != static_cast<size_t>(state.range(0)))
      state.SkipWithError("it did not open");
  }
}
BENCHMARK(OpenAJournal)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace muster::engine::testing
