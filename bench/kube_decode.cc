// Whether pods are better asked for as protobuf: the same list as JSON (simdjson, as the client
// reads it) and as application/vnd.kubernetes.protobuf, bytes on the wire, the server's CPU to
// write them, and ours to make the same values of them. Usage:
//   kube_decode KUBECONFIG [PID_OF_KUBE_APISERVER]     after `kube_bench KUBECONFIG fill 30000`
#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/connection.h"
#include "kube/core.h"
#include "kube/quantity.h"
#include "kube/stream_reader.h"
#include "kube_process.h"
#include "world/posix/posix_world.h"

namespace muster::kube {
namespace {

// ---- protobuf, as far as pods need it; field numbers: k8s.io/api/core/v1/generated.proto

struct Wire {
  std::string_view rest;
  uint32_t field = 0;
  uint64_t number = 0;
  std::string_view bytes;

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  bool Next() {
    if (rest.empty()) return false;
    const uint64_t tag = Varint();
    field = static_cast<uint32_t>(tag >> 3);
    number = 0, bytes = {};
    switch (tag & 7) {
      case 0:
        number = Varint();
        return true;
      case 2: {
        const uint64_t size = Varint();
        bytes = rest.substr(0, size);
        rest.remove_prefix(std::min<size_t>(size, rest.size()));
        return true;
      }
      default:
        rest = {};
        return false;
    }
  }
};

std::pair<std::string_view, std::string_view> PairOf(std::string_view entry) {
  std::pair<std::string_view, std::string_view> pair;
  for (Wire w{entry}; w.Next();) (w.field == 1 ? pair.first : pair.second) = w.bytes;
  return pair;
}

void ReadMeta(std::string_view text, Meta& meta) {
  for (Wire w{text}; w.Next();) {
    if (w.field == 1) meta.name = w.bytes;
    if (w.field == 3) meta.ns = w.bytes;
    if (w.field == 5) meta.uid = w.bytes;
    if (w.field == 6) meta.resource_version = w.bytes;
    if (w.field == 8) {
      for (Wire t{w.bytes}; t.Next();)
        if (t.field == 1) meta.created = TimePoint(std::chrono::seconds(t.number));
    }
    if (w.field == 11 || w.field == 12) {
      const auto [key, value] = PairOf(w.bytes);
      (w.field == 11 ? meta.labels : meta.annotations).emplace(key, value);
    }
    if (w.field == 13) {
      Owner& owner = meta.owners.emplace_back();
      for (Wire o{w.bytes}; o.Next();) {
        if (o.field == 1) owner.kind = o.bytes;
        if (o.field == 3) owner.name = o.bytes;
        if (o.field == 4) owner.uid = o.bytes;
        if (o.field == 5) owner.api_version = o.bytes;
        if (o.field == 6) owner.controller = o.number != 0;
      }
    }
  }
}

Amounts& AmountInto(Container& container, uint32_t field) {
  return field == 1 ? container.limits : container.requests;
}

void ReadContainer(std::string_view text, Container& container) {
  for (Wire w{text}; w.Next();) {
    if (w.field == 1) container.name = w.bytes;
    if (w.field == 2) container.image = w.bytes;
    if (w.field != 8) continue;
    for (Wire r{w.bytes}; r.Next();) {
      if (r.field != 1 && r.field != 2) continue;
      const auto [key, quantity] = PairOf(r.bytes);
      for (Wire q{quantity}; q.Next();) {
        const auto milli = ParseMilli(q.bytes);
        if (milli.ok()) AmountInto(container, r.field).emplace(key, *milli);
      }
    }
  }
}

Pod ReadPod(std::string_view text) {
  Pod pod;
  for (Wire w{text}; w.Next();) {
    if (w.field == 1) ReadMeta(w.bytes, pod.meta);
    if (w.field == 2) {
      for (Wire s{w.bytes}; s.Next();) {
        if (s.field == 2) ReadContainer(s.bytes, pod.containers.emplace_back());
        if (s.field == 3) pod.restart_policy = s.bytes;
        if (s.field == 7) pod.node_selector.insert(PairOf(s.bytes));
        if (s.field == 10) pod.node_name = s.bytes;
        if (s.field == 19) pod.scheduler_name = s.bytes;
        if (s.field == 25) pod.priority = static_cast<int32_t>(s.number);
        if (s.field == 22) {
          Toleration& t = pod.tolerations.emplace_back();
          for (Wire o{s.bytes}; o.Next();) {
            if (o.field == 1) t.key = o.bytes;
            if (o.field == 2) t.op = o.bytes;
            if (o.field == 3) t.value = o.bytes;
            if (o.field == 4) t.effect = o.bytes;
          }
        }
      }
    }
    if (w.field == 3) {
      for (Wire s{w.bytes}; s.Next();)
        if (s.field == 1) pod.phase = s.bytes;
    }
  }
  return pod;
}

// ---- one pass each

struct Sums {
  size_t pods = 0, names = 0;
  int64_t cpu_milli = 0;
  void Add(const Pod& pod) {
    ++pods;
    names += pod.meta.name.size() + pod.meta.uid.size();
    for (const auto& [name, milli] : pod.Requests())
      if (name == "cpu") cpu_milli += milli;
  }
};

Sums DecodeJson(const std::string& body) {
  Sums sums;
  const auto page = ReadList(body, [&](std::string_view json) -> Status {
    TRY(const Pod pod, DecodePod(json));
    sums.Add(pod);
    return {};
  });
  if (!page.ok()) fmt::print(stderr, "{}\n", page.error().ToString());
  return sums;
}

Sums DecodeProtobuf(const std::string& body) {
  Sums sums;
  if (!body.starts_with(std::string_view("k8s\0", 4))) return sums;
  for (Wire unknown{std::string_view(body).substr(4)}; unknown.Next();) {
    if (unknown.field != 2) continue;
    for (Wire list{unknown.bytes}; list.Next();)
      if (list.field == 2) sums.Add(ReadPod(list.bytes));
  }
  return sums;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: kube_decode KUBECONFIG [PID_OF_KUBE_APISERVER]\n");
    return 2;
  }
  const std::string pid = argc > 2 ? argv[2] : "";
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = ConfigOrComplaint(world.files, argv[1]);
  if (!config) return 2;
  Credentials credentials(*config, world.clock, world.files, world.processes);
  CurlOptions options;
  options.server = config->server, options.tls = config->tls;
  CurlTransport transport(options);
  for (int round = 0; round < 3; ++round) {
    for (const bool protobuf : {false, true}) {
      Exchange exchange;
      exchange.path = "/api/v1/pods?resourceVersion=0";
      exchange.headers["Accept"] =
          protobuf ? "application/vnd.kubernetes.protobuf" : "application/json";
      exchange.headers["Authorization"] = "Bearer " + credentials.Token().value_or("");
      exchange.timeout = std::chrono::minutes(2);
      std::string body;
      bool ended = false;
      const double server = CpuSecondsOf(world.files, pid), own = OwnCpuSeconds();
      const auto began = std::chrono::steady_clock::now();
      transport.Start(std::move(exchange),
                      {[](const ResponseHead&) {}, [&](std::string_view bytes) { body += bytes; },
                       [&](const Status&) { ended = true; }});
      while (!ended) transport.Poll(std::chrono::seconds(1));
      const double wall =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      const double server_cpu = CpuSecondsOf(world.files, pid) - server;
      const double receive = OwnCpuSeconds() - own, before = OwnCpuSeconds();
      const Sums sums = protobuf ? DecodeProtobuf(body) : DecodeJson(body);
      const double decode = OwnCpuSeconds() - before;
      fmt::print(
          "{}: {} pods, {} B ({:.0f} B a pod), {:.2f} s wall; CPU: server {:.2f} s, receiving "
          "{:.3f} "
          "s, decoding {:.3f} s ({:.2f} us a pod); check {}/{}\n",
          protobuf ? "protobuf" : "json    ", sums.pods, body.size(),
          static_cast<double>(body.size()) / static_cast<double>(std::max<size_t>(sums.pods, 1)),
          wall, server_cpu, receive, decode,
          decode * 1e6 / static_cast<double>(std::max<size_t>(sums.pods, 1)), sums.names,
          sums.cpu_milli);
    }
  }
  return 0;
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) { return muster::kube::Main(argc, argv); }
