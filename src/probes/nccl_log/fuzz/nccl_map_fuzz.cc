// No bytes make the reader of NCCL logs crash.
#include <cstdint>
#include <string_view>

#include "probes/nccl_log/nccl_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto map = muster::nccl_log::ParseNcclLog(text);
  muster::Reading reading;
  reading.host = "all";
  muster::ObservationBuilder out(reading);
  muster::nccl_log::AddObservations(map, {muster::SubjectKind::kScope, "all"},
                                    muster::nccl_log::RailByName, out);
  return 0;
}
