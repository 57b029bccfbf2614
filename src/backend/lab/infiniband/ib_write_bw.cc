// Tested by tools_test.cc, through the programs it is part of.
// ib_write_bw of perftest 4.5. The bandwidth is that of the modelled fabric; nothing is moved.
#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

constexpr std::string_view kRule =
    "---------------------------------------------------------------------------------------\n";

const Nic* FindNic(const ToolCall& call, const std::string& device) {
  if (call.node == nullptr) return nullptr;
  for (const Nic& nic : call.node->nics) {
    if (!HcaNow(call.state, *call.node, nic, call.now).present) continue;
    if (device.empty() || nic.device == device) return &nic;
  }
  return nullptr;
}

const Node* FindTarget(const LabState& state, const std::string& target) {
  if (const Node* node = state.cluster.FindNode(target)) return node;
  for (const Node& node : state.cluster.nodes) {
    if (!node.address.empty() && node.address == target) return &node;
  }
  return nullptr;
}

CommandResult CannotConnect(const std::string& target, const std::string& port) {
  return Complained(
      fmt::format("Couldn't connect to {}:{}\nUnable to open file descriptor for socket "
                  "connection Unable to init the socket connection\n",
                  target, port),
      1);
}

struct Test {
  std::string device;
  int64_t bytes = 65536, iterations = 5000;
  int lid = 0, peer_lid = 0;
  bool gbits = false, bidirectional = false, timed = false;
  double gbit_per_s = 0;
};

std::string Render(const Test& test) {
  // Printed with "MB/sec" perftest divides by 2^20.
  const double unit = test.gbits ? 1 : 8.0 * 1048576 / 1e9;
  const double rate = test.gbit_per_s * (test.bidirectional ? 2 : 1);
  const double messages = rate * 1e9 / 8 / static_cast<double>(test.bytes) / 1e6;
  std::string out(kRule);
  out += fmt::format(
      "                    RDMA_Write {}BW Test\n"
      " Dual-port       : OFF\t\tDevice         : {}\n"
      " Number of qps   : 1\t\tTransport type : IB\n"
      " Connection type : RC\t\tUsing SRQ      : OFF\n"
      " PCIe relax order: ON\n ibv_wr* API     : ON\n TX depth        : 128\n"
      " CQ Moderation   : 100\n Mtu             : 4096[B]\n Link type       : IB\n"
      " Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n",
      test.bidirectional ? "Bidirectional " : "", test.device);
  out += kRule;
  out += fmt::format(
      " local address: LID 0x{:02x} QPN 0x0127 PSN 0x8a1f2c RKey 0x1fff00 VAddr 0x007f1b6e3d0000\n"
      " remote address: LID 0x{:02x} QPN 0x0127 PSN 0x3d90c1 RKey 0x1fff00 VAddr "
      "0x007f8a20c10000\n",
      test.lid, test.peer_lid);
  out += kRule;
  const std::string_view name = test.gbits ? "Gb/sec" : "MB/sec";
  out += fmt::format(" #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]\n",
                     name);
  out += fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}\t\t   {:<7.6f}\n",
                     test.bytes, test.iterations, test.timed ? 0.0 : rate / unit, rate / unit,
                     messages);
  out += kRule;
  return out;
}

}  // namespace

CommandResult IbWriteBw(const ToolCall& call) {
  const Arguments args = ReadArguments(
      call.args,
      "-d --ib-dev -p --port -s --size -D --duration -n --iters -i --ib-port -q --qp -x");
  const auto value = [&](std::string_view brief, std::string_view full) {
    return args.Has(brief) ? args.Value(brief) : args.Value(full);
  };
  const std::string wanted = value("-d", "--ib-dev");
  const Nic* nic = FindNic(call, wanted);
  if (nic == nullptr) {
    return Complained(
        fmt::format(" IB device {} not found\n Unable to find the Infiniband/RoCE device\n",
                    wanted),
        1);
  }
  const HcaTruth hca = HcaNow(call.state, *call.node, *nic, call.now);
  if (hca.state != "Active") {
    return Complained(fmt::format(" Port number 1 state is {}\n Couldn't set the link layer\n"
                                  " Couldn't get context for the device\n",
                                  hca.state),
                      1);
  }
  if (args.rest.empty()) {
    return Printed(
        "\n************************************\n* Waiting for client to connect... *\n"
        "************************************\n");
  }
  const std::string port = value("-p", "--port").empty() ? "18515" : value("-p", "--port");
  const Node* target = FindTarget(call.state, args.rest[0]);
  const bool reachable = target != nullptr && NodeNow(call.state, *target, call.now).reachable;
  if (!reachable) return CannotConnect(args.rest[0], port);
  const auto peer = std::find_if(target->nics.begin(), target->nics.end(),
                                 [&](const Nic& n) { return n.rail == nic->rail; });
  if (peer == target->nics.end()) return CannotConnect(args.rest[0], port);
  const HcaTruth other = HcaNow(call.state, *target, *peer, call.now);
  // No server came up on the other side.
  if (!other.present || other.state != "Active") return CannotConnect(args.rest[0], port);
  Test test;
  test.device = nic->device;
  if (const auto n = ParseInt(value("-s", "--size")); n.ok() && *n > 0) test.bytes = *n;
  test.lid = hca.lid;
  test.peer_lid = other.lid;
  test.gbits = args.Has("--report_gbits");
  test.bidirectional = args.Has("-b") || args.Has("--bidirectional");
  test.timed = args.Has("-D") || args.Has("--duration");
  test.gbit_per_s = PairBandwidth(call.state, call.node->name, target->name, nic->rail, call.now);
  if (test.gbit_per_s <= 0) {
    return Complained(" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n",
                      1);
  }
  if (test.timed) {
    const auto seconds = ParseInt(value("-D", "--duration"));
    const double run = seconds.ok() && *seconds > 0 ? static_cast<double>(*seconds) : 2;
    test.iterations =
        static_cast<int64_t>(test.gbit_per_s * 1e9 / 8 / static_cast<double>(test.bytes) * run);
  }
  return Printed(Render(test));
}

}  // namespace muster::lab::infiniband
