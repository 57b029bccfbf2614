// Drives whole fleets through seeded weather: runs that start by the dozen, crash at any boundary
// and are resumed, people who approve, refuse, interfere; and checks after every step what must
// always hold.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "catalogue/embedded.h"
#include "engine/testing/own_books.h"
#include "engine/testing/sim_run.h"

namespace muster::engine::testing {

struct SimBook {
  std::string text;
  Runbook book;
};
// Every runbook of the catalogue: one that is added is led through all of this without new code.
// And two of a site's own.
inline const std::vector<SimBook>& SimBooks() {
  static const std::vector<SimBook> books = [] {
    std::vector<SimBook> made;
    for (const EmbeddedFile& file : EmbeddedCatalogue()) {
      if (!file.name.starts_with("runbooks/")) continue;
      auto book = ParseRunbook(file.text, file.name);
      if (book.ok()) made.push_back({std::string(file.text), std::move(*book)});
    }
    for (const char* own : {kOwnChange, kOwnSetting}) {
      auto book = ParseRunbook(own, "own.yaml");
      CHECK(book.ok(), "a runbook of a site's own is well-formed");
      made.push_back({own, std::move(*book)});
    }
    return made;
  }();
  return books;
}

inline Result<Plan> SimPlan(SimSite& site, const SimBook& book,
                            const std::vector<std::string>& nodes) {
  PlanRequest request;
  request.site = "sim";
  request.by = "sim";
  request.now = site.cluster.now;
  for (const Input& input : book.book.inputs) request.inputs[input.name] = "580." + input.name;
  for (const std::string& node : nodes)
    request.on.push_back(book.book.on == SubjectKind::kGpu ? GpuSubject(node, 0)
                                                           : NodeSubject(node));
  TRY(const Actuator::Fleet fleet, site.cluster.ReadFleet());
  std::map<std::string, std::vector<RunningJob>> jobs;
  std::map<std::string, std::string> identity;
  for (const auto& [name, node] : site.cluster.nodes()) {
    if (!node.jobs.empty()) jobs[name] = node.jobs;
    identity[NodeSubject(name).ToString()] = name;
    identity[GpuSubject(name, 0).ToString()] = "GPU-" + name;
  }
  const PlanFacts facts{site.cluster.cluster, fleet, jobs, identity, {}, Origin::kRehearsed};
  return MakePlan(book.book, book.text, request, facts, site.cluster);
}

struct SimResult {
  size_t steps = 0, worked = 0, runs = 0, crashes = 0, closed = 0, needed_person = 0, humans = 0;
  std::vector<std::string> broken;
};

class SimDriver {
 public:
  SimDriver(uint64_t seed, SimWeather weather, Sabotage sabotage)
      : site_(kNodes, seed * 2 + 1), random_(seed), sabotage_(sabotage) {
    site_.cluster.weather = weather;
  }

  SimResult Drive(size_t steps) {
    while (result_.steps < steps && site_.cluster.broken.empty() && result_.broken.empty()) {
      if (site_.runs.size() < kRuns && random_.Below(20) == 0) StartRun();
      if (random_.Below(400) == 0) Interfere();
      if (random_.Below(300) == 0) Partition();
      if (!AdvanceOne()) Tick();
    }
    CalmDown();
    result_.broken.insert(result_.broken.end(), site_.cluster.broken.begin(),
                          site_.cluster.broken.end());
    return result_;
  }

 private:
  static constexpr int kNodes = 24;
  static constexpr size_t kRuns = 8;

  void StartRun() {
    const SimBook& book = SimBooks()[random_.Below(SimBooks().size())];
    std::vector<std::string> nodes;
    const size_t many = 1 + random_.Below(3);
    for (size_t n = 0; n < many; ++n) {
      const Node& node = site_.cluster.cluster.nodes[random_.Below(kNodes)];
      if (std::find(nodes.begin(), nodes.end(), node.name) == nodes.end())
        nodes.push_back(node.name);
    }
    for (const std::string& name : nodes) {
      SimNode& node = site_.cluster.At(name);
      if (!node.fault.any() && random_.Below(4) != 0)
        node.fault.heals = static_cast<Rung>(1 + random_.Below(5));
      if (node.jobs.empty() && random_.Below(2) == 0)
        node.jobs.push_back(
            {"job-" + std::to_string(++jobs_), "ada", {name}, 2, site_.cluster.now, {}});
    }
    auto plan = SimPlan(site_, book, nodes);
    if (!plan.ok()) return;
    auto run =
        std::make_unique<SimRun>(site_, "run-" + std::to_string(++result_.runs), std::move(*plan));
    run->Start(sabotage_);
    site_.runs.push_back(std::move(run));
  }

