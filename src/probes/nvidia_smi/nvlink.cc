#include "probes/nvidia_smi/nvlink.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nvidia_smi/complaint.h"
#include "probes/nvidia_smi/field.h"

namespace muster::nvidia_smi {
namespace {

struct GpuLinks {
  int index = 0;
  std::set<int64_t> listed, active;
  bool damaged = false;
  bool all_inactive = false;  // said so instead of a list
  std::string excerpt;        // the header, or the first link that is down
};

// "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)"
std::optional<int> HeaderIndex(std::string_view line) {
  auto rest = After(line, "GPU ");
  if (!rest) return std::nullopt;
  const size_t colon = rest->find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto index = Count(rest->substr(0, colon));
  return index && *index < 1024 ? std::optional(static_cast<int>(*index)) : std::nullopt;
}

// "Link 3: 26.562 GB/s" or "Link 3: <inactive>"; anything else damages the GPU's list.
void ReadLink(std::string_view line, GpuLinks& gpu) {
  const auto rest = After(line, "Link ");
  const size_t colon = rest ? rest->find(':') : std::string_view::npos;
  const auto number =
      colon == std::string_view::npos ? std::nullopt : Count(rest->substr(0, colon));
  if (!number || !gpu.listed.insert(*number).second) {
    gpu.damaged = true;
    return;
  }
  const std::string_view value = Trim(rest->substr(colon + 1));
  const auto speed = NumberWithUnit(value, "GB/s");
  if (speed && *speed > 0) {
    gpu.active.insert(*number);
  } else if (speed || EqualsIgnoreCase(value, "<inactive>")) {
    if (!StartsWith(gpu.excerpt, "Link")) gpu.excerpt = std::string(line);
  } else {
    gpu.damaged = true;
  }
}

std::vector<GpuLinks> ReadGpus(std::string_view text) {
  std::vector<GpuLinks> gpus;
  for (auto raw : Lines(text)) {
    const auto line = Trim(raw);
    if (auto index = HeaderIndex(line)) {
      GpuLinks gpu;
      gpu.index = *index;
      gpu.excerpt = Shorten(Printable(line), 160);
      gpus.push_back(std::move(gpu));
    } else if (!gpus.empty() && StartsWith(line, "Link")) {
      ReadLink(line, gpus.back());
    } else if (!gpus.empty() && Contains(ToLower(line), "all links are inactive")) {
      gpus.back().all_inactive = true;
      gpus.back().excerpt = Shorten(Printable(line), 160);
    } else if (StartsWith(line, "Unable to determine the device handle")) {
      continue;  // of another GPU, which then has no list
    } else if (!gpus.empty() && !line.empty()) {
      gpus.back().damaged = true;
    }
  }
  if (!gpus.empty() && !EndsWith(text, "\n")) gpus.back().damaged = true;
  return gpus;
}

}  // namespace

Observations ParseNvlink(const Reading& reading) {
  ObservationBuilder out(reading);
  const auto gpus = ReadGpus(reading.text);
  if (gpus.empty()) {
    const Complaint complaint = ReadComplaint(reading.text);
    out.AddUnobserved(NodeSubject(reading.host), "nvlink.active", complaint.reason, complaint.line);
    return out.Take();
  }
  size_t most = 0;
  for (const auto& gpu : gpus) most = std::max(most, gpu.listed.size());
  for (const auto& gpu : gpus) {
    const Subject subject = GpuSubject(reading.host, gpu.index);
    if (gpu.all_inactive && gpu.listed.empty() && !gpu.damaged)
      out.Add(subject, "nvlink.active", int64_t{0}, Unit::kCount, gpu.excerpt);
    else if (gpu.damaged || gpu.listed.size() < most || gpu.listed.empty())
      out.AddUnobserved(
          subject, "nvlink.active", UnknownReason::kUnparsable,
          fmt::format("lists {} links where others list {}", gpu.listed.size(), most));
    else
      out.Add(subject, "nvlink.active", static_cast<int64_t>(gpu.active.size()), Unit::kCount,
              gpu.excerpt);
  }
  return out.Take();
}

}  // namespace muster::nvidia_smi
