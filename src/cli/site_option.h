// The --site option that nearly every command has, and opening what it names.
#pragma once

#include <optional>
#include <string>

#include "app/bringup.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace muster::cli {

struct SiteOption {
  std::string file;
  void AddTo(Args& args);
  // Begins a command that is about a site file: `file` is then the one asked for, or the default
  // of the context. A value as Begin of commands.h gives it, also where there is no such file.
  std::optional<ExitCode> Begin(const Invocation& invocation, Args& args);
  // The file asked for, or the default of the context; kInvalid when there is none.
  Result<std::string> File(const Context& context) const;
  Result<SiteContext> Open(const Context& context, bool modelled_telemetry = false) const;
};

}  // namespace muster::cli
