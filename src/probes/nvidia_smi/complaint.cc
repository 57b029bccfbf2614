#include "probes/nvidia_smi/complaint.h"

#include "base/strings.h"
#include "probes/nvidia_smi/field.h"

namespace muster::nvidia_smi {

Complaint ReadComplaint(std::string_view text) {
  Complaint complaint;
  complaint.line = "nothing was printed";
  for (auto line : Lines(text)) {
    if (Trim(line).empty()) continue;
    complaint.line = Shorten(Printable(Trim(line)), 160);
    if (Contains(line, "No devices were found")) {
      complaint.no_devices = true;
      complaint.reason = UnknownReason::kNotObserved;
    } else if (Contains(line, "Insufficient Permissions") || Contains(line, "ermission denied")) {
      complaint.reason = UnknownReason::kNotPermitted;
    } else if (Contains(line, "Failed to initialize NVML") ||
               Contains(line, "NVIDIA-SMI has failed") ||
               Contains(line, "Unable to determine the device handle")) {
      complaint.reason = UnknownReason::kToolFault;
    }
    break;  // the first line names the cause, the others comment on it
  }
  return complaint;
}

std::vector<LostGpu> LostGpus(std::string_view text) {
  std::vector<LostGpu> lost;
  // They precede the document; looking through all of a large one for them would cost as much as
  // parsing it.
  const std::string_view before = text.substr(0, text.find('<'));
  for (auto line : Lines(before)) {
    auto rest = After(Trim(line), "Unable to determine the device handle for GPU");
    if (!rest) continue;
    LostGpu gpu;
    gpu.line = Shorten(Printable(Trim(line)), 160);
    std::string_view words = *rest;
    if (!words.empty() && words.front() != ' ') {
      const size_t colon = words.find(':');
      // "GPU0000:5D:00.0: ..." has no index, "GPU3: 0000:5D:00.0: ..." has one.
      if (colon != std::string_view::npos && colon + 1 < words.size() && words[colon + 1] == ' ') {
        if (auto index = Count(words.substr(0, colon)); index && *index < 1024)
          gpu.index = static_cast<int>(*index);
        words = words.substr(colon + 1);
      }
    }
    words = Trim(words);
    if (auto key = PciKey(words.substr(0, words.find(": "))))
      gpu.pci = *key;
    else if (!gpu.index)
      continue;
    lost.push_back(std::move(gpu));
  }
  return lost;
}

}  // namespace muster::nvidia_smi
