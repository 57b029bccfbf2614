// Kubernetes quantities ("96", "500m", "1Ti") as whole numbers: cpu in milli-CPU, memory in bytes,
// everything else as a count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::sched {

// A resource whose name has a "/" is a device with ids; all others are sums.
bool IsDevice(std::string_view resource);
// The resource that gpu_milli takes shares of: the device whose name ends in "/gpu".
bool IsGpu(std::string_view resource);
inline constexpr std::string_view kGpuMilli = "gpu_milli";

// Not negative, at most 2^53; a fraction below the unit is rounded up as Kubernetes does, except
// for devices and gpu_milli, which must be whole.
Result<int64_t> ParseAmount(std::string_view resource, std::string_view text);
// The shortest exact form that ParseAmount reads back.
std::string FormatAmount(std::string_view resource, int64_t amount);

}  // namespace muster::sched
