// Small fixed differences between parts (a GPU's idle temperature, a serial number), drawn from the
// lab's seed and the part's name. Private to lab/state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

// A draw in [0, 1) that is always the same for this lab, part and use.
double Draw(const LabState& state, std::string_view part, std::string_view use);
uint64_t DrawBits(const LabState& state, std::string_view part, std::string_view use);
// "6f1c2a3e-...": for boot ids.
std::string DrawUuid(const LabState& state, std::string_view part, std::string_view use);

}  // namespace muster::lab
