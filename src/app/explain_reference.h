// The reference part of `explain`: DCGM error codes and fields, NCCL variables, fabric counters,
// from catalogue/reference. An entry is found in the text and parsed alone, so that an answer costs
// microseconds, not the whole catalogue.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/explain.h"

namespace muster {

// By name ("DCGM_FR_ROW_REMAP_FAILURE", "GPU_UTIL", "NCCL_IB_HCA", "symbol_error"), by another name
// that the entry knows, or by number
// ("DCGM-FIELD-203", "DCGM-ERROR-80"); in any case. Nothing where no entry fits.
std::optional<Explanation> ExplainReference(std::string_view asked);
// The first name of every entry.
std::vector<std::string> ReferenceNames();

}  // namespace muster
