#include <cstddef>
#include <cstdint>

#include "probes/kubernetes/probes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "prod";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  for (const muster::Probe& probe : muster::KubernetesProbes()) (void)probe.parse(reading);
  return 0;
}
