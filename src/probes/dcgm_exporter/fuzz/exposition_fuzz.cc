#include <cstdint>
#include <string_view>

#include "probes/dcgm_exporter/gpu_page.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::dcgm_exporter;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Dialect dialect = data[0] % 2 == 0 ? Dialect::kText004 : Dialect::kOpenMetrics;
  const GpuPage page = ParseGpuPage(text, dialect);
  if (page.GpusWithData() > page.gpus.size()) __builtin_trap();
  return 0;
}
