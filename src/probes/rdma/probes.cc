// Tested by ib_write_bw_test.cc.
#include "probes/rdma/probes.h"

#include <array>

#include "probes/rdma/ib_write_bw.h"

namespace muster {

namespace {

// Asked of one host alone, the measurement says that it needs two.
Reading NeedsPair(const HostPorts& ports) {
  Reading reading;
  reading.probe = "rdma.ib_write_bw";
  reading.host = ports.host;
  reading.command = "ib_write_bw";
  reading.at = ports.world.clock.Now();
  reading.origin = ports.origin;
  reading.exit_code = 1;
  reading.fault = Unobserved{UnknownReason::kNotObserved, "a pair of hosts is needed"};
  return reading;
}

}  // namespace

std::span<const Probe> RdmaProbes() {
  static const std::array<Probe, 1> kProbes = {
      {{"rdma.ib_write_bw", "txt", {"rdma.pair_rate"}, NeedsPair, rdma::ParsePairReading}}};
  return kProbes;
}

}  // namespace muster
