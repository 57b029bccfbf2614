// The plain programs every Linux host has, as far as probes ask them. Forms: coreutils 9.1 and
// procps 4.0 of Debian 12.
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lab/tool_table.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

CommandResult True(const ToolCall&) { return Printed(""); }
CommandResult False(const ToolCall&) { return Printed("", 1); }
CommandResult Hostname(const ToolCall& call) { return Printed(call.node->name + "\n"); }
CommandResult Echo(const ToolCall& call) {
  return Printed(fmt::format("{}\n", fmt::join(call.args, " ")));
}

// The few conversions that probes use.
CommandResult Date(const ToolCall& call) {
  const TimePoint here = call.now + NodeNow(call.state, *call.node, call.now).clock_offset;
  const auto whole = std::chrono::floor<std::chrono::seconds>(here);
  const auto seconds = whole.time_since_epoch().count();
  const auto nanoseconds = (here - whole).count();
  std::string format = "+%a %b %e %H:%M:%S %Z %Y";
  for (const std::string& arg : call.args) {
    if (StartsWith(arg, "+"))
      format = arg;
    else if (arg != "-u" && arg != "--utc")
      return Complained(fmt::format("date: invalid option -- '{}'\n", arg));
  }
  if (format == "+%a %b %e %H:%M:%S %Z %Y") {
    return Printed(fmt::format("{:%a %b %e %H:%M:%S} UTC {:%Y}\n",
                               fmt::gmtime(static_cast<std::time_t>(seconds)),
                               fmt::gmtime(static_cast<std::time_t>(seconds))));
  }
  std::string out;
  for (size_t i = 1; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    switch (format[++i]) {
      case 's':
        out += fmt::format("{}", seconds);
        break;
      case 'N':
        out += fmt::format("{:09}", nanoseconds);
        break;
      default:
        return Complained(
            fmt::format("date: this host knows %s and %N only, not %{}\n", format[i]));
    }
  }
  return Printed(out + "\n");
}

CommandResult Uname(const ToolCall& call) {
  const std::string kernel = NodeNow(call.state, *call.node, call.now).kernel;
  const std::string option = call.args.empty() ? "-s" : call.args[0];
  if (option == "-s") return Printed("Linux\n");
  if (option == "-r") return Printed(kernel + "\n");
  if (option == "-n") return Printed(call.node->name + "\n");
  if (option == "-m") return Printed("x86_64\n");
  if (option == "-a") {
    return Printed(
        fmt::format("Linux {} {} #88-Ubuntu SMP PREEMPT_DYNAMIC x86_64 x86_64 x86_64 GNU/Linux\n",
                    call.node->name, kernel));
  }
  return Complained(fmt::format("uname: invalid option -- '{}'\n", option));
}

CommandResult Uptime(const ToolCall& call) {
  const auto up = NodeNow(call.state, *call.node, call.now).uptime;
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(up).count();
  const std::time_t now =
      std::chrono::duration_cast<std::chrono::seconds>(call.now.time_since_epoch()).count();
  const std::string days =
      minutes >= 1440 ? fmt::format("{} day{}, ", minutes / 1440, minutes >= 2880 ? "s" : "") : "";
  return Printed(
      fmt::format(" {:%H:%M:%S} up {}{:2}:{:02},  0 users,  load average: 0.08, 0.03, 0.01\n",
                  fmt::gmtime(now), days, minutes % 1440 / 60, minutes % 60));
}

}  // namespace

std::span<const Tool> PlainTools() {
  static constexpr Tool kTools[] = {{"true", True},    {"false", False}, {"hostname", Hostname},
                                    {"echo", Echo},    {"date", Date},   {"uname", Uname},
                                    {"uptime", Uptime}};
  return kTools;
}

}  // namespace muster::lab
