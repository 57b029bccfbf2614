// Diagnosis of what a person brings: files, folders, archives, a capture of Muster's own, a log
// that is still written. Opens, decodes and hands on; the judgement is diagnose/diagnosis.h.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/bringup.h"
#include "diagnose/diagnosis.h"
#include "world/inputs.h"
#include "world/world.h"

namespace muster {

struct DiagnoseResult {
  diagnose::Diagnosis diagnosis;
  diagnose::Evidence evidence;
  std::vector<std::pair<std::string, std::string>> unreadable;  // name, why
  size_t readable = 0;                                          // files that were text, or a dump
};

// Called while reading goes on, when the first cause of all that was read so far changes.
using OnFinding = std::function<void(const diagnose::Finding&)>;

// `paths`: files, folders or "-". A folder that `muster capture` made is judged by the gates'
// criteria, and their verdicts are the facts. Only a broken catalogue is an error.
Result<DiagnoseResult> DiagnoseInputs(World& world, Inputs& inputs,
                                      const std::vector<std::string>& paths,
                                      const OnFinding& on_finding);

// Reads the file as it grows, judging after each addition, until `more` says no. `more` is asked
// after each look and decides how long to wait.
Result<DiagnoseResult> FollowInput(Inputs& inputs, const std::string& path,
                                   const OnFinding& on_finding, const std::function<bool()>& more);

// The verdicts of criteria as facts ("verdict": code, level, host, subject, reason).
void AddVerdictFacts(const std::vector<GateResult>& gates, const std::string& where,
                     diagnose::Evidence& evidence);

// The same engine over a check that somebody just made: what is behind the verdicts that did not
// pass. `where` stands where a file's name would. kNothing when all passed.
Result<diagnose::Diagnosis> DiagnoseGates(const std::vector<GateResult>& gates,
                                          const std::string& where);

}  // namespace muster
