// The path of a kind that stands in a manifest: its plural, and whether it lives in a namespace.
// The API's own discovery would tell, at two requests a group; the kinds that Muster writes are
// known.
#pragma once

#include <string_view>

#include "kube/resource.h"

namespace muster::kube {

// "batch/v1", "Job". The plural follows the API conventions (lower case; -ies, -es, -s); the
// kinds without a namespace are a list. A kind that is neither is a 404 of the server, which names
// it.
Resource ResourceFor(std::string_view api_version, std::string_view kind);

}  // namespace muster::kube
