// What is so of one GPU: its data sheet, its idle state, and what faults do to it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backend/lab/state/chance.h"
#include "backend/lab/state/truth.h"
#include "base/strings.h"

namespace muster::lab {

namespace {

struct DataSheet {
  std::string_view mark;  // in the product name
  int nvlinks;
  double nvlink_gbyte_per_s;  // a link and direction, as `nvidia-smi nvlink -s` prints it
  double memory_mib, power_watt;
  int pcie_gen;
};
// NVIDIA data sheets; memory as nvidia-smi prints it; link speeds:
// docs.nvidia.com/health-validation/reference/checks/nvlink. The first mark found counts, so the
// narrower names stand first.
constexpr DataSheet kSheets[] = {
    {"H100 PCIe", 0, 0, 81559, 350, 5},
    {"H100 NVL", 12, 26.562, 95830, 400, 5},
    {"H200 NVL", 18, 26.562, 143771, 600, 5},
    {"H200", 18, 26.562, 143771, 700, 5},
    {"H100", 18, 26.562, 81559, 700, 5},
    {"GB300", 18, 53.125, 284208, 1400, 6},
    {"GB200", 18, 53.125, 189471, 1200, 6},
    {"B300", 18, 53.125, 275040, 1100, 6},
    {"B200", 18, 53.125, 183359, 1000, 6},
    {"A100-SXM4-40GB", 12, 25, 40960, 400, 4},
    {"A100-SXM", 12, 25, 81920, 400, 4},
    {"A100", 0, 0, 81920, 300, 4},
    {"L40S", 0, 0, 46068, 350, 4},
    {"L4", 0, 0, 23034, 72, 4},
    {"T4", 0, 0, 15360, 70, 3},
};

const DataSheet& SheetOf(std::string_view model) {
  for (const DataSheet& sheet : kSheets) {
    if (Contains(model, sheet.mark)) return sheet;
  }
  static constexpr DataSheet kOther = {"", 0, 0, 24576, 300, 4};
  return kOther;
}

GpuTruth Healthy(const LabState& state, const Node& node, const Gpu& gpu) {
  const DataSheet& sheet = SheetOf(gpu.model);
  const std::string part = fmt::format("{}/gpu{}", node.name, gpu.index);
  GpuTruth truth;
  truth.model = gpu.model;
  truth.uuid = gpu.uuid;
  truth.serial = fmt::format("165{:010}", DrawBits(state, part, "serial") % 10'000'000'000ull);
  truth.pci_bus_id = gpu.pci_bus_id;
  truth.index = gpu.index;
  truth.numa = gpu.numa;
  truth.temperature_celsius = std::floor(30 + 8 * Draw(state, part, "temperature"));
  truth.memory_temperature_celsius = truth.temperature_celsius + 6;
  truth.power_limit_watt = sheet.power_watt;
  truth.power_watt = std::floor(sheet.power_watt * (1.0 + 0.15 * Draw(state, part, "power"))) / 10;
  truth.pcie_gen = truth.pcie_gen_max = sheet.pcie_gen;
  // Without a peer there is nothing to link to.
  truth.nvlinks = truth.nvlinks_active = node.gpus.size() > 1 ? sheet.nvlinks : 0;
  truth.nvlink_gbyte_per_s = sheet.nvlink_gbyte_per_s;
  truth.memory_total_mib = sheet.memory_mib;
  // Corrected errors are normal on memory of this size.
  truth.ecc_corrected_aggregate = static_cast<int64_t>(4 * Draw(state, part, "ecc"));
  if (truth.nvlinks == 0) truth.fabric_state = truth.fabric_status = "N/A";
  return truth;
}

struct XidText {
  std::string_view kind;
  int code;
  std::string_view text;  // worded after public kernel logs of each code
};
constexpr XidText kXids[] = {
    {"xid_48", 48,
     "pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected "
     "on GPU in the framebuffer at partition 6, subpartition 0."},
    {"xid_63", 63,
     "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to "
     "activate."},
    {"xid_64", 64,
     "pid='<unknown>', name=<unknown>, Row Remapper: Error recording row remap, all reserved rows "
     "for bank are remapped"},
    {"xid_74", 74,
     "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(0x10000, 0x0, 0x0, "
     "0x0, 0x0, 0x0, 0x0)"},
    {"xid_79", 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
    {"xid_94", 94, "pid=48211, name=python3, Contained: LTS (0x6,0x1). RST: No, D-RST: No"},
    {"xid_95", 95, "pid=48211, name=python3, Uncontained: LTS TAG (0x6,0x1). RST: Yes, D-RST: No"},
    {"xid_119", 119,
     "pid=48211, name=python3, Timeout after 6s of waiting for RPC response from GPU0 GSP! "
     "Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4)."},
};

void ApplyXids(const LabState& state, const Subject& gpu, TimePoint now, GpuTruth& truth) {
  for (const XidText& xid : kXids) {
    const Fault* fault = state.Find(xid.kind, gpu);
    if (fault == nullptr || fault->since > now) continue;
    truth.xids.push_back({xid.code, fault->since, std::string(xid.text)});
  }
  std::stable_sort(truth.xids.begin(), truth.xids.end(),
                   [](const XidEvent& a, const XidEvent& b) { return a.at < b.at; });
  for (const XidEvent& event : truth.xids) {
    switch (event.code) {
      case 48:
      case 95:
        truth.ecc_uncorrected_volatile += 1;
        break;
      case 94:  // contained: the page is off-lined and the row waits for its remap
        truth.ecc_uncorrected_volatile += 1;
        truth.remap_pending = true;
        break;
      case 63:
        truth.remap_pending = true;
        break;
      case 64:
        truth.remap_failed = true;
        break;
      case 74:
        truth.nvlinks_active = std::max(0, truth.nvlinks_active - 1);
        truth.nvlink_crc_errors += 1289;
        truth.nvlink_replays += 17;
        break;
      case 79:
        truth.lost = true;
        break;
      default:
        break;
    }
  }
}

void ApplyMemory(const LabState& state, const Subject& gpu, GpuTruth& truth) {
  if (state.Has("remap_pending", gpu)) truth.remap_pending = true;
  if (state.Has("remap_failed", gpu)) truth.remap_failed = true;
  if (const Fault* fault = state.Find("ecc_uncorrectable", gpu)) {
    truth.ecc_uncorrected_volatile += std::max<int64_t>(1, std::llround(Setting(*fault, "count")));
  }
  truth.ecc_uncorrected_aggregate += truth.ecc_uncorrected_volatile;
  if (truth.remap_pending || truth.remap_failed)
    truth.remapped_uncorrectable += truth.remap_failed ? 8 : 1;
}

void ApplyBoard(const LabState& state, const Subject& gpu, GpuTruth& truth) {
  if (state.Has("gpu_missing", gpu)) truth.present = false;
  if (state.Has("gpu_wrong_model", gpu)) {
    truth.model = Contains(truth.model, "A100") ? "NVIDIA A100-SXM4-40GB" : "NVIDIA A100-SXM4-80GB";
    truth.memory_total_mib = SheetOf(truth.model).memory_mib;
  }
  if (const Fault* fault = state.Find("gpu_memory_held", gpu))
    truth.memory_used_mib = Setting(*fault, "mib");
  if (const Fault* fault = state.Find("thermal", gpu)) {
    truth.temperature_celsius = Setting(*fault, "celsius");
    truth.memory_temperature_celsius = truth.temperature_celsius + 4;
    truth.throttle_thermal = true;
  }
  truth.throttle_power_brake = state.Has("power_brake", gpu);
  truth.mig_enabled = truth.mig_enabled || state.Has("mig_left_on", gpu);
  truth.persistence = !state.Has("persistence_off", gpu);
  truth.diag_fails = state.Has("dcgm_fail", gpu);
  truth.diag_hides_error = state.Has("dcgm_hidden_error", gpu);
  if (const Fault* fault = state.Find("nvlink_down", gpu)) {
    truth.nvlinks_active =
        std::max(0, truth.nvlinks_active - static_cast<int>(Setting(*fault, "links")));
  }
  if (const Fault* fault = state.Find("pcie_width_degraded", gpu)) {
    truth.pcie_width = static_cast<int>(Setting(*fault, "width"));
    truth.pcie_replays = 42;
  }
}

}  // namespace

GpuTruth GpuNow(const LabState& state, const Node& node, int index, TimePoint now) {
  const auto it = std::find_if(node.gpus.begin(), node.gpus.end(),
                               [&](const Gpu& g) { return g.index == index; });
  if (it == node.gpus.end()) {
    GpuTruth none;
    none.present = false;
    none.index = index;
    return none;
  }
  GpuTruth truth = Healthy(state, node, *it);
  const Subject gpu = GpuSubject(node.name, index);
  const auto ops = state.ops.find(node.name);
  truth.mig_enabled = ops != state.ops.end() && ops->second.mig.contains(gpu.id);
  if (state.faults.empty()) return truth;
  ApplyXids(state, gpu, now, truth);
  ApplyMemory(state, gpu, truth);
  ApplyBoard(state, gpu, truth);
  return truth;
}

}  // namespace muster::lab
