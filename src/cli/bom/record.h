// What `bom record` and `bom image` both do with a bill of materials: write it, and say so.
#pragma once

#include <string>

#include "app/bom.h"
#include "cli/context.h"
#include "cli/output.h"

namespace muster::cli {

// The document of the record without its table; `unknown` parts have no version.
Result<Document> WriteBomRecord(Context& context, const Bom& bom, const std::string& file,
                                size_t unknown);

}  // namespace muster::cli
