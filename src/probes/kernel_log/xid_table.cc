#include "probes/kernel_log/xid_table.h"

#include <algorithm>

namespace muster::kernel_log {
namespace {

constexpr XidEntry kTable[] = {
#include "probes/kernel_log/xid_table.inc"
};

}  // namespace

std::span<const XidEntry> XidTable() { return kTable; }

const XidEntry* FindXid(int code) {
  const auto* found =
      std::lower_bound(std::begin(kTable), std::end(kTable), code,
                       [](const XidEntry& entry, int wanted) { return entry.code < wanted; });
  return found != std::end(kTable) && found->code == code ? found : nullptr;
}

}  // namespace muster::kernel_log
