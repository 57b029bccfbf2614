// The offline answer to "what is FAB-012": criteria, gates, faults and facts, from the embedded
// catalogue.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct Explanation {
  std::string code, title, kind;  // kind: "criterion", "gate", "fact", "xid", "lab fault", "term"
  std::vector<std::pair<std::string, std::string>>
      fields;  // "why", "how measured", "threshold", "source", "fix", "next", ...
};
// kNotFound with the nearest known names.
Result<Explanation> Explain(const std::string& code);
std::vector<std::string> ExplainableCodes();

}  // namespace muster
