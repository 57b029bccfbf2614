#include "backend/lab/kubernetes/player.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "kube/json.h"

namespace muster::lab {

using kube::ChangeKind;
using kube::Pod;

namespace {

constexpr const char* kLeaseNamespace = "kube-node-lease";
constexpr int64_t kLeaseSeconds = 40;  // the kubelet's nodeLeaseDurationSeconds

std::string MicroSeconds(TimePoint time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  std::string text = FormatTime(TimePoint{std::chrono::seconds(micros / 1000000)});
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micros % 1000000);
}

}  // namespace

Result<std::unique_ptr<Player>> Player::Make(kube::Client& client, Processes& processes,
                                             PlayerOptions options, OnNote on_note) {
  std::unique_ptr<Player> player(
      new Player(client, processes, std::move(options), std::move(on_note)));
  for (const PlayedNodeSpec& spec : player->options_.nodes) {
    TRY(PlayedNode node, PlayedNode::Make(spec).Context("node " + spec.name));
    player->nodes_.emplace(spec.name, std::move(node));
  }
  return player;
}

Player::Player(kube::Client& client, Processes& processes, PlayerOptions options, OnNote on_note)
    : client_(client),
      processes_(processes),
      options_(std::move(options)),
      on_note_(std::move(on_note)) {}

Player::~Player() = default;

void Player::Note(const std::string& text) {
  if (on_note_) on_note_(Printable(text));
}

void Player::Ask(kube::Request request, kube::Client::Done done) {
  client_.Start(std::move(request), [alive = std::weak_ptr<bool>(alive_),
                                     done = std::move(done)](const kube::Answer& answer) {
    if (!alive.expired()) done(answer);
  });
}

uint64_t Player::After(Duration delay, std::function<void()> then) {
  return client_.After(delay, [alive = std::weak_ptr<bool>(alive_), then = std::move(then)] {
    if (!alive.expired()) then();
  });
}

void Player::Start() {
  for (const auto& [name, node] : nodes_) Register(node);
  if (!options_.play_pods) return;
  kube::Followed followed;
  followed.resource = kube::kPods;
  followed.selector.field = "spec.nodeName!=";
  pods_ = std::make_unique<kube::Reflector<Pod>>(
      client_, followed, kube::DecodePod,
      [this](const kube::Change<Pod>& change) { OnPod(change); },
      [this](const Error& error, bool) { Note(error.ToString()); });
  if (options_.zone != nullptr) {
    names_ = std::make_unique<PodNamesOfCluster>(*options_.zone);
    services_ = std::make_unique<kube::Reflector<NamedService>>(
        client_, kube::Followed{.resource = kube::kServices}, DecodeNamedService,
        [this](const kube::Change<NamedService>& change) {
          const Duration now = client_.clock().Monotonic();
          if (change.after != nullptr) return names_->SetService(*change.after, now);
          names_->RemoveService(change.before->meta.Key(), now);
        },
        [this](const Error& error, bool) { Note(error.ToString()); });
    services_->Start();
  }
  pods_->Start();
}

bool Player::ready() const {
  return stats_.nodes >= nodes_.size() && (pods_ == nullptr || pods_->synced());
}

void Player::Register(const PlayedNode& node) {
  const std::string name = node.spec().name;
  const std::string body = node.NodeJson(kube::WholeSeconds(client_.clock().Now()));
  const auto done = [this, name](const kube::Answer& answer) {
    if (!answer.ok()) {
      Note(answer.error->ToString());
      ++stats_.failed_writes;
      After(std::chrono::seconds(5), [this, name] { Register(nodes_.at(name)); });
      return;
    }
    ++stats_.nodes;
    RenewLease(name, true);
  };
  // A status given at creation is kept for nodes, so one write registers a new one; one that is
  // there from an earlier run is made Ready again.
  Ask(kube::Create(kube::kNodes, "", body), [this, name, body, done](const kube::Answer& answer) {
    if (answer.status != 409) return done(answer);
    Ask(kube::MergePatch(kube::kNodes, "", name, body, "status"), done);
  });
}

