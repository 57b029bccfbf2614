// What a queue's admission costs beside an API server, and what the player of kubelets does. PIDS:
// the scheduler or player, then the API server and etcd; their CPU is printed for each item. Usage:
//   kueue_bench KUBECONFIG admit COUNT PIDS     one-pod Workloads in 30 ClusterQueues of 6 cohorts,
//                                               all of which fit
//   kueue_bench KUBECONFIG turnover COUNT PIDS  the same with quota for a few: each ends when it
//   was
//                                               let in, and makes room for the next
//   kueue_bench KUBECONFIG jobs COUNT PIDS      one-pod batch/v1 Jobs that name a queue, all of
//                                               which fit
//   kueue_bench KUBECONFIG bare COUNT PIDS      the same Workloads, their status written by a bare
//                                               loop at once
//   kueue_bench KUBECONFIG watched COUNT PIDS   the same, written when a watch has brought the
//                                               Workload, as a scheduler must
//   kueue_bench KUBECONFIG pods COUNT           bound pods, left there
//   kueue_bench KUBECONFIG played COUNT PIDS    those pods, as the player runs and ends them
//   kueue_bench KUBECONFIG patches COUNT CONNECTIONS PIDS   the same two status patches a pod by a
//                                               bare loop
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

// CPU of processes since it was made; of this one too.
class Used {
 public:
  Used(Files& files, std::vector<std::string> pids) : files_(files), pids_(std::move(pids)) {
    pids_.emplace_back("self");
    for (const std::string& pid : pids_) before_.push_back(CpuSecondsOf(files_, pid));
  }
  // "CPU ms each: 0.31, 4.10, 0.72; this bench 0.20".
  std::string Each(int count) const {
    std::string text = "CPU ms each: ";
    for (size_t i = 0; i < pids_.size(); ++i)
      text += fmt::format("{}{:.2f}",
                          i + 1 == pids_.size() ? "; this bench "
                          : i == 0              ? ""
                                                : ", ",
                          (CpuSecondsOf(files_, pids_[i]) - before_[i]) * 1000 / count);
    return text;
  }

 private:
  Files& files_;
  std::vector<std::string> pids_;
  std::vector<double> before_;
};

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
                const std::vector<std::string>& pids) {
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
  const double began = Seconds();
  const Used used(files, pids);
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
      "{:.0f} admissions/s; {:.2f} writes each by the scheduler; {} failed {}; {}\n",
      jobs       ? "Jobs"
      : turnover ? "Workloads with turnover"
                 : "Workloads",
      in, count, kQueues, kCohorts, wall, created, in / wall,
      static_cast<double>(updates - own_updates) / count, create.failed(), create.trouble(),
      used.Each(count));
}

// Each status is written when its creation is answered or, `watched`, when a watch has brought it;
// then another watch follows as well, as beside a scheduler this bench does.
void BareWorkloads(Client& client, Files& files, int count, bool watched,
                   const std::vector<std::string>& pids) {
  int written = 0;
  const auto write = [&](int i) {
    client.Start(MergePatch(kWorkloads, kNs, fmt::format("w-{}", i), AdmittedStatus(i), "status"),
                 [&](const Answer&) { ++written; });
  };
  const auto trouble = [](const Error& error, bool) {
    fmt::print(stderr, "{}\n", error.ToString());
  };
  const Followed followed{.resource = kWorkloads};
  Reflector<Seen> looks(client, followed, DecodeSeen, {}, trouble);
  Reflector<Seen> writes(
      client, followed, DecodeSeen,
      [&](const Change<Seen>& change) {
        if (change.kind == ChangeKind::kAdded)
          write(static_cast<int>(ParseInt(change.after->meta.name.substr(2)).value_or(0)));
      },
      trouble);
  if (watched) looks.Start(), writes.Start();
  while (watched && !(looks.synced() && writes.synced())) client.Poll(std::chrono::seconds(1));
  const double began = Seconds();
  const Used used(files, pids);
  const Workers create(
      client, count, [](int i) { return Create(kWorkloads, kNs, WorkloadBody(i)); },
      [&](int i) {
        if (!watched) write(i);
      });
  while (written < count) client.Poll(std::chrono::milliseconds(100));
  const double wall = Seconds() - began;
  fmt::print(
      "bare loop{}: {} Workloads created and their status written in {:.1f} s: {:.0f}/s; {}\n",
      watched ? " that watches" : "", count, wall, count / wall, used.Each(count));
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
void Played(Client& client, Files& files, int count, const std::vector<std::string>& pids) {
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
  const double began = Seconds();
  const Used used(files, pids);
  fmt::print("ready\n");
  std::fflush(stdout);
  while (over < count && Seconds() - began < kLongestSeconds)
    client.Poll(std::chrono::milliseconds(100));
  const double wall = Seconds() - first;
  fmt::print(
      "player: {} pods to Running and to their end in {:.1f} s: {:.0f} status changes/s; {}\n",
      over, wall, (running + over) / wall, used.Each(running + over));
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

void BarePatches(Client& client, Files& files, int count, int connections,
                 const std::vector<std::string>& pids) {
  const double began = Seconds();
  const Used used(files, pids);
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
  fmt::print("bare loop, {} connections: {} status patches in {:.1f} s: {:.0f}/s, {} failed; {}\n",
             connections, 2 * count, Seconds() - began, 2 * count / (Seconds() - began),
             failed + run.failed(), used.Each(2 * count));
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 3) {
    fmt::print(stderr,
               "usage: kueue_bench KUBECONFIG WHAT COUNT [PIDS]; the source's head says more\n");
    return 2;
  }
  PosixWorld posix;
  const World world = posix.ports();
  const auto config = ConfigOrComplaint(world.files, args[0]);
  if (!config) return 2;
  const std::string& what = args[1];
  const int count = static_cast<int>(ParseInt(args[2]).value_or(0));
  std::vector<std::string> pids(args.begin() + 3, args.end());
  ConnectionOptions options;
  if (what == "patches" && !pids.empty()) {
    options.connections = static_cast<int>(ParseInt(pids.front()).value_or(2));
    pids.erase(pids.begin());
  }
  Connection connection(world, *config, options);
  Client& client = connection.client();
  client.Await(Create(kNamespaces, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", kNs)));
  // The controller that makes it does not run here; without it no pod is let in.
  client.Await(Create({"", "v1", "serviceaccounts", "ServiceAccount"}, kNs,
                      R"({"metadata":{"name":"default"}})"));
  if (what == "admit" || what == "turnover" || what == "jobs")
    Admissions(client, world.files, count, what == "jobs", what == "turnover", pids);
  if (what == "bare" || what == "watched")
    BareWorkloads(client, world.files, count, what == "watched", pids);
  if (what == "pods") FillPods(client, count);
  if (what == "played") Played(client, world.files, count, pids);
  if (what == "patches") BarePatches(client, world.files, count, options.connections, pids);
  return 0;
}

}  // namespace
}  // namespace muster::kube

int main(int argc, char** argv) { return muster::kube::Main(argc, argv); }
