// A lab tool plays one program (ibstat, nvidia-smi, ...): arguments in, what that program would
// print and its exit code out. Each family (backend/lab/infiniband, nvidia, nccl, telemetry)
// exports a list; backend/lab/tool_table joins them. Faults that hit any tool (hang, garbage,
// truncation, refusal, host down) are laid over the answer there, so a tool only knows the truth.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/state/lab_state.h"
#include "backend/lab/state/truth.h"
#include "world/processes.h"

namespace muster::lab {

struct ToolCall {
  const LabState& state;
  const Node* node = nullptr;  // where it runs; the "fabric" host runs tools as the first node
  std::span<const std::string> args;  // without the program's name
  TimePoint now;
};

struct Tool {
  std::string_view program;
  CommandResult (*run)(const ToolCall&);
};
// A file a lab host answers: paths that begin with `prefix`. kNotFound for one that the host would
// not have.
struct LabFile {
  std::string_view prefix;  // "/sys/class/infiniband/"
  Result<std::string> (*read)(const LabState&, const Node&, std::string_view path, TimePoint now);
  Result<std::vector<std::string>> (*list)(const LabState&, const Node&, std::string_view path,
                                           TimePoint now);
};

inline CommandResult Printed(std::string out, int exit_code = 0) {
  return {exit_code, false, false, std::move(out), {}, {}};
}
inline CommandResult Complained(std::string err, int exit_code = 1) {
  return {exit_code, false, false, {}, std::move(err), {}};
}

}  // namespace muster::lab
