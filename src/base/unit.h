// Units of observed values and thresholds. A number without its unit is not a figure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

enum class Unit {
  kNone,  // text, booleans
  kCount,
  kRatio,  // 0 to 1
  kSeconds,
  kBytes,
  kGbitPerSec,   // 10^9 bit/s: link rates
  kGBytePerSec,  // 10^9 byte/s: bus bandwidth
  kCelsius,
  kWatt,
  kPerHour,  // events per hour
  kKilogram,
  kMegahertz,
  kTokensPerSec,
  kFlops,  // floating point operations per second
};
std::string_view ToString(Unit unit);  // "", "count", "ratio", "s", "B", "Gb/s", "GB/s", "C", "W",
                                       // "/h", "kg", "MHz", "tok/s", "FLOP/s"
Result<Unit> ParseUnit(std::string_view text);

struct Quantity {
  double value = 0;
  Unit unit = Unit::kNone;
  bool operator==(const Quantity&) const = default;
};
// "400 Gb/s", "92 %", "15s", "8 GiB", "45 kW", "70 C": scaled to the base unit (ratio, seconds,
// bytes, W). A bare number is a kCount. An unknown unit is an error that lists the known ones.
Result<Quantity> ParseQuantity(std::string_view text);
// For a person: "371.2 GB/s", "92 %", "8 GiB", "12.4s".
std::string FormatQuantity(const Quantity& quantity);

}  // namespace muster
