// A probe knows one source: how to read it (collect, through ports) and what its text says (parse,
// pure). Reading and understanding are apart, so that a capture, a field report and a live host go
// through the same parser. A probe makes no verdicts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "world/world.h"

namespace muster {

// Where a probe reads: the host it runs on, and what that host is called in the site.
struct HostPorts {
  std::string host;
  World world;
  Origin origin = Origin::kLive;
};

// What one read brought back, before anybody understood it. This is what `muster capture` stores.
struct Reading {
  std::string probe;  // Probe::id
  std::string host;
  std::string command;  // as a person would type it, or "GET url", or "read path"
  int exit_code = 0;
  std::string text;  // stdout, or the body, or the file
  std::string stderr_text;
  TimePoint at;  // when the answer was complete
  Duration took{};
  // Set when there is no usable text: the tool is missing, hung, was refused, the host did not
  // answer.
  std::optional<Unobserved> fault;
  Origin origin = Origin::kLive;
};

// Runs a command and turns every way in which it can go wrong into a fault: not found and crash =
// kToolFault, time-out = kToolFault, exit 126/"permission denied"/"not permitted" = kNotPermitted,
// cut output = kUnparsable, connection = kUnreachable. A non-zero exit alone is no fault (dcgmi
// exits 226 with a valid document): the parser decides.
Reading ReadCommand(const HostPorts& ports, std::string_view probe, const Command& command);
Reading ReadFile(const HostPorts& ports, std::string_view probe, const std::string& path);
Reading ReadUrl(const HostPorts& ports, std::string_view probe, const HttpRequest& request);

// Collects the observations of one reading with the same source, time and origin. Subjects are
// checked by tests against facts.yaml.
class ObservationBuilder {
 public:
  explicit ObservationBuilder(const Reading& reading, std::string_view tool_version = {});
  void Add(Subject subject, std::string_view fact, Value value, Unit unit,
           std::string_view excerpt);
  void AddUnobserved(Subject subject, std::string_view fact, UnknownReason reason,
                     std::string_view detail);
  Observations Take() { return std::move(observations_); }

 private:
  std::shared_ptr<const Source> source_;
  TimePoint at_;
  Origin origin_;
  Observations observations_;
};

struct Probe {
  std::string_view id;         // "nvidia_smi.query": folder.name
  std::string_view extension;  // of the captured file: "xml", "json", "txt"
  std::vector<std::string_view>
      facts;  // every fact it can observe; those it did not become Unobserved
  Reading (*collect)(const HostPorts&);
  Observations (*parse)(
      const Reading&);  // pure; never throws; damaged text gives Unobserved, never a default value
};

// Parses, then adds for each fact of the probe that gave nothing at all one Unobserved about the
// reading's host (kNotObserved, or the reading's own fault): silence is said.
Observations ParseReading(const Probe& probe, const Reading& reading);

}  // namespace muster
