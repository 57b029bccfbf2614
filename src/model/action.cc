#include "model/action.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

using A = ActKind;
using R = Rung;

// Probes as in the table "effect, fingerprint, happened, not happened" of docs/design/engine.md.
constexpr std::array kActs = {
    // kind, name, effect, destructive, repeatable, probe, rung, params, subjects, undo
    ActTraits{A::kObserve, "observe", false, false, true, "", R::kNone, "", "node gpu", ""},
    ActTraits{A::kCollect, "collect", false, false, true, "", R::kNone, "what?", "node gpu", ""},
    ActTraits{A::kCordon, "cordon", true, false, false, "lease", R::kNone, "", "node", "return"},
    ActTraits{A::kDrain, "drain", true, false, true, "jobs_gone", R::kNone, "force? operands?",
              "node", "return"},
    ActTraits{A::kReturn, "return", true, false, false, "lease", R::kNone, "", "node", ""},
    ActTraits{A::kServiceStart, "service_start", true, false, true, "unit_state", R::kProcess,
              "unit", "node", "service_stop"},
    ActTraits{A::kServiceStop, "service_stop", true, false, true, "unit_state", R::kProcess, "unit",
              "node", "service_start"},
    ActTraits{A::kServiceRestart, "service_restart", true, false, false, "unit_started_at",
              R::kProcess, "unit", "node", ""},
    ActTraits{A::kModuleLoad, "module_load", true, false, true, "module_loaded", R::kProcess,
              "module", "node", ""},
    ActTraits{A::kModuleReload, "module_reload", true, true, false, "module_loaded_at", R::kProcess,
              "module", "node", ""},
    ActTraits{A::kGpuReset, "gpu_reset", true, true, false, "reset_marker", R::kGpu, "", "gpu node",
              ""},
    ActTraits{A::kPersistence, "persistence", true, false, true, "persistence_mode", R::kNone,
              "mode", "gpu node", "persistence"},
    ActTraits{A::kClocks, "clocks", true, false, true, "clocks", R::kNone, "lock", "gpu node",
              "clocks"},
    ActTraits{A::kPowerCap, "power_cap", true, false, true, "power_limit", R::kNone, "watt",
              "gpu node", "power_cap"},
    ActTraits{A::kEccMode, "ecc_mode", true, true, true, "ecc_pending", R::kNone, "mode",
              "gpu node", "ecc_mode"},
    ActTraits{A::kMigSet, "mig_set", true, true, false, "mig_layout", R::kNone, "layout",
              "gpu node", "mig_set"},
    ActTraits{A::kMigClear, "mig_clear", true, true, true, "mig_layout", R::kNone, "", "gpu node",
              "mig_set"},
    ActTraits{A::kReboot, "reboot", true, true, false, "boot_id", R::kReboot, "", "node", ""},
    ActTraits{A::kPowerCycle, "power_cycle", true, true, false, "bmc_event", R::kPowerCycle, "",
              "node", ""},
    ActTraits{A::kBmcReset, "bmc_reset", true, false, false, "bmc_started_at", R::kProcess, "",
              "node", ""},
    ActTraits{A::kPackages, "packages", true, true, true, "versions", R::kNone,
              "driver? fabric_manager? gsp? kernel? set? reboot?", "node", "packages"},
    ActTraits{A::kFileWrite, "file_write", true, false, true, "content_hash", R::kNone,
              "path content", "node", "file_write"},
    ActTraits{A::kJobStop, "job_stop", true, true, true, "job_state", R::kNone, "job", "node", ""},
    ActTraits{A::kJobRequeue, "job_requeue", true, true, false, "job_attempt", R::kNone, "job",
              "node", ""},
    ActTraits{A::kCommand, "command", true, true, false, "command", R::kNone,
              "argv probe_argv host? undo_argv?", "node gpu", ""},
    ActTraits{A::kNotify, "notify", false, false, true, "", R::kNone, "whom text", "node gpu", ""},
    ActTraits{A::kGitRevert, "git_revert", true, false, true, "revert_commit", R::kNone,
              "repository commit push?", "node gpu", ""},
};

constexpr std::array<std::string_view, 6> kRungs = {"none",   "process",     "gpu",
                                                    "reboot", "power_cycle", "hands"};

std::string_view Bare(std::string_view param) {
  return EndsWith(param, "?") ? param.substr(0, param.size() - 1) : param;
}

}  // namespace

std::string_view ToString(Rung rung) { return kRungs[static_cast<size_t>(rung)]; }

Result<Rung> ParseRung(std::string_view text) {
  const auto it = std::find(kRungs.begin(), kRungs.end(), text);
  if (it != kRungs.end()) return static_cast<Rung>(it - kRungs.begin());
  return Fail(Code::kInvalid, fmt::format("unknown rung \"{}\", expected process, gpu, reboot, "
                                          "power_cycle or hands",
                                          Printable(text)));
}

std::span<const ActTraits> AllActs() { return kActs; }

const ActTraits& TraitsOf(ActKind kind) { return kActs[static_cast<size_t>(kind)]; }

std::string_view ToString(ActKind kind) { return TraitsOf(kind).name; }

Result<ActKind> ParseActKind(std::string_view text) {
  std::vector<std::string> names;
  for (const ActTraits& act : kActs) {
    if (act.name == text) return act.kind;
    names.emplace_back(act.name);
  }
  const auto near = Nearest(text, names);
  return Fail(Code::kInvalid,
              fmt::format("unknown act \"{}\", {}", Printable(text),
                          near ? "did you mean " + *near : "expected one of " + Join(names, ", ")));
}

bool Action::Destructive() const {
  if (TraitsOf(kind).destructive) return true;
  const auto it = params.find("force");
  return kind == ActKind::kDrain && it != params.end() && it->second == "true";
}

std::string Action::ToString() const {
  std::string text = fmt::format("{} {}", muster::ToString(kind), on.ToString());
  for (const auto& [name, value] : params) text += fmt::format(" {}={}", name, value);
  return text;
}

Status CheckAction(const Action& action) {
  const ActTraits& traits = TraitsOf(action.kind);
  const auto subjects = SplitBlank(traits.subjects);
  if (std::find(subjects.begin(), subjects.end(), ToString(action.on.kind)) == subjects.end())
    return Fail(Code::kInvalid, fmt::format("{} is done to a {}, not to {}", traits.name,
                                            traits.subjects, action.on.ToString()));
  const auto params = SplitBlank(traits.params);
  for (const std::string_view param : params) {
    if (!EndsWith(param, "?") && !action.params.contains(std::string(param)))
      return Fail(Code::kInvalid, fmt::format("{} needs {}", traits.name, param));
  }
  for (const auto& [name, value] : action.params) {
    const bool known = std::any_of(params.begin(), params.end(),
                                   [&](std::string_view p) { return Bare(p) == name; });
    if (!known)
      return Fail(Code::kInvalid,
                  fmt::format("{} has no parameter {}{}", traits.name, Printable(name),
                              params.empty() ? std::string("; it takes none")
                                             : fmt::format("; it takes {}", traits.params)));
  }
  return {};
}

}  // namespace muster
