// A small lab site for tests of the use cases: files, clock and network in memory, and gangs that
// answer from a script, so that a run of gates 1 to 5 starts nothing on this machine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/bringup.h"
#include "app/init.h"
#include "app/lab_cases.h"
#include "backend/endpoints.h"
#include "backend/jobs.h"
#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::testing {

// Starts a gang whole when every node has the GPUs it asks for, refuses it otherwise.
class FakeJobs final : public Jobs {
 public:
  explicit FakeJobs(int gpus_per_node) : gpus_per_node_(gpus_per_node) {}
  Result<GangResult> RunGang(const GangSpec& spec) override {
    ran.push_back(spec);
    if (spec.gpus_per_rank * spec.ranks_per_node > gpus_per_node_)
      return Fail(Code::kRefused, fmt::format("a node has {} GPUs", gpus_per_node_));
    GangResult result;
    result.all_started = true;
    for (const std::string& node : spec.nodes) {
      for (int i = 0; i < spec.ranks_per_node; ++i)
        result.ranks.push_back({static_cast<int>(result.ranks.size()), node, {}, {}});
    }
    return result;
  }
  Result<std::vector<std::string>> Leftovers(const std::string&) override { return left; }

  std::vector<GangSpec> ran;
  std::vector<std::string> left;

 private:
  int gpus_per_node_;
};

class NoEndpoints final : public Endpoints {
 public:
  Result<std::unique_ptr<ServedModel>> Open(const std::string&) override {
    return Fail(Code::kNotFound, "nothing is served");
  }
};

// The machine a test plays on.
struct TestMachine {
  FakeClock clock;
  MemoryFiles files{&clock};
  ScriptedProcesses processes;
  ScriptedHttp http;
  SeededRandom random{1};

  World world() { return {clock, files, processes, http, random}; }
  World world(Files& instead) { return {clock, instead, processes, http, random}; }
};

inline constexpr const char* kTestSite = "/site/site.yaml";
inline constexpr const char* kTestSpec = "nodes=2,gpus=2,numa=1,rails=2,leaves=2,spines=2,rate=400";

// A lab of two nodes with two GPUs each, as `muster lab create` makes it.
struct LabSite : TestMachine {
  LabSite() {
    World w = world();
    const Status made =
        InitLab(w, kTestSite, "rehearsal", ParseClusterSpec(kTestSpec).value(), 5, false);
    if (!made.ok()) problem = made.error().ToString();
  }
  std::string Text() { return files.Read(kTestSite).value(); }
  // Appends to the site file what a person would write there, for example acts or scopes: the
  // template's empty `key: []` or `key: {}` is replaced.
  void Set(const std::string& key, const std::string& yaml) {
    std::string text = Text();
    for (const char* empty : {": []", ": {}"}) {
      const size_t at = text.find("\n" + key + empty);
      if (at == std::string::npos) continue;
      text.replace(at + 1, key.size() + 4, key + ":\n" + yaml);
      files.Put(kTestSite, text);
      return;
    }
    problem = "the template has no empty " + key;
  }
  Result<SiteContext> Open() { return Open(files); }
  Result<SiteContext> Open(Files& through) {
    TRY(SiteContext context, OpenSite(kTestSite, world(through), {"", true}));
    context.jobs = std::make_unique<FakeJobs>(2);
    context.endpoints = std::make_unique<NoEndpoints>();
    return context;
  }
  Result<Run> RunGates(int from, int to, BringupOptions options = {}) {
    TRY(SiteContext context, Open());
    options.from = from;
    options.to = to;
    options.by = "tester@here";
    SilentProgress progress;
    return RunBringup(context, options, progress);
  }
  void Inject(const std::string& fault, const std::string& on = "") {
    World w = world();
    const auto put = LabInject(w, kTestSite, fault, on);
    if (!put.ok()) problem = put.error().ToString();
  }
  // Leaves an unfinished run of gates 1 to `to` behind: the process dies at the file call that the
  // run's third gate is in.
  void CutRun(int to) {
    for (int call = 1; call < 1000; ++call) {
      FaultPlan plan(FaultKind::kFail, call, true);
      FaultyFiles dying(files, plan);
      auto context = Open(dying);
      if (!context.ok()) continue;
      SilentProgress progress;
      BringupOptions options;
      options.to = to;
      options.by = "tester@here";
      const auto run = RunBringup(*context, options, progress);
      files.Crash();
      if (run.ok()) break;
      const auto names = ListRuns(files, paths());
      if (names.ok() && !names->empty()) {
        const auto stored = ReadLedger(files, paths().Ledger(names->back()));
        if (stored.ok() && stored->Find(2) != nullptr && stored->Find(2)->result) return;
        (void)files.Remove(paths().RunFolder(names->back()));
      }
    }
    problem = "no call leaves an unfinished run";
  }
  SitePaths paths() const { return PathsOf(kTestSite); }

  std::string problem;  // what went wrong while the stage was set
};

// What two runs must agree in: the level of every gate and of every verdict in it.
inline std::vector<std::string> LevelsOf(const Run& run) {
  std::vector<std::string> levels;
  for (const GateRecord& record : run.gates) {
    if (!record.result) {
      levels.push_back(fmt::format("gate {} not judged", record.gate));
      continue;
    }
    levels.push_back(fmt::format("gate {} {} {}", record.gate, ToString(record.result->level),
                                 record.result->blocked_by));
    for (const Verdict& v : record.result->verdicts)
      levels.push_back(fmt::format("{} {} {}", v.code, v.subject.ToString(), ToString(v.level)));
  }
  return levels;
}

inline std::string FailuresOf(const GateResult& result) {
  std::string text = result.blocked_by;
  for (const Verdict& v : result.verdicts) {
    if (v.level != Level::kPass)
      text +=
          fmt::format("{} {} {}: {}\n", ToString(v.level), v.code, v.subject.ToString(), v.text);
  }
  return text;
}

}  // namespace muster::testing
