// Pods whose commands really run: containers in their turn, restarts with back-off.
#include <algorithm>

#include "backend/lab/kubernetes/player.h"
#include "base/strings.h"

namespace muster::lab {

using kube::Pod;

namespace {

constexpr Duration kMostBackoff = std::chrono::minutes(5);
// After so long a good run the count begins anew.
constexpr Duration kForgetRestarts = std::chrono::minutes(10);

// A container is started again and again; the second time at once, then with longer and longer
// pauses.
Duration BackoffOf(int restarts, Duration first) {
  if (restarts <= 1) return Duration::zero();
  Duration backoff = first;
  for (int i = 2; i < restarts && backoff < kMostBackoff; ++i) backoff *= 2;
  return std::min(backoff, kMostBackoff);
}

bool IsInit(const Pod& pod, size_t turn) { return turn < pod.init_containers.size(); }

// Sidecars are not run: they have no turn.
size_t NextTurn(const Pod& pod, size_t turn) {
  while (IsInit(pod, turn) && pod.init_containers[turn].restart_policy == "Always") ++turn;
  return turn;
}

}  // namespace

bool Player::Runs(const Pod& pod) const {
  return options_.run_commands && OrdersOf(pod).run && !pod.containers.empty();
}

// False when it could not be started: the pod has failed then.
bool Player::StartTurn(const Pod& pod, Played& played) {
  played.turn = NextTurn(pod, played.turn);
  const kube::Container& container =
      IsInit(pod, played.turn) ? pod.init_containers[played.turn] : pod.containers.front();
  const std::string folder = options_.log_folder + "/" + pod.meta.uid;
  const Command command = InPod(options_.shell, pod, container, played.ip, folder);
  auto started =
      command.argv.empty()
          ? Result<std::unique_ptr<Child>>(
                Fail(Code::kInvalid, "the container names no command, and its image is not pulled"))
          : processes_.Start(command, folder + ".log");
  played.waiting.clear();
  if (!started.ok()) {
    StartFailed(pod, played, started.error().message);
    return false;
  }
  played.turn_began = client_.clock().Monotonic();
  played.process = std::move(*started);
  processes_of_[pod.meta.uid] = pod.meta.Key();
  return true;
}

void Player::StartFailed(const Pod& pod, Played& played, const std::string& why) {
  Note(pod.meta.Key() + ": " + why);
  PodStatus status;
  status.phase = "Failed";
  status.exit_code = 128;
  status.end_reason = "StartError";
  status.message = Shorten(Printable(why), 400);
  status.ip = played.ip;
  status.init_done = played.turn;
  status.now = client_.clock().Now();
  status.started = played.started;
  ++stats_.ended;
  WriteEnd(pod, played, std::move(status));
}

// What the shell in the pod wrote when it could not become the command.
std::string Player::StartError(const std::string& uid) const {
  if (options_.files == nullptr || options_.shell.enter.empty()) return "";
  const auto text = options_.files->Read(options_.log_folder + "/" + uid + "/start-error", 4096);
  return text.ok() ? std::string(Trim(*text)) : "";
}

void Player::TurnEnded(const Pod& pod, Played& played, int exit_code) {
  played.process.reset();
  if (exit_code == 128) {
    const std::string why = StartError(pod.meta.uid);
    if (!why.empty()) return StartFailed(pod, played, why);
  }
  const bool init = IsInit(pod, played.turn);
  if (init && exit_code == 0) {
    ++played.turn;
    played.restarts = 0;
    played.last_exit.reset();
    if (!StartTurn(pod, played)) return;
    if (!IsInit(pod, played.turn)) ++stats_.running;
    return Say(pod, played);
  }
  const bool always = pod.restart_policy == "Always" && !init;
  if (always || (pod.restart_policy != "Never" && exit_code != 0))
    return StartAgainLater(pod, played, exit_code);
  End(pod.meta.Key(), pod.meta.uid, exit_code, "");
}

void Player::StartAgainLater(const Pod& pod, Played& played, int exit_code) {
  if (client_.clock().Monotonic() - played.turn_began >= kForgetRestarts) played.restarts = 0;
  ++played.restarts;
  ++stats_.restarts;
  played.last_exit = exit_code;
  const Duration backoff = BackoffOf(played.restarts, options_.restart_backoff);
  if (backoff == Duration::zero()) {
    if (StartTurn(pod, played)) Say(pod, played);
    return;
  }
  played.waiting = "CrashLoopBackOff";
  Say(pod, played);
  const std::string key = pod.meta.Key(), uid = pod.meta.uid;
  played.timer = After(backoff, [this, key, uid] {
    const auto found = played_.find(uid);
    const Pod* now = pods_->known().Find(key);
    if (found == played_.end()) return;
    found->second.timer = 0;
    if (found->second.ended || now == nullptr || now->meta.uid != uid || now->meta.deleted) return;
    if (StartTurn(*now, found->second)) Say(*now, found->second);
  });
}

// It runs in the API's eyes, and its process went with the player that started it.
void Player::TakeUp(const Pod& pod, Played& played) {
  if (pod.restart_policy == "Never")
    return End(pod.meta.Key(), pod.meta.uid, 137, "ContainerStatusUnknown");
  played.begun = true;
  played.ip = AddressHere();
  played.restarts = 1;
  played.last_exit = 137;
  ++stats_.restarts;
  if (StartTurn(pod, played)) Say(pod, played);
}

// Its state as it is now, or after the write that is under way.
void Player::Say(const Pod& pod, Played& played) {
  if (played.writing) {
    played.unsaid = true;
    return;
  }
  PodStatus status;
  status.now = client_.clock().Now();
  status.started = played.started;
  status.ip = played.ip;
  const bool init = Runs(pod) && IsInit(pod, played.turn);
  status.phase = init ? "Pending" : "Running";
  if (init) status.init_done = played.turn;
  status.restarts = played.restarts;
  status.waiting = played.waiting;
  status.last_exit = played.last_exit;
  Write(pod, status);
}

void Player::Tick() {
  std::vector<std::pair<std::string, int>> over;
  for (const auto& [uid, key] : processes_of_) {
    // What was written of it last is still on the way; the next comes after it.
    const Played& played = played_.at(uid);
    if (played.writing || played.process == nullptr) continue;
    if (const auto code = played.process->Poll()) over.emplace_back(uid, *code);
  }
  for (const auto& [uid, code] : over) {
    const Pod* pod = pods_->known().Find(processes_of_.at(uid));
    processes_of_.erase(uid);
    if (pod == nullptr || pod->meta.uid != uid || pod->meta.deleted) continue;
    TurnEnded(*pod, played_.at(uid), code);
  }
}

}  // namespace muster::lab
