// A resource amount as Kubernetes writes it ("500m", "1.5Gi", "8"), exactly, in thousandths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::kube {

// Amounts in thousandths by resource name ("cpu", "memory", "nvidia.com/gpu").
using Amounts = std::map<std::string, int64_t, std::less<>>;

// Parts finer than a thousandth are rounded up, away from zero; what is larger than 64 bits hold
// becomes the largest value (Kubernetes' own rules, apimachinery's resource.Quantity). kParse for
// other text.
Result<int64_t> ParseMilli(std::string_view text);
// "8", "500m": read back by ParseMilli as the same amount.
std::string FormatMilli(int64_t milli);

}  // namespace muster::kube
