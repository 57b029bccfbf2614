// No bytes make the reader of nccl-tests crash, and no broken run has a plateau.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/nccl_tests/collective_run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto run = muster::nccl_tests::ParseCollective(text);
  if (!run.complete() && muster::nccl_tests::Plateau(run).ok()) std::abort();
  muster::Reading reading;
  reading.host = "all";
  muster::ObservationBuilder out(reading);
  muster::nccl_tests::AddObservations(run, {muster::SubjectKind::kScope, "all"}, out);
  return 0;
}
