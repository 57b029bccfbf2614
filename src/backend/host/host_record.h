// What Muster keeps on a host: who holds the node, and what was begun there and how it ended. Every
// engine that can reach the host sees it, and a reboot leaves it there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/actuator.h"

namespace muster::host {

// hold.json of a host. Replaced as a whole, under a lock, by whoever read the version before it.
struct HostHold {
  bool schedulable = true;
  std::string note;  // what stands there when nobody's lease does
  std::optional<Lease> lease;
  uint64_t fence = 0;    // the highest that was seen: an engine that slept is shut out
  uint64_t changes = 0;  // of the above
  bool operator==(const HostHold&) const = default;
};
std::string WriteHostHold(const HostHold& hold);
// kCorrupt for anything that we did not write as a whole.
Result<HostHold> ReadHostHold(std::string_view text);
// As a scheduler would say it; the version is that of the file.
Hold HoldOf(const HostHold& hold);

// What a host has of one order (by its token).
struct ActRecord {
  enum class State { kNone, kBegun, kUnderWay, kEnded } state = State::kNone;
  std::string boot_id;  // of the boot in which it was begun
  int exit_code = 0;    // kEnded
  std::string output;   // the end of what it printed
};
// What the script of RecordScript prints. kParse where it is not whole.
Result<ActRecord> ReadActRecord(std::string_view text);

}  // namespace muster::host