void Player::RenewLease(const std::string& node, bool create) {
  const std::string now = MicroSeconds(client_.clock().Now());
  // The kubelet renews each 10 s. A thousand nodes on one machine would spend 100 writes a second
  // on that; up to 25 s is still in time for 40.
  const Duration every = std::chrono::milliseconds(
      std::clamp<int64_t>(static_cast<int64_t>(nodes_.size()) * 20, 10000, 25000));
  const auto done = [this, node, create, every](const kube::Answer& answer) {
    const bool exists = create && answer.status == 409;
    if (answer.ok()) ++stats_.leases;
    if (!answer.ok() && !exists) ++stats_.failed_writes;
    const bool create_next = answer.status == 404;
    After(exists ? Duration::zero() : every,
          [this, node, create_next] { RenewLease(node, create_next); });
  };
  if (create) {
    Ask(kube::Create(kube::kLeases, kLeaseNamespace,
                     fmt::format(R"({{"metadata":{{"name":{0}}},"spec":{{"holderIdentity":{0},)"
                                 R"("leaseDurationSeconds":{1},"renewTime":"{2}"}}}})",
                                 kube::JsonString(node), kLeaseSeconds, now)),
        done);
  } else {
    Ask(kube::MergePatch(kube::kLeases, kLeaseNamespace, node,
                         fmt::format(R"({{"spec":{{"renewTime":"{}"}}}})", now)),
        done);
  }
}

void Player::OnPod(const kube::Change<Pod>& change) {
  if (names_ != nullptr) {
    const Duration now = client_.clock().Monotonic();
    if (change.kind == ChangeKind::kDeleted) {
      names_->RemovePod(change.before->meta.uid, now);
    } else {
      names_->SetPod(*change.after, now);
    }
  }
  if (change.kind == ChangeKind::kDeleted) return Forget(change.before->meta.uid);
  if (nodes_.count(change.after->node_name) != 0) Look(*change.after);
}

// What is to be done for a pod as it stands now. Called again for each of its changes, our own
// among them, so each step looks at the object and not at what we did.
void Player::Look(const Pod& pod) {
  Played& played = played_[pod.meta.uid];
  if (played.node.empty()) {
    played.node = pod.node_name;
    ++next_ip_;
    played.ip = fmt::format("10.244.{}.{}", next_ip_ / 250 % 256, next_ip_ % 250 + 1);
  }
  if (pod.meta.deleted) return FinishDeletion(pod);
  if (pod.Finished()) {
    played.ended = true;
    nodes_.at(pod.node_name).Release(pod.meta.uid);
    return;
  }
  if (played.writing || played.ended) return;
  if (pod.phase == "Running") {
    Adopt(pod, played);
  } else if (!OrdersOf(pod).hold && (!played.begun || played.again)) {
    // An older event may still show a pod as Pending that we have begun.
    Begin(pod, played);
  }
}

void Player::Begin(const Pod& pod, Played& played) {
  PodStatus status;
  status.now = status.started = client_.clock().Now();
  if (const auto refused = nodes_.at(pod.node_name).Admit(pod)) {
    status.phase = "Failed";
    status.reason = refused->reason;
    status.message = refused->message;
    ++stats_.rejected;
    return WriteEnd(pod, played, std::move(status));
  }
  if (!played.begun) {
    played.begun = true;
    played.started = status.started;
    const PodOrders orders = OrdersOf(pod);
    if (!orders.trouble.empty()) Note(pod.meta.Key() + ": " + orders.trouble);
    if (Runs(pod)) {
      played.ip = AddressHere();
      if (!StartTurn(pod, played)) return;
    }
  }
  played.again = false;
  if (!Runs(pod) || played.turn >= pod.init_containers.size()) ++stats_.running;
  Say(pod, played);
}

// Its address is this machine's when it really runs here: one of its own where its command has its
// own names, so that two pods of one machine may listen at the same port.
std::string Player::AddressHere() {
  if (options_.shell.enter.empty()) return "127.0.0.1";
  ++next_ip_;
  return fmt::format("{}.{}.{}", options_.shell.net, next_ip_ / 250 % 255 + 1, next_ip_ % 250 + 1);
}

// It runs: since now, or since before this player began.
void Player::Adopt(const Pod& pod, Played& played) {
  const PodOrders orders = OrdersOf(pod);
  if (const auto refused = nodes_.at(pod.node_name).Admit(pod)) {
    Note(fmt::format("{} runs on {}, which would refuse it: {}", pod.meta.Key(), pod.node_name,
                     refused->message));
  }
  if (!pod.pod_ip.empty()) played.ip = pod.pod_ip;
  if (played.started == TimePoint{}) {
    played.started = pod.started.value_or(client_.clock().Now());
    if (Runs(pod) && played.process == nullptr) return TakeUp(pod, played);
  }
  if (Runs(pod) || !orders.run_for || played.timer != 0 || played.process != nullptr) return;
  const Duration left = played.started + *orders.run_for - client_.clock().Now();
  EndLater(pod.meta.Key(), pod.meta.uid, std::max(left, Duration::zero()), orders.exit_code);
}

