// What the API server of this machine takes from a bare loop: pods created, bound, their status
// written, listed, deleted. The yardstick for whatever schedules through it. Usage:
//   kube_bench KUBECONFIG bind PODS CONNECTIONS      creates, binds, sets Running, deletes
//   kube_bench KUBECONFIG list pages|stream [gzip]   lists every pod and node there is
//   kube_bench KUBECONFIG fill PODS                  creates and leaves them
//   kube_bench KUBECONFIG gangs NODES GANGS SIZE PID  gangs for the scheduler that is process PID
//   kube_bench KUBECONFIG bare NODES GANGS SIZE       the same pods, bound by a bare loop
// bench/kube_sched.sh runs the last two beside each other.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/connection.h"
#include "kube/core.h"
#include "kube/reflector.h"
#include "kube_process.h"
#include "world/posix/posix_world.h"

namespace muster::kube {
namespace {

constexpr const char* kNs = "bench";

long PeakRssMiB() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss / 1024;
}

std::string PodBody(int i) {
  return fmt::format(
      R"({{"metadata":{{"name":"b-{0}","labels":{{"app":"bench","job":"j-{1}"}}}},)"
      R"("spec":{{"schedulerName":"none","terminationGracePeriodSeconds":0,)"
      R"("automountServiceAccountToken":false,)"
      R"("containers":[{{"name":"c","image":"registry.example/train:1.0","resources":)"
      R"({{"requests":{{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"1"}},)"
      R"("limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}})",
      i, i / 8);
}

// All requests through the client's own flow control; one line of figures.
template <typename Make>
void Pass(Client& client, const char* name, int count, Make make) {
  const auto began = std::chrono::steady_clock::now();
  const double cpu = OwnCpuSeconds();
  int ended = 0, failed = 0, next = 0;
  double longest_gap_ms = 0;
  auto last = began;
  std::vector<double> took;
  std::string first_error;
  const std::function<void()> start = [&] {
    const auto sent = std::chrono::steady_clock::now();
    client.Start(make(next++), [&, sent](const Answer& answer) {
      const auto now = std::chrono::steady_clock::now();
      took.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
      longest_gap_ms =
          std::max(longest_gap_ms, std::chrono::duration<double, std::milli>(now - last).count());
      last = now;
      ++ended;
      if (!answer.ok()) {
        ++failed;
        if (first_error.empty()) first_error = answer.error->ToString();
      }
      if (next < count) start();
    });
  };
  for (int i = 0; i < std::min(count, 100); ++i) start();
  while (ended < count) client.Poll(std::chrono::seconds(1));
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::sort(took.begin(), took.end());
  fmt::print(
      "{:<14} {:>7} in {:>6.1f} s: {:>6.0f}/s, p50 {:.0f} ms, p99 {:.0f} ms, longest time without "
      "an answer {:.0f} ms, client CPU {:.0f} us each, {} failed\n",
      name, count, wall, count / wall, took[took.size() / 2], took[took.size() * 99 / 100],
      longest_gap_ms, (OwnCpuSeconds() - cpu) / count * 1e6, failed);
  if (failed > 0) fmt::print("  {}\n", first_error);
  std::fflush(stdout);
}

void Fill(Client& client, int pods) {
  Pass(client, "create", pods, [](int i) { return Create(kPods, kNs, PodBody(i)); });
}

void Bindings(Client& client, int pods) {
  for (int i = 0; i < 100; ++i) {
    client.Await(Create(kNodes, "", fmt::format(R"({{"metadata":{{"name":"bench-{}"}}}})", i)));
  }
  Fill(client, pods);
  Pass(client, "bind", pods, [](int i) {
    return Bind(kNs, fmt::format("b-{}", i), "", fmt::format("bench-{}", i % 100));
  });
  Pass(client, "get", pods, [](int i) { return Get(kPods, kNs, fmt::format("b-{}", i)); });
  Pass(client, "status patch", pods, [](int i) {
    return StrategicPatch(
        kPods, kNs, fmt::format("b-{}", i),
        R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})",
        "status");
  });
  Pass(client, "delete", pods,
       [](int i) { return Delete(kPods, kNs, fmt::format("b-{}", i), {}, 0); });
}

// Pods and nodes at once, as the scheduler lists them.
void Listing(Client& client, ListMode mode) {
  const auto began = std::chrono::steady_clock::now();
  const double cpu = OwnCpuSeconds();
  const long rss = PeakRssMiB();
  const auto trouble = [](const Error& error, bool) {
    fmt::print(stderr, "{}\n", error.ToString());
  };
  Reflector<Pod> pods(client, {.resource = kPods, .mode = mode}, DecodePod, {}, trouble);
  Reflector<Node> nodes(client, {.resource = kNodes, .mode = mode}, DecodeNode, {}, trouble);
  nodes.Start();
  pods.Start();
  const auto over = [](const auto& one) { return one.synced() || one.stopped(); };
  while (!over(pods) || !over(nodes)) client.Poll(std::chrono::seconds(1));
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  fmt::print(
      "list of {} pods and {} nodes: {:.2f} s wall, {:.2f} s client CPU, peak RSS {} MiB (before: "
      "{} MiB)\n",
      pods.known().all().size(), nodes.known().all().size(), wall, OwnCpuSeconds() - cpu,
      PeakRssMiB(), rss);
}

