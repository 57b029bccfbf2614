// The script reader and the core on any bytes: a line is taken or refused with line and column,
// what was taken comes back as it was written, and nothing crashes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sched/engine.h"
#include "sched/script_reader.h"
#include "sched/script_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::sched;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ScriptReader reader;
  Engine engine;
  std::vector<Decision> decisions;
  int64_t ranks = 0;
  int number = 0;
  while (!text.empty() && number < 64) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto event = reader.Line(line, number);
    if (!event.ok()) {
      if (!IsSkipped(line) && !event.error().message.starts_with("line ")) std::abort();
      continue;
    }
    if (!nlohmann::json::accept(line)) std::abort();  // stricter than a JSON parser, never laxer
    std::string once, again;
    AppendEvent(*event, true, once);
    const auto same = reader.Line(once, number);
    if (!same.ok()) std::abort();
    AppendEvent(*same, true, again);
    if (once != again) std::abort();
    if (const auto* submit = std::get_if<JobSubmit>(&event->body)) {
      for (const auto& task : submit->job.tasks) ranks += task.count;
    }
    if (ranks > 10000) break;  // large gangs are slow here, and tested elsewhere
    if (!engine.Take(*event, decisions).ok()) continue;
  }
  engine.Settle(decisions);
  std::string out;
  for (const Decision& decision : decisions) AppendDecision(decision, out);
  return 0;
}
