// Command-line arguments of one command, over CLI11 (which only args.cc sees). A command declares
// where each value goes; the same declarations print its help, its man page and its completions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_code.h"

namespace muster::cli {

struct OptionInfo {
  std::string flags;  // "-o,--output"
  std::string value;  // "FORMAT", empty for a flag
  std::string help;
  bool positional = false;
};

class Args {
 public:
  Args(std::string command, std::string about);
  ~Args();

  Args& Flag(const std::string& names, bool& into, const std::string& help);
  Args& Option(const std::string& names, std::string& into, const std::string& value,
               const std::string& help);
  Args& Option(const std::string& names, int& into, const std::string& value,
               const std::string& help);
  Args& Option(const std::string& names, double& into, const std::string& value,
               const std::string& help);
  Args& Option(const std::string& names, std::vector<std::string>& into, const std::string& value,
               const std::string& help);  // repeated, or a,b,c
  Args& Required(const std::string& names, std::string& into, const std::string& value,
                 const std::string& help);
  Args& Positional(const std::string& name, std::string& into, const std::string& help,
                   bool required = true);
  Args& Rest(const std::string& name, std::vector<std::string>& into, const std::string& help,
             bool required = false);  // the remaining words
  Args& Choice(const std::string& names, std::string& into, const std::vector<std::string>& choices,
               const std::string& help);
  Args& Example(const std::string& line);

  // Nothing when the values are in place; otherwise what to exit with, after help or a clear error
  // was put into `message` (help belongs on stdout, an error on stderr).
  struct Stop {
    ExitCode code;
    std::string message;
  };
  std::optional<Stop> Parse(std::span<const std::string> words);

  const std::string& command() const;
  const std::string& about() const;
  const std::vector<OptionInfo>& options() const;
  const std::vector<std::string>& examples() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::cli
