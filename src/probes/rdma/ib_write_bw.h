// ib_write_bw of perftest: the bandwidth of an RDMA write between two hosts, adapter by adapter. A
// pair is as good as its slowest rail, so the reading is a transcript of one run per rail and the
// fact is their minimum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/observation.h"
#include "probes/probe.h"

namespace muster::rdma {

// One row of the table: a message size.
struct WriteBwRow {
  int64_t bytes = 0;
  int64_t iterations = 0;
  double peak_gbit_per_s = 0;  // 0 where it was not measured (-D or -N)
  double average_gbit_per_s = 0;
};
struct WriteBw {
  std::vector<WriteBwRow> rows;
  bool bidirectional = false;  // the figures are of both directions together
  std::string device;
  std::string trouble;  // why there are no rows: "Couldn't connect ...", "no table"
};

// Text of perftest (binary 4.5; a log of 5.x with the output of both sides run together exists
// too). MB/s there are MiB/s (perftest divides by 0x100000) and are brought to Gb/s; with
// --report_gbits it is 10^9 bit/s. Rows count only below a heading that names the unit.
WriteBw ParseWriteBw(std::string_view text);
// The report of --out_json. Its keys are unquoted in 4.5 and quoted later; it names no unit, so
// `in_gbits` says whether the command had --report_gbits.
WriteBw ParseWriteBwJson(std::string_view text, bool in_gbits);

// One rail of a pair: which device on which side.
struct PairRail {
  std::string server_device, client_device;  // "mlx5_0"
};
struct PairOptions {
  std::string server_address;  // how the client reaches the server; its name where empty
  int tcp_port = 18515;        // for the exchange of addresses; runs side by side need their own
  int64_t message_bytes = 65536;
  Duration duration = std::chrono::seconds(2);
};
// Starts the server on `server` and runs the client on `client`, rail by rail. Both ends are ended
// before it returns. A server that is not listening yet is tried again for 5 s.
Reading CollectPair(const HostPorts& server, const HostPorts& client,
                    const std::vector<PairRail>& rails, const PairOptions& options);

// rdma.pair_rate of the pair that the first line names ("# pair A B rails N"): the smallest average
// of its largest message; a bidirectional figure is halved. Not known when a rail of the N has no
// figure.
Observations ParsePairReading(const Reading& reading);

}  // namespace muster::rdma
