// The --at option of the commands that look at one moment of a cluster script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/args.h"

namespace muster::cli {

struct AtOption {
  std::string text;
  // `otherwise`: what is looked at without it.
  void AddTo(Args& args, const std::string& otherwise = "the last event");
  // Milliseconds of virtual time; nothing where it was not given. kInvalid for anything else.
  Result<std::optional<int64_t>> Milliseconds() const;
};

}  // namespace muster::cli
