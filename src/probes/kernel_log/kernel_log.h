// A kernel log as a list of events that matter to a GPU cluster. Written against lines of drivers
// 470 to 590 in public reports, in the forms of dmesg (bare, -T, -x, --time-format iso), journalctl
// (short, short-iso) and /dev/kmsg; gpud's kmsg.1.log is at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::kernel_log {

enum class EventKind {
  kXid,          // NVRM: Xid (PCI:0000:1b:00): 79, ...
  kSxid,         // nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, ...
  kFallenOff,    // "fallen off the bus" without a number
  kGpuIdentity,  // NVRM: GPU at PCI:0000:1b:00: GPU-<uuid>
  kGspNoise,     // rate-limited GSP errors: what follows is an undercount
  kAer,          // PCIe advanced error reporting, DPC, slot link down
  kMlx5Port,     // an adapter's port changed state
  kOutOfMemory,  // the kernel killed a process
  kPeermem,      // nvidia-peermem complained
  kNcclCrash,    // a segfault in libnccl
  kGpuReset,     // our own mark: "muster: gpu reset done: 00000000:1B:00.0"; one event for each GPU
};
std::string_view ToString(EventKind kind);

enum class Severity { kUnsaid, kFatal, kNonFatal };

struct Event {
  EventKind kind = EventKind::kXid;
  int code = 0;          // of an Xid or SXid
  std::string pci;       // as written, "0000:1b:00"
  uint64_t pci_key = 0;  // PciSlot(pci); 0 when there is no address
  std::optional<int64_t> pid;
  std::string process;  // empty or "<unknown>" when not said
  Severity severity = Severity::kUnsaid;
  std::optional<int> link;       // NVLink number; -1 is the whole unit
  std::string unit;              // NVLink5: "NETIR_LINK_EVT"; mlx5: the device; SXid: the switch
  std::vector<uint32_t> words;   // NVLink5: intrinfo, error status, ...
  std::optional<int> caused_by;  // of Xid 45: the Xid before it
  std::optional<int>
      recovery;  // of Xid 154: the action now asked for (0 none, 1 GPU reset, 2 node reboot, 3, 4)
  std::optional<TimePoint> at;  // when the line carries a date
  std::optional<Duration> since_boot;
  std::string text;  // what follows the code
  std::string line;  // the whole line, made printable, at most 200 bytes
};

struct KernelLog {
  std::vector<Event> events;  // in the order of the log
  size_t lines = 0;           // lines with something in them
  bool from_boot = false;  // the log reaches back to the boot ("Linux version ..."); a ring buffer
                           // that wrapped does not
};

// Never fails: what is no event is skipped. Continuation lines of an SXid are not counted again.
KernelLog ParseKernelLog(std::string_view text);

// What an act that has reset GPUs leaves in the kernel log (root alone may write there), with their
// addresses joined by ';'. What the log says of them before it, the reset has cleared.
inline constexpr std::string_view kResetMark = "muster: gpu reset done: ";

// Domain, bus and device of an address as one number (the kernel leaves the function out), or
// nothing. "00000000:1B:00.0" and "0000:1b:00" are the same slot.
std::optional<uint64_t> PciSlot(std::string_view text);

}  // namespace muster::kernel_log
