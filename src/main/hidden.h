// The hidden verbs: processes of this binary that a lab starts. They are no commands for people.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "world/world.h"

namespace muster {

// The exit code when the words name a hidden verb ("lab-rank all_reduce_perf ...", "lab-exporter
// ..."); nothing otherwise.
std::optional<int> RunHidden(std::span<const std::string> words, World& world);

}  // namespace muster
