#include "app/sched_simulate.h"

#include <vector>

#include "base/digest.h"
#include "sched/engine.h"
#include "sched/script_reader.h"
#include "sched/script_writer.h"

namespace muster {

namespace {

void Count(const sched::Decision& decision, SchedSimulation& run) {
  using namespace sched;
  ++run.lines;
  if (std::holds_alternative<BindDecision>(decision.body)) ++run.binds;
  if (std::holds_alternative<EvictDecision>(decision.body)) ++run.evictions;
  if (std::holds_alternative<RejectDecision>(decision.body)) ++run.rejects;
  if (std::holds_alternative<ReserveDecision>(decision.body)) ++run.reserves;
  if (std::holds_alternative<FinishDecision>(decision.body)) ++run.finishes;
}

}  // namespace

Result<SchedSimulation> SimulateSchedule(std::string_view script) {
  SchedSimulation run;
  sched::Engine engine;
  sched::ScriptReader reader;
  std::vector<sched::Decision> decisions;
  const auto write = [&] {
    for (const sched::Decision& decision : decisions) {
      Count(decision, run);
      sched::AppendDecision(decision, run.decisions);
      run.decisions += '\n';
    }
    decisions.clear();
  };
  int number = 0;
  while (!script.empty()) {
    ++number;
    const size_t end = script.find('\n');
    std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (sched::IsSkipped(line)) continue;
    TRY(const sched::Event event, reader.Line(line, number));
    TRY_VOID(engine.Take(event, decisions));
    ++run.events;
    write();
  }
  engine.Run(-1, decisions);
  write();
  run.sha256 = Sha256Hex(run.decisions);
  run.bound = engine.running_jobs(), run.pending = engine.pending_jobs();
  run.end_ms = engine.now();
  sched::AppendSummary(run.end_ms, run.sha256, run.bound, run.pending, run.decisions);
  run.decisions += '\n';
  return run;
}

}  // namespace muster
