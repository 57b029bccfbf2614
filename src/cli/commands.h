// The one visible table of commands: name, what it does, and the function that runs it. A verb is a
// folder here, a function in app, and a page under docs/commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_code.h"
#include "cli/args.h"
#include "cli/context.h"

namespace muster::cli {

// What a command says of itself: for the man page, completions and the docs.
struct Description {
  std::string about;
  std::vector<OptionInfo> options;
  std::vector<std::string> examples;
};
struct Invocation {
  Context& context;
  std::span<const std::string> words;
  Description* describe = nullptr;  // set: fill it and do nothing else
};
// Parses the words into what `args` declares. A value means: return it (help was asked, the words
// were wrong, or a description was wanted).
std::optional<ExitCode> Begin(const Invocation& invocation, Args& args);

struct Command {
  std::string_view name;   // "bringup run"
  std::string_view group;  // heading in --help
  std::string_view about;
  ExitCode (*run)(const Invocation&);
  bool hidden = false;  // processes that the lab starts of this binary
};

std::span<const Command> Commands();
// Runs what the words ask for; unknown words get the nearest known ones and exit 2.
ExitCode Dispatch(Context& context, std::span<const std::string> words);

}  // namespace muster::cli
