// The few columns of catalogue/faults/xids.yaml that a probe needs: does this code take the node
// out, and what kind of fault is it.
#pragma once

#include <span>
#include <string_view>

namespace muster::kernel_log {

enum class XidFatal {
  kNo,
  kYes,
  kByLine
};  // kByLine: "Fatal" or "Nonfatal" in the line, or the action it announces

struct XidEntry {
  int code = 0;
  XidFatal fatal = XidFatal::kNo;
  std::string_view klass;  // "application", "hardware", "driver", "nvlink", ...
};

// Sorted by code.
std::span<const XidEntry> XidTable();
// Nothing (nullptr) for a code that the catalogue does not have: it is unknown, not harmless.
const XidEntry* FindXid(int code);

}  // namespace muster::kernel_log