  void Interfere() {
    SimNode& node = site_.cluster.At(site_.cluster.cluster.nodes[random_.Below(kNodes)].name);
    ++result_.humans;
    if (!node.hold.schedulable) {
      site_.cluster.HumanUncordons(node.name);
    } else {
      site_.cluster.HumanTakes(node.name);
    }
  }

  void Partition() {
    SimNode& node = site_.cluster.At(site_.cluster.cluster.nodes[random_.Below(kNodes)].name);
    node.partitioned = !node.partitioned;
  }

  // One thing by one run. False: all wait.
  bool AdvanceOne() {
    for (size_t tries = 0; tries < site_.runs.size(); ++tries) {
      SimRun& run = *site_.runs[random_.Below(site_.runs.size())];
      if (run.engine == nullptr) {
        Crashed(run);
        return true;
      }
      if (run.wake > site_.cluster.now) continue;
      Step(run);
      return true;
    }
    return false;
  }

  void Step(SimRun& run) {
    if (random_.Below(60) == 0) {
      run.log.crash_at = run.log.writes + 1;
      run.log.crash_how = random_.Below(2) == 0 ? LogCrash::kBefore : LogCrash::kAfter;
    }
    if (random_.Below(500) == 0) Ask(run, Requests::Request::Kind::kPause, "");
    const auto progress = run.engine->Advance(site_.cluster.now);
    if (!progress.ok() || random_.Below(60) == 0) {
      ++result_.crashes;
      run.Crash(random_.Below(4));
      run.wake = {};
    } else if (progress->kind == Progress::Kind::kWait) {
      run.wake = progress->until;
    } else if (progress->kind == Progress::Kind::kBlocked) {
      Person(run);
    } else if (progress->kind == Progress::Kind::kClosed) {
      Closed(run);
      return;
    }
    ++result_.steps;
    if (progress.ok() && progress->kind == Progress::Kind::kWorked) ++result_.worked;
    Check();
  }

  void Crashed(SimRun& run) {
    if (!run.Start(sabotage_)) {
      result_.broken.push_back("the journal does not hold together: " + run.trouble);
      return;
    }
    if (run.closed()) Closed(run);
  }

  void Ask(SimRun& run, Requests::Request::Kind kind, const std::string& step) {
    run.requests.waiting.push_back({kind, step, "person", run.plan.hash, "in the simulation"});
  }

  // Who is asked: says yes, no, or wants the way back.
  void Person(SimRun& run) {
    run.wake = site_.cluster.now + std::chrono::minutes(1 + random_.Below(60));
    Ask(run, Requests::Request::Kind::kContinue, "");
    if (random_.Below(12) == 0) {
      Ask(run, Requests::Request::Kind::kRollback, "");
      return;
    }
    for (const StepSpec& step : run.plan.runbook.steps) {
      if (step.approval || step.on_timeout == OnTimeout::kAsk)
        Ask(run, Requests::Request::Kind::kApprove, step.id);
    }
    if (run.plan.runbook.rollback.step.approval)
      Ask(run, Requests::Request::Kind::kApprove, run.plan.runbook.rollback.step.id);
  }

  // A closed run goes away; what it left isolated a person repairs and returns, and says so.
  void Closed(SimRun& run) {
    ++result_.closed;
    for (size_t i = 0; i < run.plan.targets.size(); ++i) {
      const TargetState& state = run.engine->state().targets[i];
      const std::string& node = run.plan.targets[i].node;
      if (state.held || state.locked || state.end == End::kInDoubt) ++result_.needed_person;
      SimNode& of = site_.cluster.At(node);
      if (of.hold.lease && of.hold.lease->run == run.name) {
        if (!state.held && state.end != End::kInDoubt && state.end != End::kTakenOver)
          result_.broken.push_back(
              fmt::format("{} is cordoned and forgotten: {} ended as \"{}\" ({})", node, run.name,
                          ToString(state.end), state.why));
        of.hold = Hold{};
        of.human = true;
        of.human_at = site_.cluster.now;
      }
      of.fault = {};
      site_.locks.table.Release(run.name, node);
    }
    std::erase_if(site_.runs, [&](const auto& r) { return r.get() == &run; });
  }

