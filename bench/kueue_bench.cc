// What a queue's admission costs beside an API server, and what the player of kubelets does. Usage:
//   kueue_bench KUBECONFIG WHAT COUNT [PID], WHAT being
//   admit     one-pod Workloads in 30 ClusterQueues of 6 cohorts, all of which fit, let in by the
//             scheduler that is process PID
//   turnover  the same with quota for a few: each ends when it was let in, and makes room
//   jobs      one-pod batch/v1 Jobs that name a queue, all of which fit
//   bare      the same Workloads, their status written by a bare loop
//   pods      bound pods, left there
//   played    those pods, as the player that is process PID runs and ends them
//   patches   the same two status patches a pod by a bare loop
// bench/kueue_load.sh and bench/player_rate.sh run them beside each other.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
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

constexpr int kQueues = 30, kCohorts = 6, kNodesOfBench = 100, kWorkers = 64;
constexpr double kLongestSeconds = 400;
constexpr const char* kNs = "bench";

Resource Kueue(const char* plural, const char* kind, bool namespaced) {
  return {"kueue.x-k8s.io", "v1beta2", plural, kind, namespaced};
}
const Resource kWorkloads = Kueue("workloads", "Workload", true);

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// `count` requests, kWorkers of them at a time; `then` starts what follows from an answer.
class Workers {
 public:
  Workers(Client& client, int count, std::function<Request(int)> make,
          std::function<void(int)> then = {})
      : client_(client), count_(count), make_(std::move(make)), then_(std::move(then)) {
    for (int i = 0; i < kWorkers; ++i) Next();
  }
  bool done() const { return ended_ >= count_; }
  int failed() const { return failed_; }
  const std::string& trouble() const { return trouble_; }

 private:
  void Next() {
    if (next_ == count_) return;
    const int i = next_++;
    client_.Start(make_(i), [this, i](const Answer& answer) {
      ++ended_;
      if (!answer.ok()) {
        ++failed_;
        trouble_ = answer.error->ToString();
      }
      if (then_) then_(i);
      Next();
    });
  }
  Client& client_;
  const int count_;
  std::function<Request(int)> make_;
  std::function<void(int)> then_;
  int next_ = 0, ended_ = 0, failed_ = 0;
  std::string trouble_;
};

void MakeQueues(Client& client, int64_t cpus_each) {
  client.Await(Create(
      Kueue("resourceflavors", "ResourceFlavor", false), "",
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"any"}})"));
  for (int i = 0; i < kQueues; ++i) {
    client.Await(Create(
        Kueue("clusterqueues", "ClusterQueue", false), "",
        fmt::format(
            R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{{"name":"cq-{0}"}},)"
            R"("spec":{{"cohortName":"cohort-{1}","namespaceSelector":{{}},"resourceGroups":[{{"coveredResources":["cpu"],)"
            R"("flavors":[{{"name":"any","resources":[{{"name":"cpu","nominalQuota":{2}}}]}}]}}]}}}})",
            i, i % kCohorts, cpus_each)));
    client.Await(Create(
        Kueue("localqueues", "LocalQueue", true), kNs,
        fmt::format(
            R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{{"name":"lq-{0}"}},"spec":{{"clusterQueue":"cq-{0}"}}}})",
            i)));
  }
}

std::string WorkloadBody(int i) {
  return fmt::format(
      R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{{"name":"w-{0}"}},)"
      R"("spec":{{"queueName":"lq-{1}","podSets":[{{"name":"main","count":1,"template":{{"spec":{{"containers":)"
      R"([{{"name":"c","image":"none","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}}}]}}}})",
      i, i % kQueues);
}

std::string JobBody(int i) {
  return fmt::format(
      R"({{"metadata":{{"name":"j-{0}","labels":{{"kueue.x-k8s.io/queue-name":"lq-{1}"}}}},)"
      R"("spec":{{"suspend":true,"template":{{"spec":{{"restartPolicy":"Never","containers":)"
      R"([{{"name":"c","image":"none","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}}}}})",
      i, i % kQueues);
}

// As the scheduler writes it.
std::string AdmittedStatus(int i) {
  return fmt::format(
      R"({{"status":{{"admission":{{"clusterQueue":"cq-{0}","podSetAssignments":[{{"name":"main","count":1,)"
      R"("flavors":{{"cpu":"any"}},"resourceUsage":{{"cpu":"1"}}}}]}},"conditions":[)"
      R"({{"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":"Quota reserved in ClusterQueue cq-{0}","lastTransitionTime":"2026-01-01T00:00:00Z"}},)"
      R"({{"type":"Admitted","status":"True","reason":"Admitted","message":"The workload is admitted","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}})",
      i % kQueues);
}

