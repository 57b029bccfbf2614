#include "cli/man/man.h"

#include <ostream>

#include <fmt/format.h>

namespace muster::cli {

namespace {

// Text for troff: a leading dot or quote would be a request, a bare minus a hyphen.
std::string Troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return (!out.empty() && (out[0] == '.' || out[0] == '\'')) ? "\\&" + out : out;
}

}  // namespace

ExitCode Man(const Invocation& invocation) {
  Args args("man", "The manual page muster(1), on stdout: muster man | man -l -");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::ostream& out = context.out;
  out << ".TH MUSTER 1 \"\" \"muster " MUSTER_VERSION
         "\" \"User Commands\"\n.SH NAME\nmuster \\- take a GPU cluster from racked hardware to "
         "its first accepted workload\n"
      << ".SH SYNOPSIS\n.B muster\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const Command& command : Commands()) {
    if (command.hidden) continue;
    Description description;
    command.run({context, {}, &description});
    out << fmt::format(".SS muster {}\n{}\n", Troff(command.name), Troff(description.about));
    for (const OptionInfo& option : description.options) {
      out << fmt::format(".TP\n.B {}\n{}\n",
                         Troff(option.flags + (option.value.empty() ? "" : " " + option.value)),
                         Troff(option.help));
    }
    for (const std::string& example : description.examples)
      out << fmt::format(".PP\n.EX\n{}\n.EE\n", Troff(example));
  }
  out << R"(.SH EXIT STATUS
.TP
.B 0
done; every asked gate passes
.TP
.B 1
internal or connection error
.TP
.B 2
wrong usage or unreadable input
.TP
.B 3
a measured FAIL
.TP
.B 4
UNKNOWN or blocked, and no FAIL
.TP
.B 5
only WARN, with \-\-strict
.TP
.B 6
refused by a guard: lock, approval, moved state
.TP
.B 7
rolled back, end state verified
.TP
.B 8
failed and rollback incomplete: a person is needed
.TP
.B 10
the plan has changes (\-\-detailed\-exitcode)
.TP
.B 124
\-\-timeout reached
.TP
.B 130
interrupted, resumable
.SH ENVIRONMENT
.TP
.B MUSTER_SITE
the site file when \-\-site is not given
.TP
.B NO_COLOR
no colour when set
)";
  return ExitCode::kDone;
}

}  // namespace muster::cli
