// The --site option that nearly every command has, and opening what it names.
#pragma once

#include <string>

#include "app/bringup.h"
#include "cli/args.h"
#include "cli/context.h"

namespace muster::cli {

struct SiteOption {
  std::string file;
  void AddTo(Args& args);
  // The file asked for, or the default of the context; kInvalid when there is none.
  Result<std::string> File(const Context& context) const;
  Result<SiteContext> Open(const Context& context, bool modelled_telemetry = false) const;
};

}  // namespace muster::cli
