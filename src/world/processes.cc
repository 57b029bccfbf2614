#include "world/processes.h"

#include <array>

#include "base/strings.h"
#include "world/posix/shell_quote.h"

namespace muster {

namespace {

// What is printed ends up in reports and captures: a token handed over in the environment must not.
bool LooksSecret(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kWords = {"token", "secret", "password",
                                                             "passwd", "credential"};
  const std::string lower = ToLower(name);
  for (const std::string_view word : kWords) {
    if (Contains(lower, word)) return true;
  }
  return EndsWith(lower, "_key");
}

}  // namespace

std::string ShellQuote(std::string_view word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  word = word.substr(0, word.find('\0'));
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ShellQuote(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    std::string quoted = ShellQuote(word);
    // "a=b" as the first word would be read as an assignment.
    if (line.empty() && quoted.find('=') != std::string::npos && quoted[0] != '\'') {
      quoted = "'" + quoted + "'";
    }
    line += quoted;
  }
  return line;
}

std::string Command::ToString() const {
  std::string line;
  if (!folder.empty()) line += "cd " + ShellQuote(folder) + " && ";
  for (const auto& [name, value] : env) {
    line += name + "=" + (LooksSecret(name) ? "'***'" : ShellQuote(value)) + " ";
  }
  return line + ShellQuote(argv);
}

}  // namespace muster
