#include "base/unit.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"
#include "base/time.h"

namespace muster {

namespace {

struct UnitName {
  std::string_view text;
  Unit unit;
  double scale;  // one of these in base units
};
// The first name of each unit is the one that is printed.
constexpr std::array kNames = {
    UnitName{"", Unit::kNone, 1},
    UnitName{"count", Unit::kCount, 1},
    UnitName{"ratio", Unit::kRatio, 1},
    UnitName{"%", Unit::kRatio, 0.01},
    UnitName{"s", Unit::kSeconds, 1},
    UnitName{"ms", Unit::kSeconds, 1e-3},
    UnitName{"us", Unit::kSeconds, 1e-6},
    UnitName{"m", Unit::kSeconds, 60},
    UnitName{"h", Unit::kSeconds, 3600},
    UnitName{"d", Unit::kSeconds, 86400},
    UnitName{"B", Unit::kBytes, 1},
    UnitName{"KiB", Unit::kBytes, 1024},
    UnitName{"MiB", Unit::kBytes, 1048576},
    UnitName{"GiB", Unit::kBytes, 1073741824},
    UnitName{"TiB", Unit::kBytes, 1099511627776.0},
    UnitName{"KB", Unit::kBytes, 1e3},
    UnitName{"MB", Unit::kBytes, 1e6},
    UnitName{"GB", Unit::kBytes, 1e9},
    UnitName{"TB", Unit::kBytes, 1e12},
    UnitName{"Gb/s", Unit::kGbitPerSec, 1},
    UnitName{"Gbps", Unit::kGbitPerSec, 1},
    UnitName{"Tb/s", Unit::kGbitPerSec, 1000},
    UnitName{"GB/s", Unit::kGBytePerSec, 1},
    UnitName{"MB/s", Unit::kGBytePerSec, 1e-3},
    UnitName{"TB/s", Unit::kGBytePerSec, 1000},
    UnitName{"C", Unit::kCelsius, 1},
    UnitName{"W", Unit::kWatt, 1},
    UnitName{"kW", Unit::kWatt, 1e3},
    UnitName{"MW", Unit::kWatt, 1e6},
    UnitName{"/h", Unit::kPerHour, 1},
    UnitName{"/min", Unit::kPerHour, 60},
    UnitName{"kg", Unit::kKilogram, 1},
    UnitName{"t", Unit::kKilogram, 1e3},
    UnitName{"MHz", Unit::kMegahertz, 1},
    UnitName{"GHz", Unit::kMegahertz, 1e3},
    UnitName{"tok/s", Unit::kTokensPerSec, 1},
    UnitName{"FLOP/s", Unit::kFlops, 1},
    UnitName{"GFLOP/s", Unit::kFlops, 1e9},
    UnitName{"TFLOP/s", Unit::kFlops, 1e12},
};

const UnitName* Find(std::string_view text) {
  for (const UnitName& name : kNames) {
    if (name.text == text) return &name;
  }
  return nullptr;
}

std::string Scaled(double value, std::string_view base, double step,
                   std::initializer_list<std::string_view> larger) {
  std::string_view name = base;
  for (const std::string_view next : larger) {
    if (std::abs(value) < step) break;
    value /= step;
    name = next;
  }
  return fmt::format("{:.4g} {}", value, name);
}

}  // namespace

std::string_view ToString(Unit unit) {
  for (const UnitName& name : kNames) {
    if (name.unit == unit) return name.text;
  }
  return "";
}

Result<Unit> ParseUnit(std::string_view text) {
  const UnitName* name = Find(Trim(text));
  if (name == nullptr || name->scale != 1)
    return Fail(Code::kInvalid, fmt::format("unknown unit \"{}\"", text));
  return name->unit;
}

Result<Quantity> ParseQuantity(std::string_view text) {
  const std::string_view all = Trim(text);
  const size_t end = all.find_first_not_of("+-0123456789.eE");
  // "1e3" is a number, "5 EB" must not swallow the E: give back a trailing letter.
  std::string_view digits = all.substr(0, end);
  while (!digits.empty() && (digits.back() == 'e' || digits.back() == 'E')) digits.remove_suffix(1);
  TRY(const double number, ParseDouble(digits));
  const std::string_view unit = Trim(all.substr(digits.size()));
  if (unit.empty()) return Quantity{number, Unit::kCount};
  const UnitName* name = Find(unit);
  if (name == nullptr) {
    return Fail(Code::kInvalid, fmt::format("unknown unit \"{}\" in \"{}\", expected one of %, s, "
                                            "ms, m, h, d, B, KiB, MiB, GiB, GB, Gb/s, "
                                            "GB/s, C, W, kW, MW, kg, /h, MHz, tok/s, FLOP/s",
                                            unit, all));
  }
  return Quantity{number * name->scale, name->unit};
}

std::string FormatQuantity(const Quantity& quantity) {
  const double v = quantity.value;
  switch (quantity.unit) {
    case Unit::kNone:
    case Unit::kCount:
      return v == std::floor(v) && std::abs(v) < 1e15 ? fmt::format("{:.0f}", v)
                                                      : fmt::format("{:.4g}", v);
    case Unit::kRatio:
      return fmt::format("{:.4g} %", v * 100);
    case Unit::kSeconds:
      return FormatDuration(FromSeconds(v));
    case Unit::kBytes:
      return Scaled(v, "B", 1024, {"KiB", "MiB", "GiB", "TiB", "PiB"});
    case Unit::kWatt:
      return Scaled(v, "W", 1000, {"kW", "MW"});
    case Unit::kFlops:
      return Scaled(v, "FLOP/s", 1000,
                    {"KFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"});
    default:
      return fmt::format("{:.4g} {}", v, ToString(quantity.unit));
  }
}

}  // namespace muster
