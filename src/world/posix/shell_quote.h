// Quoting for a POSIX shell: how a command is shown to a person, and how an argument vector
// survives `ssh host ...`, where a remote shell reads one string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

// One word that sh reads back as exactly these bytes. Plain words stay plain; everything else goes
// in single quotes. NUL cannot be passed to any program and ends the word.
std::string ShellQuote(std::string_view word);
std::string ShellQuote(const std::vector<std::string>& argv);

}  // namespace muster
