#include "cli/at_option.h"

#include "base/strings.h"

namespace muster::cli {

void AtOption::AddTo(Args& args, const std::string& otherwise) {
  args.Option("--at", text, "T", "Virtual time in milliseconds (without it: " + otherwise + ")");
}

Result<std::optional<int64_t>> AtOption::Milliseconds() const {
  if (text.empty()) return std::optional<int64_t>();
  const auto value = ParseInt(text);
  if (!value.ok() || *value < 0)
    return Fail(Code::kInvalid, "--at: expected milliseconds of virtual time");
  return std::optional<int64_t>(*value);
}

}  // namespace muster::cli
