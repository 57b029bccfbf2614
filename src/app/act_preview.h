// What an act would change, asked of the tool itself before the act is done: `kubectl diff`, a dry
// run on the server, `helm diff`. Nothing is changed by asking; where a tool cannot say it, or is
// not there, that is said.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/site.h"
#include "world/processes.h"

namespace muster {

// The command that shows what `act` would do. kInvalid with the reason where there is none that is
// known to change nothing.
Result<Command> PreviewCommand(const Act& act);

struct ActPreview {
  std::string name;
  std::vector<std::string> argv;  // what was asked; empty: nothing was
  bool known = false;
  bool changes = false;  // of what is known
  std::string text;      // the difference, or why it is not known
};
// Asks the tool.
ActPreview PreviewByTool(const Act& act, Processes& processes);
// Asks the act's own probe, which may say that it is done already, and then the tool.
ActPreview PreviewAct(const Act& act, Processes& processes);

}  // namespace muster
