// Kubernetes quantities ("500m", "64Gi", "1e3") as whole numbers of the unit that `Resources`
// counts in: milli-CPU for cpu, bytes for memory, a plain count for devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace muster {

// In thousandths, rounded up as Kubernetes does. kInvalid names what was expected; a value beyond
// 64 bits is refused.
Result<int64_t> ParseKubeQuantityMilli(std::string_view text);
// In the unit of the resource of that name: cpu in thousandths, everything else whole, rounded up.
Result<int64_t> ParseResourceAmount(std::string_view resource, std::string_view text);

// "nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb", "gpu.intel.com/xe".
bool IsGpuResource(std::string_view name);
// Whole devices, not slices of one.
bool IsWholeGpuResource(std::string_view name);
// A device that gives a container RDMA: the names that the shared RDMA, SR-IOV and cloud device
// plugins use ("rdma/...", "mellanox.com/...", "nvidia.com/rdma...", "vpc.amazonaws.com/efa", ...).
bool IsRdmaResource(std::string_view name);

// Milliseconds of a Go duration ("1h30m", "90s"); nothing when it is none.
std::optional<int64_t> GoDurationMs(std::string_view text);

}  // namespace muster
