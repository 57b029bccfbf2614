// What each act is on a host: the words that are run, what is read before and after it, and what
// follows from both. Pure: host_actuator.h does the asking.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/actuator.h"
#include "backend/host/act_scripts.h"
#include "backend/host/host_record.h"
#include "model/cluster.h"

namespace muster::host {

// By component ("driver", "set base"): apt packages with their versions, "{value}" filled in.
using PackageNames = std::map<std::string, std::vector<std::string>>;

// The acts that a host can be given; not the power of its chassis, and no jobs of a scheduler.
std::vector<ActKind> HostActs();

// What can be said without asking the host: kInvalid names the parameter and what was expected.
// Whatever a parameter holds, it becomes one word of an argument vector, and never an option.
Status CheckHostAct(const Action& action, const PackageNames& packages);

// For a person, before.
std::vector<std::string> RenderHostAct(const Action& action, const PackageNames& packages);

// One question to the host, and what it answered.
struct Answer {
  int exit_code = 0;
  std::string out, err;
};
// What tells how it is with the object of the act; nothing where only the record of the act can.
std::vector<Words> QuestionsOf(const Action& action, const PackageNames& packages);
// The answers as a fingerprint (without boot_id). kUnavailable where they do not say it: a tool
// that fails, a unit that is not installed, a GPU that is not listed, or whose index may have
// shifted (`node` says how many there must be).
Result<Fingerprint> Understand(const Action& action, const Node& node,
                               const std::vector<Answer>& answers);

// What is run, given how it was before.
struct HostCommands {
  std::vector<Words> commands;
  std::string input;        // on their standard input
  std::string kernel_mark;  // put into the kernel log when they have ended well
};
Result<HostCommands> CommandsOf(const Action& action, const Fingerprint& before,
                                const PackageNames& packages);

// "name=version;" for each package that the order comes to: part of its fingerprint ("wanted").
Result<std::string> WantedPackages(const Action& action, const Fingerprint& before,
                                   const PackageNames& packages);

// The GPUs that nvidia-smi's record of a reset clears, as the kernel log names them.
inline constexpr std::string_view kResetMark = "muster: gpu reset done:";

// Whether it happened. `now` is nothing where the host could not be asked for it.
ProbeResult Compare(const Action& action, const Fingerprint& before,
                    const std::optional<Fingerprint>& now, std::string_view boot_id_now,
                    const ActRecord& record);

}  // namespace muster::host
