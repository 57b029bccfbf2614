#include "backend/kubernetes/kubernetes_actuator.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend/kubernetes/held_taint.h"
#include "backend/kubernetes/node_hold.h"
#include "backend/kubernetes/pod_work.h"
#include "base/strings.h"
#include "kube/json.h"

namespace muster::kubernetes {

namespace {

using kube::Json;

constexpr int kMostTries = 5;  // against somebody who changes the node all the time
constexpr int kMostPages = 10'000;

// 4xx: the server said no, and nothing was written. Else nobody can tell.
DidResult NotWritten(const kube::Answer& answer) {
  const bool proven = answer.status >= 400 && answer.status < 500;
  return {proven ? Did::kRefused : Did::kUnknown, answer.error ? answer.error->ToString() : ""};
}

std::string NodeName(const Action& action) { return std::string(action.on.Host()); }

}  // namespace

std::vector<ActKind> KubernetesActuator::Can() const {
  return {ActKind::kCordon, ActKind::kDrain, ActKind::kReturn};
}

std::vector<std::string> KubernetesActuator::Render(const Action& action) const {
  const std::string node = NodeName(action);
  switch (action.kind) {
    case ActKind::kCordon:
      return {fmt::format(
          "PATCH node {}: spec.unschedulable=true, {} and taint {} together; condition {}", node,
          kLeaseKey, kHeldTaint, kHeldCondition)};
    case ActKind::kReturn:
      return {fmt::format("PATCH node {}: {}, {} and the cordon go, operand labels as before", node,
                          kLeaseKey, kHeldTaint)};
    case ActKind::kDrain: {
      std::vector<std::string> lines;
      if (const auto it = action.params.find("operands");
          it != action.params.end() && it->second == "true")
        lines.push_back(fmt::format("PATCH node {}: labels {}* = false, their values kept in {}",
                                    node, kOperandPrefix, kOperandsKey));
      lines.push_back(
          fmt::format("POST eviction of every pod on {} but those of DaemonSets, mirrors{}", node,
                      action.Destructive() ? "" : " and pods that nothing would create anew"));
      return lines;
    }
    default:
      return {};
  }
}

Result<Fingerprint> KubernetesActuator::Before(const Action& action) {
  TRY(const Hold hold, ReadHold(NodeName(action)));
  return Fingerprint{{"hold", hold.version}};
}

DidResult KubernetesActuator::Patch(const std::string& node, const MakeChange& change) {
  for (int n = 1;; ++n) {
    const kube::Answer read = client_.Await(kube::Get(kube::kNodes, "", node));
    if (!read.ok()) return {Did::kRefused, "the node cannot be read: " + read.error->ToString()};
    const auto found = kube::DecodeNode(read.body);
    if (!found.ok()) return {Did::kRefused, found.error().ToString()};
    Change wanted = change(*found, read.body);
    if (wanted.patch.empty()) return wanted.answer;
    Json patch = Json::parse(wanted.patch);
    patch["metadata"]["resourceVersion"] = found->meta.resource_version;
    const kube::Answer wrote =
        client_.Await(kube::MergePatch(kube::kNodes, "", node, kube::Dump(patch)));
    if (wrote.ok()) return wanted.answer;
    if (wrote.status != 409) return NotWritten(wrote);
    if (n == kMostTries) return {Did::kRefused, "somebody changes the node all the time"};
  }
}

DidResult KubernetesActuator::Cordon(const Order& order) {
  if (order.lease.owner.empty()) return {Did::kRefused, "a cordon has its lease"};
  DidResult did =
      Patch(NodeName(order.action), [&](const kube::Node& node, const std::string& json) -> Change {
        if (order.fence < FenceOf(node))
          return {
              {Did::kRefused, fmt::format("fence {} is older than {}", order.fence, FenceOf(node))},
              ""};
        const auto lease = LeaseOf(node);
        if (Ours(lease, order)) return {{Did::kAccepted, "it is ours already"}, ""};
        if (node.unschedulable)
          return {{Did::kRefused, "somebody holds it: " + HoldOf(node, json).note}, ""};
        Json patch = {{"metadata",
                       {{"annotations",
                         {{std::string(kLeaseKey), WriteLease(order.lease)},
                          {std::string(kFenceKey), std::to_string(order.fence)}}}}},
                      {"spec", {{"unschedulable", true}}}};
        if (const auto taints = TaintsWith(json, order.run, true))
          patch["spec"]["taints"] = Json::parse(*taints);
        return {{Did::kAccepted, "cordoned with its lease"}, kube::Dump(patch)};
      });
  if (did.did == Did::kAccepted) did.detail += ShowHeld(order, true);
  return did;
}

std::string KubernetesActuator::ShowHeld(const Order& order, bool held) {
  const std::string node = NodeName(order.action);
  const std::string now = kube::WholeSeconds(client_.clock().Now());
  const std::string text =
      held ? fmt::format("{}, run {}: {}; until {}", order.lease.owner, order.run,
                         Printable(order.lease.reason), FormatTime(order.lease.until))
           : fmt::format("returned by run {}", order.run);
  const Json apply = {{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", {{"name", node}}},
                      {"status",
                       {{"conditions",
                         {{{"type", kHeldCondition},
                           {"status", held ? "True" : "False"},
                           {"reason", held ? "Held" : "Returned"},
                           {"message", Shorten(text, 1000)},
                           {"lastHeartbeatTime", now},
                           {"lastTransitionTime", now}}}}}}};
  kube::Request request = kube::Apply(kube::kNodes, "", node, kube::Dump(apply), true, "status");
  request.patience = std::chrono::seconds(5);
  const kube::Answer answer = client_.Await(std::move(request));
  return answer.ok() ? "" : "; its condition could not be set: " + answer.error->ToString();
}

DidResult KubernetesActuator::Return(const Order& order) {
  // Shown before the lease goes: killed in between, the return is given again, and nothing says
  // "held" for ever.
  const auto read = client_.Ask(kube::Get(kube::kNodes, "", NodeName(order.action)));
  const auto found = read.ok() ? kube::DecodeNode(*read) : Result<kube::Node>(Fail(read.error()));
  const bool ours = found.ok() && order.fence >= FenceOf(*found) && Ours(LeaseOf(*found), order);
  const std::string shown = ours ? ShowHeld(order, false) : "";
  DidResult did =
      Patch(NodeName(order.action), [&](const kube::Node& node, const std::string& json) -> Change {
        if (order.fence < FenceOf(node))
          return {
              {Did::kRefused, fmt::format("fence {} is older than {}", order.fence, FenceOf(node))},
              ""};
        const auto lease = LeaseOf(node);
        if (!Ours(lease, order))
          return {
              {Did::kRefused, "the lease on it is not ours any more: " + HoldOf(node, json).note},
              ""};
        Json annotations = {{std::string(kLeaseKey), nullptr},
                            {std::string(kOperandsKey), nullptr},
                            {std::string(kFenceKey), std::to_string(order.fence)}};
        Json patch = {{"metadata", {{"annotations", std::move(annotations)}}},
                      {"spec", {{"unschedulable", nullptr}}}};
        // A cordon of before stays.
        if (!lease->prior_schedulable) patch["spec"]["unschedulable"] = true;
        if (const std::string* kept = node.meta.Annotation(kOperandsKey)) {
          const Json labels = Json::parse(*kept, nullptr, false);
          if (!labels.is_object())
            return {{Did::kRefused, "the operands' labels of before cannot be read"}, ""};
          for (const auto& [label, was] : labels.items()) {
            // What somebody set meanwhile is theirs.
            const std::string* is = node.meta.Label(label);
            if (is != nullptr && *is == "false") patch["metadata"]["labels"][label] = was;
          }
        }
        if (const auto taints = TaintsWith(json, "", false))
          patch["spec"]["taints"] = *taints == "[]" ? Json() : Json::parse(*taints);
        return {{Did::kAccepted, "returned"}, patch.dump()};
      });
  if (did.did == Did::kAccepted) did.detail += shown;
  return did;
}

// Only labels that are there: where the operator deploys nothing, nothing is invented.
DidResult KubernetesActuator::HideOperands(const Order& order) {
  return Patch(NodeName(order.action), [&](const kube::Node& node, const std::string&) -> Change {
    if (node.meta.Annotation(kOperandsKey) != nullptr)
      return {{Did::kAccepted, "the operands are away"}, ""};
    Json kept = Json::object(), labels = Json::object();
    for (const auto& [label, value] : node.meta.labels) {
      if (!StartsWith(label, kOperandPrefix) || value == "false") continue;
      kept[label] = value;
      labels[label] = "false";
    }
    if (kept.empty()) return {{Did::kAccepted, "no operands"}, ""};
    const Json patch = {
        {"metadata",
         {{"annotations", {{std::string(kOperandsKey), kept.dump()}}}, {"labels", labels}}}};
    return {{Did::kAccepted, "the operands go"}, patch.dump()};
  });
}

Result<std::vector<kube::Pod>> KubernetesActuator::PodsOn(const std::string& node) {
  std::vector<kube::Pod> pods;
  std::string token;
  for (int page = 0; page < kMostPages; ++page) {
    TRY(const std::string body,
        client_.Ask(
            kube::List(kube::kPods, "", {"", "spec.nodeName=" + node}, options_.page, token)));
    const Json list = Json::parse(body, nullptr, false);
    if (!list.is_object() || !list.contains("items"))
      return Fail(Code::kParse, "expected a list of pods");
    for (const Json& item : list["items"]) {
      TRY(kube::Pod pod, kube::DecodePod(item.dump()));
      // Held again here: a server that ignores the selector must not have other pods evicted.
      if (pod.node_name == node) pods.push_back(std::move(pod));
    }
    token = kube::ValueAt(body, "/metadata/continue").value_or("");
    if (token.empty()) return pods;
  }
  return Fail(Code::kParse, "a list of pods without an end");
}

DidResult KubernetesActuator::Drain(const Order& order) {
  const std::string node = NodeName(order.action);
  const auto read = client_.Ask(kube::Get(kube::kNodes, "", node));
  if (!read.ok()) return {Did::kRefused, read.error().ToString()};
  const auto found = kube::DecodeNode(*read);
  if (!found.ok()) return {Did::kRefused, found.error().ToString()};
  if (order.fence < FenceOf(*found))
    return {Did::kRefused, fmt::format("fence {} is older than {}", order.fence, FenceOf(*found))};
  if (!order.lease.owner.empty() && !Ours(LeaseOf(*found), order))
    return {Did::kRefused,
            "the node is not held by this run any more: " + HoldOf(*found, *read).note};
  const auto operands = order.action.params.find("operands");
  if (operands != order.action.params.end() && operands->second == "true") {
    if (const DidResult hidden = HideOperands(order); hidden.did != Did::kAccepted) return hidden;
  }
  const bool force = order.action.Destructive();
  Clock& clock = client_.clock();
  const Duration patience = order.timeout > Duration::zero()
                                ? std::min(order.timeout, options_.evict_patience)
                                : options_.evict_patience;
  const Duration until = clock.Monotonic() + patience;
  while (true) {
    const auto pods = PodsOn(node);
    if (!pods.ok()) return {Did::kUnknown, pods.error().ToString()};
    const SavedWork saved(*pods, order.intended_at);
    int asked = 0, budget = 0, alone = 0, unsaved = 0, unknown = 0;
    std::string trouble;
    for (const kube::Pod& pod : *pods) {
      if (Stays(pod) || pod.meta.deleted) continue;
      if (ControllerOf(pod) == nullptr && !force) {
        ++alone;
        continue;
      }
      const Saved work = force ? Saved::kYes : saved.Of(pod);
      if (work != Saved::kYes) {
        ++(work == Saved::kNotYet ? unsaved : unknown);
        continue;
      }
      kube::Request evict = kube::Evict(pod.meta.ns, pod.meta.name, pod.meta.uid);
      // A 429 is a budget's "not now": this loop asks again, not the client.
      evict.patience = Duration::zero();
      const kube::Answer answer = client_.Await(std::move(evict));
      if (answer.ok() || answer.status == 404) {
        ++asked;
      } else if (answer.status == 429) {
        ++budget;
      } else {
        trouble = answer.error->ToString();
      }
    }
    const std::string said = fmt::format(
        "{} evicted, {} wait for a disruption budget, {} that nothing would create anew stay, {} "
        "wait for a durable checkpoint, of {} it is UNKNOWN whether their work is saved{}",
        asked, budget, alone, unsaved, unknown, trouble.empty() ? "" : "; " + trouble);
    if (!trouble.empty()) return {Did::kUnknown, said};
    if (budget == 0 || clock.Monotonic() + options_.evict_pause > until)
      return {Did::kAccepted, said};
    client_.Poll(options_.evict_pause);
  }
}

DidResult KubernetesActuator::Do(const Order& order) {
  switch (order.action.kind) {
    case ActKind::kCordon:
      return Cordon(order);
    case ActKind::kReturn:
      return Return(order);
    case ActKind::kDrain:
      return Drain(order);
    default:
      return {Did::kRefused, "Kubernetes does not do this"};
  }
}

ProbeResult KubernetesActuator::Probe(const Order& order) {
  const std::string node = NodeName(order.action);
  if (order.action.kind == ActKind::kDrain) {
    const auto pods = PodsOn(node);
    if (!pods.ok()) return {Happened::kUnknown, pods.error().ToString()};
    const SavedWork saved(*pods, order.intended_at);
    std::vector<std::string> left, unsaved, unknown;
    for (const kube::Pod& pod : *pods) {
      if (Stays(pod)) continue;
      left.push_back(pod.meta.Key());
      const Saved work = saved.Of(pod);
      if (work == Saved::kNotYet) unsaved.push_back(pod.meta.Key());
      if (work == Saved::kUnknown) unknown.push_back(pod.meta.Key());
    }
    if (left.empty()) return {Happened::kYes, "no pod runs there but those that stay"};
    std::string said =
        fmt::format("{} pods run there: {}", left.size(), Shorten(Join(left, ", "), 300));
    if (!unsaved.empty())
      said += "; no checkpoint since the drain began: " + Shorten(Join(unsaved, ", "), 200);
    if (!unknown.empty()) {
      said += fmt::format("; UNKNOWN whether their work is saved (no annotation {}): {}",
                          kCheckpointKey, Shorten(Join(unknown, ", "), 200));
    }
    return {Happened::kNo, said};
  }
  const auto hold = ReadHold(node);
  if (!hold.ok()) return {Happened::kUnknown, hold.error().ToString()};
  const bool ours = Ours(hold->lease, order);
  const bool yes = ours == (order.action.kind == ActKind::kCordon);
  return {yes ? Happened::kYes : Happened::kNo,
          ours ? "our lease is on the node" : "our lease is not on the node"};
}

Result<Hold> KubernetesActuator::ReadHold(const std::string& node) {
  TRY(const std::string body, client_.Ask(kube::Get(kube::kNodes, "", node)));
  TRY(const kube::Node found, kube::DecodeNode(body));
  return HoldOf(found, body);
}

Result<Actuator::Fleet> KubernetesActuator::ReadFleet() {
  Fleet fleet;
  std::string token;
  for (int page = 0; page < kMostPages; ++page) {
    TRY(const std::string body,
        client_.Ask(kube::List(kube::kNodes, "", {}, options_.page, token)));
    const Json list = Json::parse(body, nullptr, false);
    if (!list.is_object() || !list.contains("items"))
      return Fail(Code::kParse, "expected a list of nodes");
    for (const Json& item : list["items"]) {
      const std::string json = item.dump();
      TRY(const kube::Node node, kube::DecodeNode(json));
      if (node.Ready()) {
        fleet.nodes.push_back({node.meta.name, HoldOf(node, json)});
      } else {
        fleet.silent.push_back(node.meta.name);
      }
    }
    token = kube::ValueAt(body, "/metadata/continue").value_or("");
    if (token.empty()) return fleet;
  }
  return Fail(Code::kParse, "a list of nodes without an end");
}

Result<std::vector<RunningJob>> KubernetesActuator::JobsOn(const std::string& node) {
  TRY(const std::vector<kube::Pod> pods, PodsOn(node));
  std::map<std::string, RunningJob> jobs;
  for (const kube::Pod& pod : pods) {
    if (Stays(pod)) continue;
    const std::string id = JobOf(pod);
    RunningJob& job = jobs[id];
    job.id = id;
    job.owner = pod.meta.ns;
    job.nodes = {node};
    job.gpus += static_cast<int>(GpusOf(pod));
    if (const auto at = DurableAt(pod); at && (!job.durable_at || *job.durable_at < *at))
      job.durable_at = at;
    const TimePoint started =
        pod.started ? *pod.started : pod.meta.created.value_or(client_.clock().Now());
    if (job.started == TimePoint{} || started < job.started) job.started = started;
  }
  std::vector<RunningJob> found;
  for (auto& [id, job] : jobs) found.push_back(std::move(job));
  return found;
}

}  // namespace muster::kubernetes
