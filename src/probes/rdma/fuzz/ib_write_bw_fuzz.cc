// Any bytes as the transcript, the table and the report of ib_write_bw.
#include <cstddef>
#include <cstdint>

#include "probes/rdma/ib_write_bw.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Reading reading;
  reading.host = "node000";
  reading.text.assign(reinterpret_cast<const char*>(data), size);
  (void)muster::rdma::ParsePairReading(reading);
  (void)muster::rdma::ParseWriteBw(reading.text);
  (void)muster::rdma::ParseWriteBwJson(reading.text, true);
  return 0;
}
