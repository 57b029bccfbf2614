// How a run of a runbook is shown: shared by run, resume, status and journal.
#pragma once

#include "app/runbooks.h"
#include "cli/output.h"

namespace muster::cli {

std::string EntryLine(const engine::Entry& entry, const Plan& plan);
// Where each target stands, and what a person can do next.
Document RunDocument(const Context& context, const std::string& run, const Plan& plan,
                     const engine::RunState& state, const std::vector<engine::Entry>& entries,
                     const std::string& blocked);
Level LevelOf(const engine::TargetState& target);

}  // namespace muster::cli
