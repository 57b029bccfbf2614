#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace muster::cli {

struct Args::State {
  CLI::App app;
  std::string command, about;
  std::vector<OptionInfo> options;
  std::vector<std::string> examples;
};

namespace {

// "-o,--output" is CLI11's own spelling; a long option alone is "--site".
template <typename T>
CLI::Option* Add(CLI::App& app, const std::string& names, T& into, const std::string& value,
                 const std::string& help) {
  CLI::Option* option = app.add_option(names, into, help);
  option->type_name(value);
  return option;
}

}  // namespace

Args::Args(std::string command, std::string about) : state_(std::make_unique<State>()) {
  state_->command = std::move(command);
  state_->about = std::move(about);
  state_->app.name("muster " + state_->command);
  state_->app.description(state_->about);
  state_->app.set_help_flag("-h,--help", "Show this help and exit");
  state_->app.get_formatter()->column_width(34);
}
Args::~Args() = default;

Args& Args::Flag(const std::string& names, bool& into, const std::string& help) {
  state_->app.add_flag(names, into, help);
  state_->options.push_back({names, "", help});
  return *this;
}
Args& Args::Option(const std::string& names, std::string& into, const std::string& value,
                   const std::string& help) {
  Add(state_->app, names, into, value, help);
  state_->options.push_back({names, value, help});
  return *this;
}
Args& Args::Option(const std::string& names, int& into, const std::string& value,
                   const std::string& help) {
  Add(state_->app, names, into, value, help);
  state_->options.push_back({names, value, help});
  return *this;
}
Args& Args::Option(const std::string& names, double& into, const std::string& value,
                   const std::string& help) {
  Add(state_->app, names, into, value, help);
  state_->options.push_back({names, value, help});
  return *this;
}
Args& Args::Option(const std::string& names, std::vector<std::string>& into,
                   const std::string& value, const std::string& help) {
  Add(state_->app, names, into, value, help)->delimiter(',')->allow_extra_args(false);
  state_->options.push_back({names, value, help});
  return *this;
}
Args& Args::Required(const std::string& names, std::string& into, const std::string& value,
                     const std::string& help) {
  Add(state_->app, names, into, value, help)->required();
  state_->options.push_back({names, value, help});
  return *this;
}
Args& Args::Positional(const std::string& name, std::string& into, const std::string& help,
                       bool required) {
  Add(state_->app, name, into, "", help)->required(required);
  state_->options.push_back({name, "", help, true});
  return *this;
}
Args& Args::Rest(const std::string& name, std::vector<std::string>& into, const std::string& help,
                 bool required) {
  Add(state_->app, name, into, "", help)->required(required);
  state_->options.push_back({name + "...", "", help, true});
  return *this;
}
Args& Args::Choice(const std::string& names, std::string& into,
                   const std::vector<std::string>& choices, const std::string& help) {
  Add(state_->app, names, into, fmt::format("{}", fmt::join(choices, "|")), help)
      ->check(CLI::IsMember(choices));
  state_->options.push_back({names, fmt::format("{}", fmt::join(choices, "|")), help});
  return *this;
}
Args& Args::Example(const std::string& line) {
  state_->examples.push_back(line);
  return *this;
}

std::optional<Args::Stop> Args::Parse(std::span<const std::string> words) {
  if (!state_->examples.empty()) {
    state_->app.footer(fmt::format("Examples:\n  {}\n", fmt::join(state_->examples, "\n  ")));
  }
  std::vector<std::string> reversed(words.rbegin(),
                                    words.rend());  // CLI11 takes them back to front
  try {
    state_->app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Stop{ExitCode::kDone, state_->app.help()};
  } catch (const CLI::ParseError& e) {
    return Stop{ExitCode::kUsage,
                fmt::format("muster {}: {}\nRun `muster {} --help` for what it takes.\n",
                            state_->command, e.what(), state_->command)};
  }
}

const std::string& Args::command() const { return state_->command; }
const std::string& Args::about() const { return state_->about; }
const std::vector<OptionInfo>& Args::options() const { return state_->options; }
const std::vector<std::string>& Args::examples() const { return state_->examples; }

}  // namespace muster::cli
