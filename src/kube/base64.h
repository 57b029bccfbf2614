// Base64 as kubeconfigs and Secrets use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::kube {

// Standard alphabet; blanks and line ends are skipped, padding may be missing. Nothing when it is
// no base64.
std::optional<std::string> FromBase64(std::string_view text);
std::string ToBase64(std::string_view bytes);

}  // namespace muster::kube
