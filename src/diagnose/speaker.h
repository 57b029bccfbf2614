// Who says a line, and when: what job runners, container log tools, syslog and the programs
// themselves put before it. Only lines that a rule asks for are read this closely.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "diagnose/fact.h"

namespace muster::diagnose {

struct Speaker {
  std::string host;               // node, pod, or the host of an NCCL line
  std::string rank;               // "3"
  std::optional<TimePoint> time;  // of the year 1972, see Fact
};

Speaker ReadSpeaker(std::string_view line);
// Adds host and rank where the fact has none of its own, and the time.
void Attach(const Speaker& speaker, Fact& fact);

// What a job runner puts before every line of a rank or host: "[1,0]<stdout>:" (mpirun), "0: "
// (srun -l), "gpu01: " (pdsh, clush), "[default0]:" (torchrun), "[pod/name/container] " (kubectl).
struct RunnerPrefix {
  std::string_view label;  // with what divides it from the line; empty: there is none
  std::string host;        // where the label names one
};
RunnerPrefix ReadRunnerPrefix(std::string_view line);

// A date and time anywhere near the start of a line: RFC 3339, "2026-11-20 23:50:46,055",
// "Nov 20 23:50:46", "1120 23:50:46.055" (glog), "11/20/2026 23:50:46", "Fri Nov 20 23:50:46 2026".
std::optional<TimePoint> FindTime(std::string_view line);

// Of a host's, a pod's or a device's name.
bool IsNameChar(char c);
// "Nov".
bool IsMonth(std::string_view word);
// "10:00:01" somewhere in the word, also within "2026-11-20T10:00:01Z"; no PCI address.
bool HasClock(std::string_view word);

}  // namespace muster::diagnose
