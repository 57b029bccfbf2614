#include "probes/probe.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {

constexpr size_t kExcerptBytes = 200;

UnknownReason ReasonOf(Code code) {
  switch (code) {
    case Code::kPermission:
      return UnknownReason::kNotPermitted;
    case Code::kUnavailable:
      return UnknownReason::kUnreachable;
    case Code::kParse:
    case Code::kCorrupt:
      return UnknownReason::kUnparsable;
    default:
      return UnknownReason::kToolFault;
  }
}

Unobserved FaultOf(const Error& error) {
  return {ReasonOf(error.code), Shorten(Printable(error.ToString()), kExcerptBytes)};
}

std::string FirstLine(std::string_view text) {
  for (const std::string_view line : Lines(text)) {
    if (!Trim(line).empty()) return Shorten(Printable(Trim(line)), kExcerptBytes);
  }
  return "";
}

// What tools print when the kernel, sudo or the driver says no: EACCES and EPERM in the words of
// strerror(3), nvidia-smi's and dcgmi's "Insufficient Permissions", and the usual demand for root.
bool SaysNo(std::string_view stderr_text) {
  const std::string lower = ToLower(stderr_text);
  for (const std::string_view words :
       {"permission denied", "not permitted", "insufficient permission", "must be root",
        "must be run as root", "requires root", "a password is required"}) {
    if (Contains(lower, words)) return true;
  }
  return false;
}

std::optional<Unobserved> FaultOf(const Command& command, const CommandResult& result) {
  const std::string tool = command.argv.empty() ? "" : Printable(command.argv[0]);
  const auto said = [&](std::string text) {
    const std::string line = FirstLine(result.err);
    return line.empty() ? text : text + ": " + line;
  };
  if (result.timed_out) {
    return Unobserved{UnknownReason::kToolFault, fmt::format("{} gave no answer within {}", tool,
                                                             FormatDuration(command.timeout))};
  }
  if (result.truncated) {
    return Unobserved{
        UnknownReason::kUnparsable,
        fmt::format("{} printed more than {} bytes; the rest was cut", tool, command.max_output)};
  }
  if (result.exit_code == 126) {
    return Unobserved{UnknownReason::kNotPermitted, said(tool + " may not be executed")};
  }
  if (result.exit_code == 127) {
    return Unobserved{UnknownReason::kToolFault, said(tool + " is not installed")};
  }
  // 128 + n: a signal ended it. Beyond the signals are exit codes that tools chose (dcgmi ends with
  // 226 and a document).
  if (result.exit_code > 128 && result.exit_code <= 128 + 31) {
    return Unobserved{UnknownReason::kToolFault,
                      said(fmt::format("{} was ended by signal {}", tool, result.exit_code - 128))};
  }
  if (result.exit_code != 0 &&
      (SaysNo(result.err) || (result.out.size() < 4096 && SaysNo(result.out)))) {
    const std::string line = FirstLine(result.err);
    return Unobserved{UnknownReason::kNotPermitted,
                      tool + ": " + (line.empty() ? FirstLine(result.out) : line)};
  }
  return std::nullopt;
}

Reading Begin(const HostPorts& ports, std::string_view probe, std::string what) {
  Reading reading;
  reading.probe = std::string(probe);
  reading.host = ports.host;
  reading.command = std::move(what);
  reading.origin = ports.origin;
  return reading;
}

void End(const HostPorts& ports, Duration started, Reading& reading) {
  reading.at = ports.world.clock.Now();
  reading.took = ports.world.clock.Monotonic() - started;
}

bool Speaks(const Observations& observations, std::string_view fact) {
  return std::any_of(observations.begin(), observations.end(),
                     [&](const Observation& o) { return o.fact == fact; });
}

}  // namespace

Reading ReadCommand(const HostPorts& ports, std::string_view probe, const Command& command) {
  Reading reading = Begin(ports, probe, command.ToString());
  const Duration started = ports.world.clock.Monotonic();
  Result<CommandResult> result = ports.world.processes.Run(command);
  End(ports, started, reading);
  if (!result.ok()) {
    // As a shell reports it, so that a stored reading tells the same story.
    reading.exit_code = result.error().code == Code::kNotFound     ? 127
                        : result.error().code == Code::kPermission ? 126
                                                                   : -1;
    reading.fault = FaultOf(result.error());
    return reading;
  }
  reading.fault = FaultOf(command, *result);
  reading.exit_code = result->exit_code;
  reading.text = std::move(result->out);
  reading.stderr_text = std::move(result->err);
  return reading;
}