// What the process has used so far, in seconds of CPU, and its peak of resident memory.
struct Used {
  double cpu_s = 0;
  long peak_mib = 0;
};
Used UsedBy(Files& files, const std::string& pid) {
  Used used;
  used.cpu_s = CpuSecondsOf(files, pid);
  const std::string status = files.Read("/proc/" + pid + "/status").value_or("");
  if (const size_t at = status.find("VmHWM:"); at != std::string::npos)
    used.peak_mib = ParseInt(SplitBlank(status.substr(at, 60))[1]).value_or(0) / 1024;
  return used;
}

std::string GangPod(int gang, int rank, int size) {
  return fmt::format(
      R"({{"metadata":{{"name":"g{0}-{1}","labels":{{"muster.dev/gang":"g{0}",)"
      R"("muster.dev/gang-size":"{2}"}}}},)"
      R"("spec":{{"schedulerName":"muster","terminationGracePeriodSeconds":0,)"
      R"("automountServiceAccountToken":false,"containers":[{{"name":"c","image":"none","resources":)"
      R"({{"requests":{{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"1"}},)"
      R"("limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}})",
      gang, rank, size);
}

void MakeNodes(Client& client, int nodes) {
  Pass(client, "create nodes", nodes, [](int i) {
    const std::string amounts = R"({"cpu":"96","memory":"1Ti","pods":"110","nvidia.com/gpu":"8"})";
    return Create(kNodes, "",
                  fmt::format(R"({{"metadata":{{"name":"bench-{0}","labels":)"
                              R"({{"muster.dev/leaf":"leaf{1}","muster.dev/spine":"spine{2}"}}}},)"
                              R"("status":{{"capacity":{3},"allocatable":{3},"conditions":)"
                              R"([{{"type":"Ready","status":"True"}}]}}}})",
                              i, i / 32, i / 256, amounts));
  });
}

// Pods of the namespace that no node has; the server counts.
int64_t Unbound(Client& client) {
  const auto body = client.Ask(List(kPods, kNs, {"", "spec.nodeName="}, 1));
  if (!body.ok()) return -1;
  const std::string rest = ValueAt(*body, "/metadata/remainingItemCount").value_or("0");
  const bool one = ValueAt(*body, "/items/0").has_value();
  return ParseInt(rest).value_or(0) + (one ? 1 : 0);
}

// 32 workers create the pods in order, as in the published runs of the peers. `bind`: each is
// bound as soon as it is there; otherwise somebody else binds them.
void Gangs(Client& client, Files& files, int nodes, int gangs, int size, const std::string& pid) {
  const bool bind = pid.empty();
  const int count = gangs * size;
  MakeNodes(client, nodes);
  const Used before = bind ? Used{} : UsedBy(files, pid);
  const auto began = std::chrono::steady_clock::now();
  const auto wall = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  int next = 0, ended = 0, failed = 0;
  const std::function<void()> start = [&] {
    if (next == count) return;
    const int i = next++;
    client.Start(Create(kPods, kNs, GangPod(i / size, i % size, size)), [&, i](const Answer& made) {
      failed += made.ok() ? 0 : 1;
      start();
      if (!bind) return static_cast<void>(++ended);
      client.Start(Bind(kNs, fmt::format("g{}-{}", i / size, i % size), "",
                        fmt::format("bench-{}", i / 8 % nodes)),
                   [&](const Answer& bound) {
                     failed += bound.ok() ? 0 : 1;
                     ++ended;
                   });
    });
  };
  for (int i = 0; i < 32; ++i) start();
  while (ended < count) client.Poll(std::chrono::milliseconds(100));
  const double created = wall();
  constexpr double kLongest = 240;
  int64_t left = 0;
  while (!bind && (left = Unbound(client)) != 0 && wall() < kLongest) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
    while (std::chrono::steady_clock::now() < until) client.Poll(std::chrono::milliseconds(50));
  }
  fmt::print(
      "{}: {} pods of {} gangs on {} nodes: first create to last bind {:.1f} s (created in "
      "{:.1f} s), {:.0f} pods/s, {} failed, {} left\n",
      bind ? "bare loop" : "scheduler", count, gangs, nodes, wall(), created, count / wall(),
      failed, left);
  if (bind) return;
  const Used after = UsedBy(files, pid);
  fmt::print("scheduler CPU {:.3f} ms a bound pod, peak RSS {} MiB\n",
             (after.cpu_s - before.cpu_s) * 1000 / count, after.peak_mib);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 3) {
    fmt::print(stderr,
               "usage: kube_bench KUBECONFIG bind|list|fill ...; the source's head says more\n");
    return 2;
  }
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = ConfigOrComplaint(world.files, args[0]);
  if (!config) return 2;
  ConnectionOptions options;
  if (args[1] == "bind" && args.size() > 3)
    options.connections = static_cast<int>(ParseInt(args[3]).value_or(2));
  options.compress = args.back() == "gzip";
  Connection connection(world, *config, options);
  Client& client = connection.client();
  client.Await(Create(kNamespaces, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", kNs)));
  const int count = static_cast<int>(ParseInt(args[2]).value_or(0));
  if (args[1] == "fill") Fill(client, count);
  if (args[1] == "bind") Bindings(client, count);
  if ((args[1] == "gangs" && args.size() > 5) || (args[1] == "bare" && args.size() > 4)) {
    const auto number = [&](size_t i) { return static_cast<int>(ParseInt(args[i]).value_or(1)); };
    Gangs(client, world.files, number(2), number(3), number(4), args[1] == "gangs" ? args[5] : "");
  }
  if (args[1] == "list")
    Listing(client, args[2] == "stream" ? ListMode::kStream : ListMode::kPages);
  return 0;
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) { return muster::kube::Main(argc, argv); }
