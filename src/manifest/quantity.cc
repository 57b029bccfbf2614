#include "manifest/quantity.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

struct Suffix {
  std::string_view text;
  long double factor;
};
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
constexpr std::array<Suffix, 16> kSuffixes = {{{"Ki", 1024.0L},
                                               {"Mi", 1048576.0L},
                                               {"Gi", 1073741824.0L},
                                               {"Ti", 1099511627776.0L},
                                               {"Pi", 1125899906842624.0L},
                                               {"Ei", 1152921504606846976.0L},
                                               {"n", 1e-9L},
                                               {"u", 1e-6L},
                                               {"m", 1e-3L},
                                               {"k", 1e3L},
                                               {"M", 1e6L},
                                               {"G", 1e9L},
                                               {"T", 1e12L},
                                               {"P", 1e15L},
                                               {"E", 1e18L},
                                               {"", 1.0L}}};

tl::unexpected<Error> NoQuantity(std::string_view text) {
  return Fail(Code::kInvalid,
              fmt::format("expected a quantity such as 8, 500m or 64Gi, found \"{}\"",
                          Shorten(Printable(text), 40)));
}

}  // namespace

Result<int64_t> ParseKubeQuantityMilli(std::string_view text) {
  if (text.find_first_of(" \t\n") != std::string_view::npos) return NoQuantity(text);
  size_t end = 0;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.' ||
                               text[end] == '+' || text[end] == '-' ||
                               ((text[end] == 'e' || text[end] == 'E') && end + 1 < text.size() &&
                                ((text[end + 1] >= '0' && text[end + 1] <= '9') ||
                                 text[end + 1] == '-' || text[end + 1] == '+')))) {
    ++end;
  }
  const auto number = ParseDouble(text.substr(0, end));
  if (!number.ok()) return NoQuantity(text);
  for (const Suffix& suffix : kSuffixes) {
    if (text.substr(end) != suffix.text) continue;
    const long double milli = static_cast<long double>(*number) * suffix.factor * 1000.0L;
    if (!(std::fabs(milli) < 9.2e18L)) return NoQuantity(text);
    // A decimal such as 0.1 is no binary fraction: what is within a millionth of a whole is whole.
    const long double whole = std::round(milli);
    return static_cast<int64_t>(std::fabs(milli - whole) < 1e-6L ? whole : std::ceil(milli));
  }
  return NoQuantity(text);
}

Result<int64_t> ParseResourceAmount(std::string_view resource, std::string_view text) {
  if (resource == "cpu") return ParseKubeQuantityMilli(text);
  // Memory of exabytes does not fit in thousandths, and nobody asks for thousandths of a byte.
  if (text.find_first_of(" \t\n") != std::string_view::npos) return NoQuantity(text);
  if (!text.empty() && text.back() == 'i') {
    for (const Suffix& suffix : kSuffixes) {
      if (suffix.text.size() != 2 || !EndsWith(text, suffix.text)) continue;
      const auto number = ParseDouble(text.substr(0, text.size() - 2));
      if (!number.ok()) return NoQuantity(text);
      const long double bytes = static_cast<long double>(*number) * suffix.factor;
      if (!(std::fabs(bytes) < 9.2e18L)) return NoQuantity(text);
      return static_cast<int64_t>(std::ceil(bytes));
    }
  }
  TRY(const int64_t milli, ParseKubeQuantityMilli(text));
  return milli / 1000 + (milli % 1000 > 0 ? 1 : 0);
}

bool IsWholeGpuResource(std::string_view name) {
  return EndsWith(name, ".com/gpu") || name == "gpu.intel.com/i915" || name == "gpu.intel.com/xe" ||
         name == "habana.ai/gaudi";
}
bool IsGpuResource(std::string_view name) {
  return IsWholeGpuResource(name) || StartsWith(name, "nvidia.com/mig-") ||
         StartsWith(name, "nvidia.com/gpu.");
}
bool IsRdmaResource(std::string_view name) {
  return StartsWith(name, "rdma/") || StartsWith(name, "mellanox.com/") ||
         StartsWith(name, "nvidia.com/rdma") || StartsWith(name, "nvidia.com/ib") ||
         StartsWith(name, "nvidia.com/hostdev") || StartsWith(name, "nvidia.com/sriov") ||
         StartsWith(name, "nvidia.com/mlnx") || name == "vpc.amazonaws.com/efa" ||
         StartsWith(name, "intel.com/sriov") || StartsWith(name, "openshift.io/") ||
         Contains(name, "/rdma") || Contains(name, "_rdma") || Contains(name, "/roce");
}

std::optional<int64_t> GoDurationMs(std::string_view text) {
  double ms = 0;
  size_t at = 0;
  if (text.empty()) return std::nullopt;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
    const auto number = ParseDouble(text.substr(at, end - at));
    if (!number.ok()) return std::nullopt;
    size_t unit_end = end;
    while (unit_end < text.size() && text[unit_end] >= 'a' && text[unit_end] <= 'z') ++unit_end;
    const std::string_view unit = text.substr(end, unit_end - end);
    const double factor = unit == "h"    ? 3.6e6
                          : unit == "m"  ? 6e4
                          : unit == "s"  ? 1e3
                          : unit == "ms" ? 1
                          : unit == "us" ? 1e-3
                          : unit == "ns" ? 1e-6
                                         : 0;
    if (factor == 0) return std::nullopt;
    ms += *number * factor;
    at = unit_end;
  }
  if (!(ms < 9e15)) return std::nullopt;
  return static_cast<int64_t>(ms);
}

}  // namespace muster
