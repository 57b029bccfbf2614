// muster lab: create, inject, heal, faults, exec, job, spoil, exam.
#pragma once

#include "cli/commands.h"

namespace muster::cli {
ExitCode LabCreate(const Invocation& invocation);
ExitCode LabInjectFault(const Invocation& invocation);
ExitCode LabHealFaults(const Invocation& invocation);
ExitCode LabListFaults(const Invocation& invocation);
ExitCode LabExecCommand(const Invocation& invocation);
ExitCode LabKubernetesStart(const Invocation& invocation);
ExitCode LabKubernetesEnd(const Invocation& invocation);
ExitCode LabPlayJob(const Invocation& invocation);
ExitCode LabSpoilAct(const Invocation& invocation);
ExitCode LabRunExam(const Invocation& invocation);
}  // namespace muster::cli
