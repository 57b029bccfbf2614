// How a value is held to a threshold: the comparisons of the catalogue, and how a person reads
// them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "evidence/criterion.h"
#include "evidence/observation.h"

namespace muster {

// The finite number that a value is; nothing for text, yes or no, NaN and infinities.
std::optional<double> NumberOf(const Value& value);
// Figures are read from text, so a difference in the last digits (1e-9 of the larger) means
// nothing.
bool Near(double a, double b);
// Whether the value meets the comparison; nothing when the two cannot be compared at all.
std::optional<bool> Meets(Compare compare, const Value& value, std::span<const Value> wanted);
// What would have passed: ">= 350 GB/s".
std::string WantedText(const Criterion& criterion, std::span<const Value> values);

}  // namespace muster
