#include "probes/infiniband/port_counters.h"

#include <fmt/format.h>

namespace muster::infiniband {

const std::array<CounterName, kCounters>& CounterTable() {
  static constexpr std::array<CounterName, kCounters> kTable = {{
      {Counter::kSymbolErrors, "port.symbol_errors", "SymbolErrorCounter", "SymbolErrors",
       "symbol_error", CounterBits::k16},
      {Counter::kLinkErrorRecovery, "port.link_error_recovery", "LinkErrorRecoveryCounter",
       "LinkRecovers", "link_error_recovery", CounterBits::k8},
      {Counter::kLinkDowned, "port.link_downed", "LinkDownedCounter", "LinkDowned", "link_downed",
       CounterBits::k8},
      {Counter::kRcvErrors, "port.rcv_errors", "PortRcvErrors", "RcvErrors", "port_rcv_errors",
       CounterBits::k16},
      {Counter::kLocalLinkIntegrity, "port.local_link_integrity", "LocalLinkIntegrityErrors",
       "LinkIntegrityErrors", "local_link_integrity_errors", CounterBits::k4},
      {Counter::kExcessiveBufferOverrun, "port.excessive_buffer_overrun",
       "ExcessiveBufferOverrunErrors", "ExcBufOverrunErrors", "excessive_buffer_overrun_errors",
       CounterBits::k4},
      {Counter::kXmitDiscards, "port.xmit_discards", "PortXmitDiscards", "XmtDiscards",
       "port_xmit_discards", CounterBits::k16},
  }};
  return kTable;
}

const CounterName* FindCounter(std::string_view tool_name) {
  for (const CounterName& name : CounterTable()) {
    if (name.now == tool_name || name.earlier == tool_name) return &name;
  }
  return nullptr;
}

const CounterName* FindCounterFile(std::string_view file_name) {
  for (const CounterName& name : CounterTable()) {
    if (name.file == file_name) return &name;
  }
  return nullptr;
}

void CounterSet::Set(Counter counter, int64_t seen, bool from_wide) {
  const auto i = static_cast<size_t>(counter);
  // The 64-bit reading of a counter takes the place of the classic one.
  if (value[i] && from_wide == wide[i]) clash[i] = true;
  if (value[i] && wide[i] && !from_wide) return;
  value[i] = seen;
  wide[i] = from_wide;
}

void ObserveCounters(const CounterSet& set, const Subject& port, bool all, std::string_view excerpt,
                     ObservationBuilder& builder) {
  for (const CounterName& name : CounterTable()) {
    const auto i = static_cast<size_t>(name.counter);
    const auto most = static_cast<int64_t>(name.bits);
    const auto unknown = [&](UnknownReason reason, std::string_view detail) {
      builder.AddUnobserved(port, name.fact, reason, detail);
    };
    if (set.clash[i]) {
      unknown(UnknownReason::kUnparsable, fmt::format("{} stands twice for one port", name.now));
    } else if (!set.value[i]) {
      if (all) unknown(UnknownReason::kNotObserved, fmt::format("no readable {}", name.now));
    } else if (!set.wide[i] && *set.value[i] == most) {
      unknown(UnknownReason::kNotObserved,
              fmt::format("{} is saturated: at least {}, it no longer counts", name.now, most));
    } else {
      builder.Add(
          port, name.fact, *set.value[i], Unit::kCount,
          excerpt.empty() ? fmt::format("{}: {}", name.now, *set.value[i]) : std::string(excerpt));
    }
  }
}

}  // namespace muster::infiniband