void Player::EndLater(const std::string& key, const std::string& uid, Duration delay,
                      int exit_code) {
  played_[uid].timer = After(delay, [this, key, uid, exit_code] {
    played_[uid].timer = 0;
    End(key, uid, exit_code, "");
  });
}

void Player::End(const std::string& key, const std::string& uid, int exit_code,
                 const std::string& reason) {
  const Pod* pod = pods_->known().Find(key);
  const auto found = played_.find(uid);
  if (pod == nullptr || pod->meta.uid != uid || found == played_.end() || found->second.ended)
    return;
  PodStatus status;
  status.phase = exit_code == 0 ? "Succeeded" : "Failed";
  status.exit_code = exit_code;
  status.end_reason = reason;
  status.ip = found->second.ip;
  status.started = found->second.started;
  status.now = client_.clock().Now();
  if (Runs(*pod)) {
    status.restarts = found->second.restarts;
    status.last_exit = found->second.last_exit;
    if (found->second.turn < pod->init_containers.size()) status.init_done = found->second.turn;
  }
  ++stats_.ended;
  WriteEnd(*pod, found->second, std::move(status));
}

void Player::WriteEnd(const Pod& pod, Played& played, PodStatus status) {
  played.ended = true;
  played.end = std::move(status);
  Write(pod, *played.end);
}

void Player::Write(const Pod& pod, const PodStatus& status) {
  const std::string key = pod.meta.Key(), uid = pod.meta.uid;
  played_[uid].writing = true;
  Ask(kube::MergePatch(kube::kPods, pod.meta.ns, pod.meta.name, PodStatusPatch(pod, status),
                       "status"),
      [this, key, uid](const kube::Answer& answer) {
        const auto found = played_.find(uid);
        if (found == played_.end()) return;
        found->second.writing = false;
        if (std::exchange(found->second.unsaid, false) && !found->second.ended && answer.ok()) {
          const Pod* now = pods_->known().Find(key);
          if (now != nullptr && now->meta.uid == uid && !now->meta.deleted)
            return Say(*now, found->second);
        }
        // 404 and 409: it is gone, or a namesake stands there; its deletion is on the
        // way.
        if (answer.ok() || answer.status == 404 || answer.status == 409) {
          // The watch may have brought the change while we still waited for the answer.
          const Pod* now = pods_->known().Find(key);
          if (now != nullptr && now->meta.uid == uid &&
              (now->phase == "Running" || now->meta.deleted)) {
            Look(*now);
          }
          return;
        }
        ++stats_.failed_writes;
        Note(answer.error->ToString());
        // Whether it was written is not known: look at the object once more, and say there what is
        // so now.
        After(std::chrono::seconds(1), [this, key, uid] {
          const Pod* now = pods_->known().Find(key);
          const auto again = played_.find(uid);
          if (now == nullptr || now->meta.uid != uid || again == played_.end()) return;
          Played& played = again->second;
          if (played.end && !now->Finished() && !now->meta.deleted)
            return Write(*now, PodStatus(*played.end));
          played.again = true;
          if (Runs(*now) && played.begun && now->phase == "Running" && !now->meta.deleted)
            return Say(*now, played);
          Look(*now);
        });
      });
}

void Player::FinishDeletion(const Pod& pod) {
  Played& played = played_[pod.meta.uid];
  if (played.process != nullptr) played.process->Kill();
  if (played.writing) return;  // the answer looks again
  played.writing = true;
  const std::string key = pod.meta.Key(), uid = pod.meta.uid;
  Ask(kube::Delete(kube::kPods, pod.meta.ns, pod.meta.name, {uid, ""}, 0),
      [this, key, uid](const kube::Answer& answer) {
        if (answer.ok() || answer.status == 404 || answer.status == 409) {
          if (answer.ok()) ++stats_.deleted;
          return;
        }
        ++stats_.failed_writes;
        After(std::chrono::seconds(1), [this, key, uid] {
          const auto found = played_.find(uid);
          if (found == played_.end()) return;
          found->second.writing = false;
          const Pod* now = pods_->known().Find(key);
          if (now != nullptr && now->meta.uid == uid) Look(*now);
        });
      });
}

void Player::Forget(const std::string& uid) {
  const auto found = played_.find(uid);
  if (found == played_.end()) return;
  if (found->second.timer != 0) client_.CancelTimer(found->second.timer);
  if (const auto node = nodes_.find(found->second.node); node != nodes_.end()) {
    node->second.Release(uid);
  }
  processes_of_.erase(uid);
  played_.erase(found);
}

}  // namespace muster::lab
