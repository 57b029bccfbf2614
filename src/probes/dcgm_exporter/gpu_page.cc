#include "probes/dcgm_exporter/gpu_page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/strings.h"

namespace muster::dcgm_exporter {

namespace {

constexpr double kInt64Blank = 0x1.0p63;  // what 0x7ffffffffffffff0 and above round to
constexpr double kInt32Blank = 0x7ffffff0;
constexpr double kInt32Max = 0x7fffffff;
constexpr double kFp64Blank = 0x1.0p47;

std::string ValueOf(const Sample& sample, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const Label& label : sample.labels) {
      if (EqualsIgnoreCase(label.name, name)) return label.Value();
    }
  }
  return {};
}

class PageBuilder {
 public:
  GpuPage Build(std::string_view text, Dialect dialect) {
    Exposition report = ParseExposition(text, dialect, [this](const Sample& s) { Take(s); });
    // Types stand anywhere in the page, so blanks are told from counts only now.
    for (GpuReadings& gpu : page_.gpus) {
      for (auto& [name, value] : gpu.fields) {
        if (value && IsNoData(*value, IsCounter(report, name))) value.reset();
      }
    }
    page_.text = std::move(report);
    return std::move(page_);
  }

 private:
  void Take(const Sample& sample) {
    if (!StartsWith(sample.name, "DCGM_")) return;
    // NVLink and NvSwitch rows are about links; they carry a gpu label in some versions.
    if (sample.Find("nvlink") != nullptr || sample.Find("nvswitch") != nullptr) return;
    const Label* gpu = sample.Find("gpu");
    if (gpu == nullptr) return;
    const Result<int64_t> index = ParseInt(gpu->Value());
    if (!index || *index < 0 || *index > 1'000) return;
    GpuReadings& readings = GpuOf(static_cast<int>(*index), sample);
    readings.fields.emplace_back(sample.name, sample.value);
  }

  GpuReadings& GpuOf(int index, const Sample& sample) {
    const std::string instance = ValueOf(sample, {"GPU_I_ID"});
    for (GpuReadings& known : page_.gpus) {
      if (known.index == index && known.instance == instance) return known;
    }
    GpuReadings& fresh = page_.gpus.emplace_back();
    fresh.index = index;
    fresh.instance = instance;
    fresh.uuid = ValueOf(sample, {"UUID", "gpu_uuid"});
    fresh.model = ValueOf(sample, {"modelName", "model_name"});
    fresh.pci_bus_id = ValueOf(sample, {"pci_bus_id"});
    fresh.hostname = ValueOf(sample, {"hostname"});
    if (page_.driver_version.empty()) {
      page_.driver_version =
          ValueOf(sample, {"DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"});
    }
    return fresh;
  }

  static bool IsCounter(const Exposition& report, std::string_view name) {
    for (const Family& family : report.families) {
      if (family.name == name) return family.type == "counter";
    }
    return EndsWith(name, "_TOTAL") || EndsWith(name, "_total");
  }

  GpuPage page_;
};

}  // namespace

bool IsNoData(double value, bool counter) {
  if (std::isnan(value) || value >= kInt64Blank) return true;
  if (value >= kFp64Blank && value <= kFp64Blank + 15) return true;
  return !counter && value >= kInt32Blank && value <= kInt32Max;
}

std::optional<double> GpuReadings::Field(std::string_view name) const {
  for (const auto& [field, value] : fields) {
    if (field == name) return value;
  }
  return std::nullopt;
}

size_t GpuPage::GpusWithData() const {
  std::set<int> seen;
  for (const GpuReadings& gpu : gpus) {
    if (gpu.Field(kGpuUtil) || gpu.Field(kGpuUtilRatio)) seen.insert(gpu.index);
  }
  return seen.size();
}

std::vector<std::string> GpuPage::BlankFields() const {
  std::set<std::string> blank;
  for (const GpuReadings& gpu : gpus) {
    for (const auto& [name, value] : gpu.fields) {
      if (!value) blank.insert(name);
    }
  }
  return {blank.begin(), blank.end()};
}

GpuPage ParseGpuPage(std::string_view text, Dialect dialect) {
  return PageBuilder().Build(text, dialect);
}

}  // namespace muster::dcgm_exporter