  void Tick() {
    TimePoint next = site_.cluster.now + std::chrono::minutes(30);
    for (const auto& run : site_.runs) {
      if (run->wake > site_.cluster.now) next = std::min(next, run->wake);
    }
    site_.cluster.now = next;
    site_.cluster.Land();
    if (site_.runs.empty()) StartRun();
    // People give back what they took.
    for (auto& [name, node] : site_.cluster.nodes()) {
      if (node.human && !node.hold.schedulable && random_.Below(50) == 0)
        site_.cluster.HumanUncordons(name);
      if (node.partitioned && random_.Below(50) == 0) node.partitioned = false;
    }
  }

  // What must hold at every moment.
  void Check() {
    std::map<std::string, int> of_run, of_rack;
    for (const auto& [name, node] : site_.cluster.nodes()) {
      if (node.hold.schedulable || node.human) continue;
      if (!node.hold.lease) {
        result_.broken.push_back(name + " is cordoned and nobody is named on it");
        continue;
      }
      ++of_run[node.hold.lease->run];
      ++of_rack[node.rack];
    }
    for (const auto& run : site_.runs) {
      const auto held = of_run.find(run->name);
      if (held != of_run.end() && held->second > run->plan.at_once)
        result_.broken.push_back(fmt::format("{} holds {} nodes, its plan allows {}", run->name,
                                             held->second, run->plan.at_once));
    }
    for (const auto& [rack, held] : of_rack) {
      int most = 1;
      for (const auto& run : site_.runs) most = std::max(most, run->plan.runbook.blast.per_rack);
      if (held > most)
        result_.broken.push_back(fmt::format("{} nodes of {} are isolated", held, rack));
    }
    if (of_run.size() > 0 && of_rack.size() > 0) {
      int held = 0, most = 1;
      for (const auto& [run, count] : of_run) held += count;
      for (const auto& run : site_.runs) most = std::max(most, run->plan.most_out_of_service);
      if (held > most)
        result_.broken.push_back(fmt::format("{} nodes are isolated, {} may be", held, most));
    }
  }

  // The weather clears: every run must come to an end, or to a person.
  void CalmDown() {
    if (!site_.cluster.broken.empty() || !result_.broken.empty()) return;
    site_.cluster.weather = {};
    for (auto& [name, node] : site_.cluster.nodes()) node.partitioned = false;
    size_t left = 200'000;
    while (!site_.runs.empty() && left-- > 0 && result_.broken.empty()) {
      SimRun& run = *site_.runs[random_.Below(site_.runs.size())];
      if (run.engine == nullptr) {
        Crashed(run);
        continue;
      }
      if (run.wake > site_.cluster.now) site_.cluster.now = run.wake;
      run.log.crash_at = 0;
      const auto progress = run.engine->Advance(site_.cluster.now);
      if (!progress.ok()) {
        run.Crash(0);
      } else if (progress->kind == Progress::Kind::kWait) {
        run.wake = progress->until;
      } else if (progress->kind == Progress::Kind::kBlocked) {
        Person(run);
      } else if (progress->kind == Progress::Kind::kClosed) {
        Closed(run);
      }
    }
    if (!site_.runs.empty() && result_.broken.empty())
      result_.broken.push_back("a run never ends: " + site_.runs.front()->name);
  }

  SimSite site_;
  SeededRandom random_;
  Sabotage sabotage_;
  SimResult result_;
  size_t jobs_ = 0;
};

inline SimWeather BadWeather() {
  SimWeather weather;
  weather.lost = 0.03;
  weather.answer_lost = 0.05;
  weather.late = 0.05;
  weather.lie = 0.02;
  weather.fails = 0.03;
  weather.unreadable = 0.02;
  weather.unknowable = 0.02;
  weather.look_unknown = 0.05;
  weather.bad_package = 0.2;
  return weather;
}

}  // namespace muster::engine::testing
