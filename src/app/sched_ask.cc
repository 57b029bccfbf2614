#include "app/sched_ask.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "sched/engine.h"
#include "sched/script_reader.h"
#include "sched/script_writer.h"

namespace muster {

namespace {

// The core right before its questions at the asked time: everything until then has been applied.
Result<sched::Engine> EngineAt(std::string_view script, std::optional<int64_t> at_ms) {
  TRY(const std::vector<sched::Event> events, sched::ReadScript(script));
  sched::Engine engine;
  std::vector<sched::Decision> decisions;
  for (const sched::Event& event : events) {
    if (at_ms && event.t > *at_ms) break;
    if (std::holds_alternative<sched::End>(event.body)) break;
    if (std::holds_alternative<sched::AskWhy>(event.body) ||
        std::holds_alternative<sched::AskWhatIf>(event.body))
      continue;
    TRY_VOID(engine.Take(event, decisions));
    decisions.clear();
  }
  if (at_ms) {
    engine.Run(*at_ms, decisions);
  } else {
    engine.Settle(decisions);
  }
  return engine;
}

}  // namespace

Result<SchedWhy> AskWhyPending(std::string_view script, const std::string& job,
                               std::optional<int64_t> at_ms) {
  TRY(sched::Engine engine, EngineAt(script, at_ms));
  return AskWhyOf(engine, job);
}

Result<SchedWhy> AskWhyOf(sched::Engine& engine, const std::string& job) {
  SchedWhy why;
  why.at_ms = engine.now();
  std::vector<sched::Decision> decisions;
  TRY_VOID(engine.Take({engine.now(), sched::AskWhy{job}}, decisions));
  engine.Settle(decisions);
  for (const sched::Decision& decision : decisions) {
    const auto* answer = std::get_if<sched::AnswerDecision>(&decision.body);
    if (answer == nullptr) continue;
    why.state = answer->state;
    for (const sched::Because& b : answer->because)
      why.because.push_back({b.code, sched::TextOf(b.detail)});
    for (const sched::Event& change : answer->would_start_if) {
      why.would_start_if.emplace_back();
      sched::AppendEvent(change, false, why.would_start_if.back());
    }
    sched::AppendDecision(decision, why.line);
  }
  if (why.state == "unknown")
    return Fail(Code::kNotFound,
                fmt::format("there is no job {} by t={}", Printable(job), why.at_ms));
  return why;
}

Result<SchedWhatIf> AskWhatIfChanged(std::string_view script,
                                     const std::vector<std::string>& changes,
                                     std::vector<std::string> about, std::optional<int64_t> at_ms) {
  sched::AskWhatIf ask;
  sched::ScriptReader reader;
  for (size_t i = 0; i < changes.size(); ++i) {
    TRY(sched::Event change,
        reader.Change(changes[i]).Context(fmt::format("--change number {}", i + 1)));
    ask.change.push_back(std::move(change));
  }
  TRY(sched::Engine engine, EngineAt(script, at_ms));
  for (const std::string& job : about) {
    if (engine.FindJob(job) == nullptr)
      return Fail(Code::kNotFound, fmt::format("there is no job {}", Printable(job)));
  }
  if (about.empty()) about = engine.PendingNames();
  ask.about = std::move(about);
  SchedWhatIf result;
  result.at_ms = engine.now();
  std::vector<sched::Decision> decisions;
  TRY_VOID(engine.Take({engine.now(), ask}, decisions));
  engine.Settle(decisions);
  const auto known = [](int64_t t) { return t < 0 ? std::nullopt : std::optional<int64_t>(t); };
  for (const sched::Decision& decision : decisions) {
    if (const auto* answer = std::get_if<sched::AnswerDecision>(&decision.body))
      result.answers.push_back({answer->about, known(answer->start), known(answer->was)});
  }
  return result;
}

}  // namespace muster
