// What a page of NVIDIA's dcgm-exporter says of each GPU: the same page whatever the spelling of
// its labels, and "no data" where DCGM wrote one of its blank values instead of a number.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/dcgm_exporter/exposition.h"

namespace muster::dcgm_exporter {

// The utilisation metric, by which GPUs are counted. dcgm-exporter 4.9.0 (DCGM 4.7) renamed it and
// turned percent into a ratio (release notes of 4.9.0); older pages and custom lists have the first
// name.
inline constexpr std::string_view kGpuUtil = "DCGM_FI_DEV_GPU_UTIL";
inline constexpr std::string_view kGpuUtilRatio = "DCGM_FI_DEV_GPU_UTIL_RATIO";

// DCGM's "no data". Blank, not found, not supported and not permitted are the values from
// 0x7ffffffffffffff0 (64 bit), from 0x7ffffff0 (32 bit, gauges only: a counter may well count
// there) and 2^47 to 2^47 + 15 (floating point). Source: dcgm_structs.h of DCGM 4;
// NVIDIA/dcgm-exporter's own README shows 9223372036854775794 on a page. NaN says nothing either.
bool IsNoData(double value, bool counter);

// A GPU, or one MIG instance of it.
struct GpuReadings {
  int index = 0;
  std::string instance;  // GPU_I_ID; empty = the whole GPU
  std::string uuid, model, pci_bus_id, hostname;
  std::vector<std::pair<std::string, std::optional<double>>> fields;  // nothing = "no data"

  // The field's value; nothing when the page has none or DCGM had no data.
  std::optional<double> Field(std::string_view name) const;
};

struct GpuPage {
  std::vector<GpuReadings> gpus;  // in the order of the page
  std::string driver_version;     // from the label row DCGM_FI_DRIVER_VERSION, when configured
  Exposition text;

  // GPUs (not instances) with a utilisation value.
  size_t GpusWithData() const;
  // Fields that are "no data" on at least one GPU, by name, sorted.
  std::vector<std::string> BlankFields() const;
};

// Understands the labels of dcgm-exporter 2.x to 4.9: gpu, UUID or gpu_uuid, modelName or
// model_name, Hostname or hostname.
GpuPage ParseGpuPage(std::string_view text, Dialect dialect);

}  // namespace muster::dcgm_exporter
