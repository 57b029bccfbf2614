// Leads one runbook through a scripted case in the simulation, to its end, and says how it ended.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/testing/sim_drive.h"

namespace muster::engine::testing {

struct Led {
  bool closed = false;
  bool refused = false;  // the journal could not be read again
  std::vector<End> ends;
  std::vector<bool> schedulable;      // of each target's node, at the end
  std::map<std::string, int> landed;  // destructive effects by token
  std::vector<std::string> broken;
  size_t writes = 0, boundaries = 0, syncs = 0, intents = 0;
  std::vector<Entry> entries;
  std::string why;
  bool operator==(const Led& o) const {
    return closed == o.closed && ends == o.ends && schedulable == o.schedulable;
  }
};

struct LeadOptions {
  size_t crash_at_write = 0;  // the plug is pulled at this write, before or after it
  LogCrash crash_how = LogCrash::kNone;
  size_t crash_at_boundary = 0;  // ... or after this call of Advance
  size_t survives = 0;           // of what was not synced, so many records made it
  std::function<void(SimSite&, const SimBook&)> script;  // sets the stage
  int nodes = 1;
};

inline std::string LeadNode(const SimSite& site, int n) {
  return site.cluster.cluster.nodes[static_cast<size_t>(n) * 9].name;
}

// The fault stands, every proof passes but those that are named (by their text), for as long as
// `on` says.
inline void StandingTrigger(SimSite& site, const SimBook& book, std::set<std::string> fail,
                            std::function<bool()> on = nullptr) {
  std::set<std::string> trigger;
  for (Check check : book.book.trigger.stands_while) {
    check.wants_pass = true;
    trigger.insert(check.ToString());
  }
  // What is also a proof is mended by the first act that lands.
  std::set<std::string> mended;
  for (const StepSpec& step : book.book.steps) {
    for (const Check& check : step.verify) {
      if (trigger.contains(check.ToString())) mended.insert(check.ToString());
    }
  }
  SimSite* const of = &site;
  site.cluster.look_hook = [=](const Check& check, const Subject& where) -> std::optional<Looked> {
    if (!check.id.empty()) return std::nullopt;
    const std::string text = check.ToString();
    const bool acted =
        mended.contains(text) && of->cluster.At(std::string(where.Host())).effect_at != 0;
    const bool fails =
        (trigger.contains(text) && !acted) || (fail.contains(text) && (on == nullptr || on()));
    return Looked{fails ? Level::kFail : Level::kPass, "scripted: " + text, "e"};
  };
}

inline std::set<std::string> TextsOf(const std::vector<Check>& checks) {
  std::set<std::string> texts;
  for (const Check& check : checks) texts.insert(check.ToString());
  return texts;
}

inline Led Lead(const SimBook& book, const LeadOptions& options) {
  SimSite site(40, 1);
  std::vector<std::string> nodes;
  for (int n = 0; n < options.nodes; ++n) nodes.push_back(LeadNode(site, n));
  Led led;
  auto plan = SimPlan(site, book, nodes);
  if (!plan.ok()) {
    led.why = plan.error().ToString();
    return led;
  }
  StandingTrigger(site, book, {});
  if (options.script) options.script(site, book);
  site.runs.push_back(std::make_unique<SimRun>(site, "run-1", std::move(*plan)));
  SimRun& run = *site.runs.back();
  run.options.poll = std::chrono::minutes(1);
  run.log.crash_at = options.crash_at_write;
  run.log.crash_how = options.crash_how;
  run.requests.waiting.push_back(
      {Requests::Request::Kind::kApprove, "*", "person", run.plan.hash, ""});
  bool crashed = false;
  for (size_t n = 0; n < 20'000 && site.cluster.broken.empty(); ++n) {
    if (run.engine == nullptr && !run.Start()) {
      led.refused = true;
      led.why = run.trouble;
      break;
    }
    if (run.engine == nullptr || run.closed()) {
      if (run.closed()) break;
      run.Crash(options.survives);
      run.log.crash_at = 0;
      continue;
    }
    const auto progress = run.engine->Advance(site.cluster.now);
    if (!progress.ok() || (!crashed && ++led.boundaries == options.crash_at_boundary)) {
      crashed = true;
      run.Crash(options.survives);
      run.log.crash_at = 0;
      // A word that was given is asked for again when it was lost.
      run.requests.waiting.push_back(
          {Requests::Request::Kind::kApprove, "*", "person", run.plan.hash, ""});
      continue;
    }
    if (progress->kind == Progress::Kind::kWait)
      site.cluster.now = std::max(progress->until, site.cluster.now + std::chrono::milliseconds(1));
    if (progress->kind == Progress::Kind::kBlocked) {
      for (const StepSpec& step : run.plan.runbook.steps)
        run.requests.waiting.push_back(
            {Requests::Request::Kind::kApprove, step.id, "person", run.plan.hash, ""});
    }
    if (progress->kind == Progress::Kind::kClosed) break;
  }
  led.closed = run.closed();
  if (run.engine != nullptr) {
    for (const TargetState& target : run.engine->state().targets) {
      led.ends.push_back(target.end);
      if (!target.why.empty()) led.why = target.why;
    }
  }
  for (const std::string& node : nodes)
    led.schedulable.push_back(site.cluster.At(node).hold.schedulable);
  led.landed = site.cluster.landed;
  led.broken = site.cluster.broken;
  led.writes = run.log.writes;
  led.syncs = run.log.syncs;
  led.entries = run.log.entries;
  for (const Entry& entry : led.entries) led.intents += entry.type == EntryType::kIntent;
  return led;
}

}  // namespace muster::engine::testing
