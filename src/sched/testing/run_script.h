// Runs a cluster script given as text and returns the lines that the core decides. For tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sched/engine.h"
#include "sched/script_reader.h"
#include "sched/script_writer.h"

namespace muster::sched::testing {

struct ScriptRun {
  std::string error;               // empty = the whole script was taken
  std::vector<std::string> lines;  // without the summary
  int64_t bound = 0, pending = 0;

  // The lines that contain every one of the parts.
  std::vector<std::string> With(const std::vector<std::string>& parts) const {
    std::vector<std::string> found;
    for (const std::string& line : lines) {
      bool all = true;
      for (const std::string& part : parts) all = all && line.find(part) != std::string::npos;
      if (all) found.push_back(line);
    }
    return found;
  }
  size_t Count(const std::vector<std::string>& parts) const { return With(parts).size(); }
};

inline ScriptRun RunScript(std::string_view script) {
  ScriptRun run;
  Engine engine;
  std::vector<Decision> decisions;
  const auto events = ReadScript(script);
  if (!events.ok()) {
    run.error = events.error().message;
    return run;
  }
  for (const Event& event : *events) {
    if (const auto taken = engine.Take(event, decisions); !taken.ok()) {
      run.error = taken.error().message;
      break;
    }
  }
  engine.Run(-1, decisions);
  for (const Decision& decision : decisions) {
    run.lines.emplace_back();
    AppendDecision(decision, run.lines.back());
  }
  run.bound = engine.running_jobs(), run.pending = engine.pending_jobs();
  return run;
}

// One event; `rest` is what follows its time.
inline std::string At(int64_t t, const std::string& rest) {
  return "{\"t\":" + std::to_string(t) + "," + rest + "}\n";
}
// Long after everything else has happened.
inline const std::string kEnd = At(100000, R"("op":"end")");
// A node of 8 GPUs and 96 CPUs in leaf "l<leaf>" of spine "s<spine>".
inline std::string NodeLine(int number, int spine, int leaf, const std::string& more = "") {
  return "{\"t\":0,\"op\":\"node.add\",\"name\":\"n" + std::to_string(number) + "\",\"at\":[\"s" +
         std::to_string(spine) + "\",\"l" + std::to_string(leaf) +
         "\"],\"capacity\":{\"cpu\":\"96\",\"nvidia.com/gpu\":\"8\"}" + more + "}\n";
}
// `nodes` of them, `per_leaf` a leaf, two leaves a spine.
inline std::string ClusterLines(int nodes, int per_leaf = 2) {
  std::string text = "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
  for (int i = 0; i < nodes; ++i) text += NodeLine(i, i / per_leaf / 2, i / per_leaf % 2);
  return text;
}
// One task "w" of `count` ranks with `gpus` each; `more` begins with a comma.
inline std::string JobLine(int64_t t, const std::string& name, int count, int gpus,
                           const std::string& more = "", const std::string& task_more = "") {
  return "{\"t\":" + std::to_string(t) + ",\"op\":\"job.submit\",\"name\":\"" + name +
         "\",\"tasks\":[{\"name\":\"w\",\"count\":" + std::to_string(count) +
         ",\"shape\":{\"nvidia.com/gpu\":\"" + std::to_string(gpus) + "\"}" + task_more + "}]" +
         more + "}\n";
}

}  // namespace muster::sched::testing