Reading ReadFile(const HostPorts& ports, std::string_view probe, const std::string& path) {
  Reading reading = Begin(ports, probe, "read " + path);
  const Duration started = ports.world.clock.Monotonic();
  Result<std::string> text = ports.world.files.Read(path);
  End(ports, started, reading);
  if (text.ok()) {
    reading.text = std::move(*text);
  } else {
    reading.exit_code = 1;
    reading.fault = FaultOf(text.error());
    // No tool is broken when a file is not there: nobody wrote what would be read.
    if (text.error().code == Code::kNotFound) reading.fault->reason = UnknownReason::kNotObserved;
  }
  return reading;
}

Reading ReadUrl(const HostPorts& ports, std::string_view probe, const HttpRequest& request) {
  Reading reading = Begin(ports, probe, request.method + " " + request.url);
  const Duration started = ports.world.clock.Monotonic();
  Result<HttpResponse> response = ports.world.http.Do(request);
  End(ports, started, reading);
  if (!response.ok()) {
    reading.exit_code = -1;
    reading.fault = FaultOf(response.error());
    return reading;
  }
  reading.exit_code = response->status;
  reading.text = std::move(response->body);
  const int status = response->status;
  if (status == 401 || status == 403) {
    reading.fault = Unobserved{UnknownReason::kNotPermitted, fmt::format("HTTP {}", status)};
  } else if (status < 200 || status > 299) {
    reading.fault = Unobserved{UnknownReason::kToolFault,
                               fmt::format("HTTP {}{}{}", status, reading.text.empty() ? "" : ": ",
                                           FirstLine(reading.text))};
  } else {
    reading.exit_code = 0;
  }
  return reading;
}

ObservationBuilder::ObservationBuilder(const Reading& reading, std::string_view tool_version)
    : at_(reading.at), origin_(reading.origin) {
  auto source = std::make_shared<Source>();
  source->probe = reading.probe;
  source->host = reading.host;
  source->command = reading.command;
  source->exit_code = reading.exit_code;
  source->raw_sha256 = Sha256Hex(reading.text);
  source->tool_version = std::string(tool_version);
  source_ = std::move(source);
}

void ObservationBuilder::Add(Subject subject, std::string_view fact, Value value, Unit unit,
                             std::string_view excerpt) {
  Observation& o = observations_.emplace_back();
  o.subject = std::move(subject);
  o.fact = std::string(fact);
  o.seen = std::move(value);
  o.unit = unit;
  o.observed_at = at_;
  o.source = source_;
  o.excerpt = Shorten(Printable(Trim(excerpt)), kExcerptBytes);
  o.origin = origin_;
}

void ObservationBuilder::AddUnobserved(Subject subject, std::string_view fact, UnknownReason reason,
                                       std::string_view detail) {
  const std::string text = Shorten(Printable(Trim(detail)), kExcerptBytes);
  Add(std::move(subject), fact, false, Unit::kNone, "");
  observations_.back().seen = Unobserved{reason, text};
}

Observations ParseReading(const Probe& probe, const Reading& reading) {
  Observations observations = probe.parse(reading);
  if (reading.fault) {
    // Half an answer may look healthy, and what it says of the missing half ("unparsable", "not
    // there") hides why it is missing. What the parser found names the subjects, no more.
    for (Observation& o : observations) {
      o.seen = *reading.fault;
      o.unit = Unit::kNone;
    }
  }
  ObservationBuilder silent(reading);
  for (const std::string_view fact : probe.facts) {
    if (Speaks(observations, fact)) continue;
    const Unobserved why = reading.fault.value_or(Unobserved{
        UnknownReason::kNotObserved, fmt::format("{} reported nothing", reading.command)});
    silent.AddUnobserved(NodeSubject(reading.host), fact, why.reason, why.detail);
  }
  for (Observation& o : silent.Take()) observations.push_back(std::move(o));
  return observations;
}

}  // namespace muster