struct Seen {
  Meta meta;
  bool in = false, over = false;
};
Result<Seen> DecodeSeen(std::string_view json) {
  TRY(Object object, DecodeObject(json));
  Seen seen;
  seen.in = ValueAt(json, "/status/admission/clusterQueue").has_value() ||
            ValueAt(json, "/spec/suspend").value_or("") == "false";
  seen.over = json.find("\"Finished\"") != std::string_view::npos;
  seen.meta = std::move(object.meta);
  return seen;
}

// Creates them and watches until each was let in; with `turnover`, ends each that was.
void Admissions(Client& client, Files& files, int count, bool jobs, bool turnover,
                const std::string& pid) {
  MakeQueues(client, turnover ? 10 : count);
  int in = 0, updates = 0, own_updates = 0;
  Followed followed;
  followed.resource = jobs ? kJobs : kWorkloads;
  Reflector<Seen> seen(
      client, followed, DecodeSeen,
      [&](const Change<Seen>& change) {
        if (change.kind != ChangeKind::kUpdated) return;
        ++updates;
        if (!change.after->in || change.before->in) return;
        ++in;
        if (!turnover) return;
        ++own_updates;
        client.Start(
            MergePatch(
                kWorkloads, kNs, change.after->meta.name,
                R"({"status":{"conditions":[{"type":"Finished","status":"True","reason":"Succeeded","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
                "status"),
            [](const Answer&) {});
      },
      [](const Error& error, bool) { fmt::print(stderr, "{}\n", error.ToString()); });
  seen.Start();
  while (!seen.synced()) client.Poll(std::chrono::milliseconds(100));
  const double before = CpuSecondsOf(files, pid), began = Seconds();
  const Workers create(client, count, [&](int i) {
    return Create(jobs ? kJobs : kWorkloads, kNs, jobs ? JobBody(i) : WorkloadBody(i));
  });
  double created = 0;
  while ((in < count || !create.done()) && Seconds() - began < kLongestSeconds) {
    client.Poll(std::chrono::milliseconds(100));
    if (created == 0 && create.done()) created = Seconds() - began;
  }
  const double wall = Seconds() - began;
  // What is still on its way when the last was let in counts too.
  while (Seconds() - began < wall + 2) client.Poll(std::chrono::milliseconds(100));
  fmt::print(
      "{}: {} of {} in {} ClusterQueues of {} cohorts let in within {:.1f} s (created in {:.1f} "
      "s): "
      "{:.0f} admissions/s; {:.2f} writes each by the scheduler, its CPU {:.2f} ms each; {} failed "
      "{}\n",
      jobs       ? "Jobs"
      : turnover ? "Workloads with turnover"
                 : "Workloads",
      in, count, kQueues, kCohorts, wall, created, in / wall,
      static_cast<double>(updates - own_updates) / count,
      (CpuSecondsOf(files, pid) - before) * 1000 / count, create.failed(), create.trouble());
}

void BareWorkloads(Client& client, int count) {
  const double began = Seconds();
  int written = 0;
  const Workers create(
      client, count, [](int i) { return Create(kWorkloads, kNs, WorkloadBody(i)); },
      [&](int i) {
        client.Start(
            MergePatch(kWorkloads, kNs, fmt::format("w-{}", i), AdmittedStatus(i), "status"),
            [&](const Answer&) { ++written; });
      });
  while (written < count) client.Poll(std::chrono::milliseconds(100));
  fmt::print("bare loop: {} Workloads created and their status written in {:.1f} s: {:.0f}/s\n",
             count, Seconds() - began, count / (Seconds() - began));
}

// ---- the player

std::string PlayedPod(int i) {
  return fmt::format(
      R"({{"metadata":{{"name":"p-{0}","annotations":{{"muster.dev/run-for":"1s"}}}},)"
      R"("spec":{{"nodeName":"node{1:03}","terminationGracePeriodSeconds":0,"restartPolicy":"Never",)"
      R"("automountServiceAccountToken":false,"tolerations":[{{"operator":"Exists"}}],)"
      R"("containers":[{{"name":"c","image":"none"}}]}}}})",
      i, i % kNodesOfBench);
}

