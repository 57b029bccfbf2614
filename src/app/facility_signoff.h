// Signing gate 1: the site's budgets and PDUs as a signed document that the facility probe reads.
#pragma once

#include <string>

#include "app/bringup.h"

namespace muster {

// Writes the sign-off of the site's facility figures where the site's "facility" host reads it.
// kInvalid when the site has no facility section, a name is missing, or `until` is not in the
// future.
Result<std::string> SignFacility(SiteContext& context, const std::string& by,
                                 const std::string& reason, TimePoint until);

}  // namespace muster
