// Faults that hit the asking and not the thing asked about: a host that is down, a tool that hangs,
// refuses, prints garbage or is cut off. They are laid over what a tool would say, so that no tool
// has to know of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/lab/state/lab_state.h"
#include "world/processes.h"

namespace muster::lab {

// What ssh would say of a host that is not there, or that reboots just now; nothing while it
// answers.
std::optional<Error> Unreachable(const LabState& state, const Node& node, TimePoint now);

// What comes instead of running the tool at all (a hang, a refusal); nothing when it runs.
std::optional<CommandResult> InsteadOf(const LabState& state, const Node& node,
                                       std::string_view program, const Command& command);

// What a fault makes of an answer that the tool gave: garbage, or half of it.
void Spoil(const LabState& state, const Node& node, std::string_view program,
           CommandResult& result);

}  // namespace muster::lab