// All of them are there before the player goes on (bench/player_rate.sh holds it), so that only
// status changes are measured.
void Played(Client& client, Files& files, int count, const std::string& pid) {
  int running = 0, over = 0;
  double first = 0;
  Followed followed;
  followed.resource = kPods;
  followed.ns = kNs;
  Reflector<Pod> pods(
      client, followed, DecodePod,
      [&](const Change<Pod>& change) {
        if (change.after == nullptr || change.before == nullptr) return;
        if (change.after->phase == change.before->phase) return;
        if (first == 0) first = Seconds();
        running += change.after->phase == "Running" ? 1 : 0;
        over += change.after->Finished() ? 1 : 0;
      },
      [](const Error& error, bool) { fmt::print(stderr, "{}\n", error.ToString()); });
  pods.Start();
  while (!pods.synced()) client.Poll(std::chrono::milliseconds(100));
  const double before = CpuSecondsOf(files, pid), began = Seconds();
  fmt::print("ready\n");
  std::fflush(stdout);
  while (over < count && Seconds() - began < kLongestSeconds)
    client.Poll(std::chrono::milliseconds(100));
  const double wall = Seconds() - first;
  fmt::print(
      "player: {} pods to Running and to their end in {:.1f} s: {:.0f} status changes/s, player's "
      "CPU "
      "{:.2f} ms a change\n",
      over, wall, (running + over) / wall,
      (CpuSecondsOf(files, pid) - before) * 1000 / (running + over));
}

void FillPods(Client& client, int count) {
  const Workers create(client, count, [](int i) { return Create(kPods, kNs, PlayedPod(i)); });
  while (!create.done()) client.Poll(std::chrono::milliseconds(100));
  if (create.failed() > 0) fmt::print("{} failed: {}\n", create.failed(), create.trouble());
}

std::string PhaseBody(const char* phase, bool runs) {
  const char* state =
      runs
          ? R"("running":{"startedAt":"2026-01-01T00:00:00Z"})"
          : R"("terminated":{"exitCode":0,"reason":"Completed","startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:01Z"})";
  return fmt::format(
      R"({{"status":{{"phase":"{0}","startTime":"2026-01-01T00:00:00Z","hostIP":"127.0.0.1","podIP":"10.244.0.7","podIPs":[{{"ip":"10.244.0.7"}}],"conditions":[)"
      R"({{"type":"PodReadyToStartContainers","status":"{1}","lastTransitionTime":"2026-01-01T00:00:00Z"}},)"
      R"({{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}},)"
      R"({{"type":"Ready","status":"{1}","lastTransitionTime":"2026-01-01T00:00:00Z"}},)"
      R"({{"type":"ContainersReady","status":"{1}","lastTransitionTime":"2026-01-01T00:00:00Z"}}],)"
      R"("containerStatuses":[{{"name":"c","image":"none","imageID":"played","containerID":"played://u/c","ready":{2},"started":{2},"restartCount":0,"state":{{{3}}}}}]}}}})",
      phase, runs ? "True" : "False", runs ? "true" : "false", state);
}

void BarePatches(Client& client, int count) {
  const double began = Seconds();
  int written = 0, failed = 0;
  const auto name = [](int i) { return fmt::format("p-{}", i); };
  const Workers run(
      client, count,
      [&](int i) { return MergePatch(kPods, kNs, name(i), PhaseBody("Running", true), "status"); },
      [&](int i) {
        client.Start(MergePatch(kPods, kNs, name(i), PhaseBody("Succeeded", false), "status"),
                     [&](const Answer& answer) {
                       ++written;
                       failed += answer.ok() ? 0 : 1;
                     });
      });
  while (written < count) client.Poll(std::chrono::milliseconds(100));
  fmt::print("bare loop: {} status patches in {:.1f} s: {:.0f}/s, {} failed\n", 2 * count,
             Seconds() - began, 2 * count / (Seconds() - began), failed + run.failed());
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 3) {
    fmt::print(stderr,
               "usage: kueue_bench KUBECONFIG WHAT COUNT [PID]; the source's head says more\n");
    return 2;
  }
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = ConfigOrComplaint(world.files, args[0]);
  if (!config) return 2;
  Connection connection(world, *config, {});
  Client& client = connection.client();
  client.Await(Create(kNamespaces, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", kNs)));
  // The controller that makes it does not run here; without it no pod is let in.
  client.Await(Create({"", "v1", "serviceaccounts", "ServiceAccount"}, kNs,
                      R"({"metadata":{"name":"default"}})"));
  const std::string &what = args[1], pid = args.size() > 3 ? args[3] : "";
  const int count = static_cast<int>(ParseInt(args[2]).value_or(0));
  if (what == "admit" || what == "turnover" || what == "jobs")
    Admissions(client, world.files, count, what == "jobs", what == "turnover", pid);
  if (what == "bare") BareWorkloads(client, count);
  if (what == "pods") FillPods(client, count);
  if (what == "played") Played(client, world.files, count, pid);
  if (what == "patches") BarePatches(client, count);
  return 0;
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) { return muster::kube::Main(argc, argv); }
