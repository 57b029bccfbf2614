// For the tests of this folder: a reading from a text, observations as lines, and the damage that
// no parser may turn into health.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "probes/infiniband/probes.h"
#include "probes/probe.h"
#include "world/testing/captures.h"

namespace muster::infiniband::testing {

inline const Probe& ProbeOf(std::string_view id) {
  for (const Probe& probe : InfinibandProbes()) {
    if (probe.id == id) return probe;
  }
  ADD_FAILURE() << "no probe " << id;
  return InfinibandProbes().front();
}

inline Reading ReadingOf(std::string_view id, std::string text, int exit_code = 0,
                         std::string host = "node000") {
  Reading reading;
  reading.probe = std::string(id);
  reading.host = std::move(host);
  reading.command = "test";
  reading.exit_code = exit_code;
  reading.text = std::move(text);
  return reading;
}

// "link leaf00/5--spine00/1 | link.rate | 100 Gb/s"; what is unknown as "... | ? reason: detail".
inline std::string LineOf(const Observation& o) {
  const std::string head = fmt::format("{} | {} | ", o.subject.ToString(), o.fact);
  if (const Value* value = o.value()) return head + FormatValue(*value, o.unit);
  return fmt::format("{}? {}: {}", head, ToString(o.unobserved()->reason), o.unobserved()->detail);
}
inline std::vector<std::string> Dump(const Observations& observations) {
  std::vector<std::string> lines;
  for (const Observation& o : observations) lines.push_back(LineOf(o));
  return lines;
}
inline std::vector<std::string> DumpOf(std::string_view id, std::string text, int exit_code = 0,
                                       std::string host = "node000") {
  const Probe& probe = ProbeOf(id);
  return Dump(probe.parse(ReadingOf(id, std::move(text), exit_code, std::move(host))));
}

// Lines that hold values, not unknowns.
inline std::set<std::string> ValuesOf(std::string_view id, std::string text) {
  std::set<std::string> values;
  for (const Observation& o : ProbeOf(id).parse(ReadingOf(id, std::move(text)))) {
    if (o.value() != nullptr) values.insert(LineOf(o));
  }
  return values;
}

// Every value read from a damaged text stands in the intact one too. `stride` thins the cuts of
// long texts.
inline void ExpectNothingInvented(std::string_view id, const std::string& text, size_t stride = 1) {
  const std::set<std::string> intact = ValuesOf(id, text);
  ASSERT_FALSE(intact.empty());
  const auto check = [&](std::string damaged, std::string_view how, size_t where) {
    for (const std::string& line : ValuesOf(id, std::move(damaged))) {
      ASSERT_TRUE(intact.contains(line)) << how << " at " << where << " invents: " << line;
    }
  };
  for (size_t cut = 0; cut < text.size(); cut += stride) check(text.substr(0, cut), "cut", cut);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    check(text.substr(0, begin) + text.substr(end + 1), "line dropped", begin);
    check(text.substr(0, begin) + "\x01\xff{garbage\n" + text.substr(end + 1), "line garbled",
          begin);
    begin = end + 1;
  }
}

}  // namespace muster::infiniband::testing
