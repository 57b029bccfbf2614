// What nvidia-smi prints when it has no table to show, and the lines in which it names a GPU that
// it cannot open. Shared by the parsers of all its sub-commands, so that one cause has one name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"

namespace muster::nvidia_smi {

struct Complaint {
  UnknownReason reason = UnknownReason::kUnparsable;
  bool no_devices = false;  // "No devices were found": the tool works and there is no GPU
  std::string line;         // the line that says it, or that nothing was said
};
// Reads output that is not what was asked for: a driver that is not loaded or does not match its
// library is kToolFault, a refusal is kNotPermitted, anything else is kUnparsable.
Complaint ReadComplaint(std::string_view text);

struct LostGpu {
  std::optional<int> index;  // newer versions say "GPU3: 0000:5D:00.0", older ones only the address
  uint64_t pci = 0;          // PciKey of the address
  std::string line;
};
// Lines "Unable to determine the device handle for GPU...", wherever they stand before the
// document.
std::vector<LostGpu> LostGpus(std::string_view text);

}  // namespace muster::nvidia_smi
