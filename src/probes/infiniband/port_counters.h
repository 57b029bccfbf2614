// The error counters of a port, whatever tool read them, and what may be said of them: a counter at
// its maximum has stopped counting, so neither its value nor its growth is known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probes/infiniband/text.h"
#include "probes/probe.h"

namespace muster::infiniband {

enum class Counter {
  kSymbolErrors,
  kLinkErrorRecovery,
  kLinkDowned,
  kRcvErrors,
  kLocalLinkIntegrity,
  kExcessiveBufferOverrun,
  kXmitDiscards,
};
inline constexpr size_t kCounters = 7;

struct CounterName {
  Counter counter;
  std::string_view fact;     // catalogue/facts.yaml
  std::string_view now;      // infiniband-diags 1.6 and later: "SymbolErrorCounter"
  std::string_view earlier;  // before: "SymbolErrors"
  std::string_view file;     // under /sys/class/infiniband/*/ports/*/counters
  CounterBits bits;          // of the classic PortCounters attribute
};
const std::array<CounterName, kCounters>& CounterTable();
// By either of the tools' names.
const CounterName* FindCounter(std::string_view tool_name);
const CounterName* FindCounterFile(std::string_view file_name);

// A counter of one port: not seen, seen once, or seen twice with two values (then it is not known
// whose it is).
struct CounterSet {
  std::array<std::optional<int64_t>, kCounters> value;
  std::array<bool, kCounters> wide{};  // read from the 64-bit attribute: does not saturate
  std::array<bool, kCounters> clash{};

  void Set(Counter counter, int64_t seen, bool from_wide);
};

// Emits what is known of `set`; with `all`, an Unobserved for each counter that was not seen.
void ObserveCounters(const CounterSet& set, const Subject& port, bool all, std::string_view excerpt,
                     ObservationBuilder& builder);

}  // namespace muster::infiniband
