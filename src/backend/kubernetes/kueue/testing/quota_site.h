// Queues, asks, and a server that writes down at once what the quota core decides. For tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/kubernetes/kueue/quota.h"

namespace muster::kueue::testing {

inline Queue ClusterQueueOf(const std::string& name, int64_t cpus, const std::string& cohort = "",
                            const std::string& flavor = "default-flavor") {
  Queue queue;
  queue.name = name;
  queue.parent = cohort;
  queue.quota.push_back({flavor, "cpu", cpus * 1000, {}, {}});
  return queue;
}
inline Queue LocalQueueOf(const std::string& name, const std::string& cluster_queue) {
  Queue queue;
  queue.name = name;
  queue.parent = cluster_queue;
  return queue;
}
inline Queues OneQueueOf(int64_t cpus) {
  Queues queues;
  queues.flavors.push_back({"default-flavor", {}});
  queues.queues = {ClusterQueueOf("cq", cpus), LocalQueueOf("ml/user-queue", "cq")};
  return queues;
}
inline Ask AskFor(const std::string& uid, int pods, int cpus = 1,
                  const std::string& queue = "ml/user-queue") {
  static int64_t second = 0;
  Ask ask;
  ask.meta.uid = ask.meta.name = uid;
  ask.meta.ns = "ml";
  ask.meta.resource_version = "10";
  ask.meta.created = TimePoint{std::chrono::seconds(++second)};
  ask.queue = queue;
  PodSetAsk set;
  set.count = pods;
  set.shape["cpu"] = int64_t{1000} * cpus;
  ask.sets.push_back(set);
  return ask;
}
inline Ask JobFor(const std::string& uid, int pods, bool runs) {
  Ask ask = AskFor(uid, pods);
  ask.kind = AskKind::kJob;
  ask.runs = runs;
  return ask;
}

// A server that writes down what is decided, at once.
struct Site {
  QuotaCore core;
  int64_t now_ms = 0;
  TimePoint wall{std::chrono::hours(24)};
  uint64_t version = 100;
  std::vector<Act> acts;
  // The watch tells of a write before the write itself is answered.
  bool watch_is_first = false;
  std::vector<Act> between;  // decided between the two

  explicit Site(Queues queues) { core.SetQueues(std::move(queues)); }
  std::vector<Act> Decide() {
    acts = std::exchange(between, {});
    core.Decide(now_ms += 10, wall += std::chrono::milliseconds(10), acts);
    return acts;
  }
  void Pass(Duration time) {
    now_ms += std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    wall += time;
  }
  Ask Written(const std::string& uid) {
    Ask ask = *core.Find(uid);
    ask.meta.resource_version = std::to_string(++version);
    return ask;
  }
  void Tell(const Ask& ask) {
    if (watch_is_first) {
      core.Set(ask);
      core.Decide(now_ms, wall, between);
      return core.Done(ask.meta.uid, version);
    }
    core.Done(ask.meta.uid, version);
    core.Set(ask);
  }
  // Decides and writes until nothing is to be written.
  std::vector<std::string> Settle() {
    std::vector<std::string> lines;
    for (int round = 0; round < 50 && !Decide().empty(); ++round) {
      for (const Act& act : acts) {
        if (const auto* admit = std::get_if<Admit>(&act)) {
          Ask ask = Written(admit->uid);
          ask.reserved = ask.admitted = true;
          ask.runs = ask.kind == AskKind::kJob;
          ask.cluster_queue = admit->cluster_queue, ask.flavors = admit->flavors;
          ask.places = admit->places, ask.counts = admit->counts;
          ask.admitted_at = wall;
          lines.push_back("admit " + admit->uid);
          Tell(ask);
        } else if (const auto* evict = std::get_if<Evict>(&act)) {
          Ask ask = Written(evict->uid);
          ask.reserved = ask.admitted = ask.runs = false;
          ask.flavors.clear(), ask.places.clear(), ask.counts.clear();
          ask.deactivate.reset(), ask.admitted_at.reset(), ask.pods_ready.reset();
          if (evict->requeue) ask.requeue = *evict->requeue, ask.backs_off = true;
          lines.push_back("evict " + evict->uid + " " + evict->reason);
          Tell(ask);
        } else if (const auto* hold = std::get_if<Hold>(&act)) {
          Ask ask = Written(hold->uid);
          ask.reserved = ask.runs = false;
          lines.push_back("hold " + hold->uid);
          Tell(ask);
        } else if (const auto* start = std::get_if<Start>(&act)) {
          Ask ask = Written(start->uid);
          ask.runs = true;
          lines.push_back("start " + start->uid);
          Tell(ask);
        } else if (const auto* finish = std::get_if<Finish>(&act)) {
          Ask ask = Written(finish->uid);
          ask.finished = true;
          lines.push_back("finish " + finish->uid);
          Tell(ask);
        } else if (const auto* say = std::get_if<SayWaiting>(&act)) {
          lines.push_back("say " + say->uid + " " + say->message);
          Tell(Written(say->uid));
        } else if (const auto* target = std::get_if<SayDeactivation>(&act)) {
          Ask ask = Written(target->uid);
          ask.deactivate = {target->reason, target->message};
          Tell(ask);
        } else if (const auto* off = std::get_if<Deactivate>(&act)) {
          Ask ask = Written(off->uid);
          ask.active = false;
          lines.push_back("deactivate " + off->uid);
          Tell(ask);
        } else if (const auto* again = std::get_if<SayRequeued>(&act)) {
          Ask ask = Written(again->uid);
          ask.backs_off = false;
          lines.push_back("requeued " + again->uid);
          Tell(ask);
        } else if (const auto* pods = std::get_if<SayPodsReady>(&act)) {
          Ask ask = Written(pods->uid);
          ask.pods_ready = pods->ready;
          ask.pods_ready->since = wall;
          lines.push_back("pods " + pods->uid + " " + pods->ready.reason);
          Tell(ask);
        }
      }
    }
    return lines;
  }
};

}  // namespace muster::kueue::testing
