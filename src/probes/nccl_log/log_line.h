// One line of an NCCL log, taken out of whatever a job runner put around it: who says it, and what.
// The grammar is
// "<prefix?><host>:<pid>:<tid> [<cuda device>] NCCL INFO|WARN <text>" since 2.4; WARN lines carry
// file:line before NCCL, and 2.24 may print a time stamp first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::nccl_log {

struct LogLine {
  std::string_view host;  // without tags such as "[1,3]<stdout>:", "[default0]:" or "rank3: "
  long long pid = 0;
  int cuda_device = -1;  // of the thread that speaks; -1 where the line does not say
  bool warn = false;
  std::string_view text;  // what follows NCCL INFO or NCCL WARN
  bool closed = true;     // false: the stream ended before this line did
};

// Nothing when the line is not NCCL's. A line whose speaker cannot be read has an empty host.
std::optional<LogLine> ReadLogLine(std::string_view line);

// One connection between two ranks: "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA".
struct EdgeText {
  int channel = 0;
  int connection = 0;    // after the slash since 2.12; 1 is point to point, 0 is a collective's
  int from = 0, to = 0;  // ranks
  int from_device =
      -1;  // NVML index in brackets (2.18 and later); -1 where a bus id or nothing stands there
  int to_device = -1;
  enum class Side { kSend, kReceive, kBoth } side = Side::kBoth;
  std::string transport;  // "NET/IB", "NET/IBext_v8", "NET/Socket", "NET/AWS Libfabric",
                          // "P2P/CUMEM", "SHM/direct/direct"
  int device = -1;        // of a NET transport, in the order of that rank's device list
  int proxy_rank = -1;    // PXN: the rank whose adapter it is
  bool gdr = false;
  bool net() const { return transport.starts_with("NET/"); }
};
// Nothing when the text is no edge; an edge whose parts cannot all be read has `transport` empty.
std::optional<EdgeText> ReadEdge(std::string_view text);

}  // namespace muster::nccl_log
