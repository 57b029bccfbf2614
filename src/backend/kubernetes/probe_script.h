// What a probe pod runs, and its log taken apart again: a shell script that enters the node's own
// namespaces, runs one command after the other there, writes what each printed as marked base64
// lines, and then tells the node's clock for a while. An answer whose bytes are not all there is no
// answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "world/processes.h"

namespace muster::kubernetes {

// What the image must have beside sh.
inline constexpr std::string_view kProbeImageTools =
    "nsenter, base64, sed, wc and mktemp (util-linux and coreutils, or busybox)";
// Where the GPU Operator's driver container keeps the node's NVIDIA tools (its ClusterPolicy's
// hostPaths.driverInstallDir): looked in for what the node itself does not have.
inline constexpr std::string_view kDriverRoot = "/run/nvidia/driver";

// The container's command for these commands, in order, and for `ticks` lines of the clock after
// them, one each 20 ms or a little more. `mark` is a word that no tool prints.
std::vector<std::string> ProbeCommand(const std::string& mark, const std::vector<Command>& commands,
                                      int ticks);
// kInvalid for what a pod cannot give a command: a working folder.
Status CanRunInPod(const Command& command);

struct ProbeLog {
  std::vector<std::optional<CommandResult>> answers;  // by command; nothing: not whole
  bool done = false;                                  // every command has ended
  std::string trouble;  // why nothing ran: "nsenter is not in the image"
};
ProbeLog ParseProbeLog(std::string_view text, const std::string& mark,
                       const std::vector<Command>& commands);
// The newest line of the clock, as `date +%s.%N` printed it; nothing where the last whole line is
// another.
std::optional<std::string> LastTick(std::string_view text, const std::string& mark);

}  // namespace muster::kubernetes
