#include "backend/host/host_actuator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "backend/host/act_details.h"
#include "base/strings.h"

namespace muster::host {

using namespace detail;

namespace {

using std::chrono::seconds;

// nvidia-smi's own return values (its manual): no driver is loaded, nothing was found.
constexpr int kNoDevice = 6, kNoDriver = 9;

bool OfTheHold(ActKind kind) { return kind == ActKind::kCordon || kind == ActKind::kReturn; }

bool Ours(const HostHold& hold, const Order& order) {
  return hold.lease && hold.lease->run == order.lease.run && hold.lease->owner == order.lease.owner;
}

}  // namespace

std::vector<ActKind> HostActuator::Can() const {
  std::vector<ActKind> can = HostActs();
  if (!options_.keeps_holds)
    std::erase_if(can, [](ActKind kind) { return OfTheHold(kind) || kind == ActKind::kDrain; });
  return can;
}

Status HostActuator::CheckAct(const Action& action) const {
  return CheckHostAct(action, site_.packages);
}

std::vector<std::string> HostActuator::Render(const Action& action) const {
  if (const AnsiblePackages* ansible = AnsibleFor(action)) {
    if (const auto pins = PinsOf(action, site_.packages, "");
        pins.ok() && CheckHostAct(action, site_.packages).ok())
      return ansible->Render(action, *pins);
  }
  return RenderHostAct(action, site_.packages);
}

Result<const Node*> HostActuator::NodeOf(std::string_view name) const {
  const Node* node = site_.cluster.FindNode(name);
  if (node == nullptr)
    return Fail(Code::kNotFound, fmt::format("the site has no node {}", Printable(name)));
  return node;
}

Result<ActPlace> HostActuator::PlaceOf(const std::string& node) {
  TRY(const HostPorts host, hosts_.At(node));
  return ActPlace(host.world.processes, node, site_.sudo);
}

Result<StoredHold> HostActuator::ReadStored(const std::string& node) {
  TRY(ActPlace place, PlaceOf(node));
  return place.ReadStored();
}

Result<std::string> HostActuator::BootId(const std::string& node) {
  TRY(const HostPorts host, hosts_.At(node));
  TRY(const std::string text, host.world.files.Read("/proc/sys/kernel/random/boot_id"));
  const std::string id(Trim(text));
  if (id.size() < 8 || id.size() > 64)
    return Fail(Code::kParse, fmt::format("{}: \"{}\" is no boot id", node, Printable(id)));
  return id;
}

// What is so with the object of the act, now.
Result<Fingerprint> HostActuator::Ask(const Action& action) {
  const std::string name(action.on.Host());
  TRY(const Node* const node, NodeOf(name));
  TRY(ActPlace place, PlaceOf(name));
  std::vector<Answer> answers;
  for (Words& words : QuestionsOf(action, site_.packages)) {
    if (action.kind == ActKind::kCommand && site_.sudo) words.insert(words.begin(), {"sudo", "-n"});
    TRY(const CommandResult ran, place.Run(std::move(words), kShortWait));
    if (ran.timed_out || ran.truncated)
      return Fail(Code::kUnavailable, fmt::format("{} does not answer in time", name));
    answers.push_back({ran.exit_code, ran.out, ran.err});
  }
  return Understand(action, *node, answers);
}

Result<Fingerprint> HostActuator::Before(const Action& action) {
  const std::string node(action.on.Host());
  TRY_VOID(NodeOf(node));
  if (OfTheHold(action.kind)) {
    TRY(const StoredHold stored, ReadStored(node));
    return Fingerprint{{"hold", std::to_string(stored.hold.changes)}};
  }
  TRY_VOID(CheckHostAct(action, site_.packages));
  if (AnsiblePackages* ansible = AnsibleFor(action)) TRY_VOID(ansible->Ready(node));
  Fingerprint before;
  // A command's probe may have nothing to look at yet.
  if (action.kind != ActKind::kCommand && action.kind != ActKind::kDrain) {
    auto asked = Ask(action);
    if (!asked.ok()) return Fail(Code::kUnavailable, asked.error().ToString());
    before = std::move(*asked);
  }
  TRY(before["boot_id"], BootId(node));
  if (action.kind == ActKind::kPackages) {
    TRY(const std::string wanted, WantedPackages(action, before, site_.packages));
    before["wanted"] = wanted;
  }
  return before;
}

DidResult HostActuator::DoHold(ActPlace& place, const Order& order, const StoredHold& stored) {
  HostHold hold = stored.hold;
  const bool ours = Ours(hold, order);
  if (order.action.kind == ActKind::kCordon) {
    if (order.lease.owner.empty()) return {Did::kRefused, "a cordon has its lease"};
    if (ours) return {Did::kAccepted, "it is ours already"};
    if (!hold.schedulable || hold.lease)
      return {Did::kRefused, "somebody holds it: " + (hold.lease ? hold.lease->owner : hold.note)};
    hold.schedulable = false;
    hold.lease = order.lease;
    hold.note = fmt::format("{}:{} {}", order.lease.owner, order.lease.run, order.lease.reason);
  } else {
    if (!ours) return {Did::kRefused, "the lease on it is not ours any more"};
    hold.schedulable = hold.lease->prior_schedulable;
    hold.note = hold.lease->prior_note;
    hold.lease.reset();
  }
  hold.fence = order.fence;
  ++hold.changes;
  return place.Send(WriteHoldScript(stored.version, WriteHostHold(hold)), kShortWait);
}

DidResult HostActuator::DoAct(ActPlace& place, const Order& order, const StoredHold& stored) {
  const bool held = !order.lease.owner.empty() && options_.keeps_holds;
  if (held && !Ours(stored.hold, order))
    return {Did::kRefused, "the node is not held by this run any more"};
  if (AnsiblePackages* ansible = AnsibleFor(order.action)) {
    const auto pins = PinsOf(order.action, site_.packages, At(order.before, "driver"));
    if (!pins.ok()) return {Did::kRefused, pins.error().message};
    const DidResult fenced = place.RaiseFence(order, stored);
    if (fenced.did != Did::kAccepted) return fenced;
    return ansible->Do(order, *pins, options_.wait_s);
  }
  const auto run = CommandsOf(order.action, order.before, site_.packages);
  if (!run.ok()) return {Did::kRefused, run.error().message};
  if (run->commands.empty()) return {Did::kAccepted, "nothing is to be ordered: it is waited for"};
  return place.Do(order, stored, *run, options_.wait_s);
}

DidResult HostActuator::Do(const Order& order) {
  if (!TraitsOf(order.action.kind).effect) return {Did::kAccepted, "nothing of the host changes"};
  const std::string node(order.action.on.Host());
  const auto can = Can();
  if (std::find(can.begin(), can.end(), order.action.kind) == can.end())
    return {Did::kRefused, "a host does not do this"};
  auto place = PlaceOf(node);
  if (!place.ok()) return {Did::kRefused, place.error().ToString()};
  for (int n = 1;; ++n) {
    const auto stored = place->ReadStored();
    // Nothing was sent yet.
    if (!stored.ok()) return {Did::kRefused, stored.error().ToString()};
    if (const std::string older = OlderFence(order, *stored); !older.empty())
      return {Did::kRefused, older};
    const DidResult did = OfTheHold(order.action.kind) ? DoHold(*place, order, *stored)
                                                       : DoAct(*place, order, *stored);
    if (did.did != Did::kRefused || did.detail != kHoldMoved || n == kMostHoldTries) return did;
  }
}

ProbeResult HostActuator::Probe(const Order& order) {
  const Action& action = order.action;
  if (!TraitsOf(action.kind).effect) return {Happened::kYes, "nothing to show"};
  const std::string node(action.on.Host());
  if (OfTheHold(action.kind)) {
    const auto stored = ReadStored(node);
    if (!stored.ok()) return {Happened::kUnknown, stored.error().ToString()};
    const bool ours = Ours(stored->hold, order);
    const bool yes = ours == (action.kind == ActKind::kCordon);
    return {yes ? Happened::kYes : Happened::kNo,
            ours ? "our lease is on the node" : "our lease is not on the node"};
  }
  if (action.kind == ActKind::kDrain) {
    const auto jobs = JobsOn(node);
    if (!jobs.ok()) return {Happened::kUnknown, jobs.error().ToString()};
    return {jobs->empty() ? Happened::kYes : Happened::kNo,
            jobs->empty() ? "no process computes on its GPUs"
                          : fmt::format("{} processes compute on its GPUs", jobs->size())};
  }
  const auto boot_id = BootId(node);
  if (!boot_id.ok()) return {Happened::kUnknown, boot_id.error().ToString()};
  auto place = PlaceOf(node);
  if (!place.ok()) return {Happened::kUnknown, place.error().ToString()};
  AnsiblePackages* const ansible = AnsibleFor(action);
  const auto record =
      ansible != nullptr ? ansible->ReadRecord(order) : place->ReadRecord(order.token);
  if (!record.ok()) return {Happened::kUnknown, record.error().ToString()};
  auto now = Ask(action);
  ProbeResult result =
      Compare(action, order.before, now.ok() ? std::optional(std::move(*now)) : std::nullopt,
              *boot_id, *record);
  if (!now.ok() && result.happened == Happened::kUnknown)
    result.detail += " (" + now.error().ToString() + ")";
  return result;
}

Result<Hold> HostActuator::ReadHold(const std::string& node) {
  TRY_VOID(NodeOf(node));
  const auto stored = ReadStored(node);
  if (stored.ok()) return HoldOf(stored->hold);
  if (stored.error().code != Code::kCorrupt) return Fail(stored.error());
  // It is held by whoever wrote it, and nobody can say who that is.
  Hold hold;
  hold.schedulable = false;
  hold.note = stored.error().ToString();
  hold.version = "unreadable";
  return hold;
}

Result<Actuator::Fleet> HostActuator::ReadFleet() {
  const auto& nodes = site_.cluster.nodes;
  std::vector<std::optional<Hold>> holds(nodes.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < nodes.size(); i = next++) {
      if (auto hold = ReadHold(nodes[i].name); hold.ok()) holds[i] = std::move(*hold);
    }
  };
  {
    std::vector<std::jthread> threads;
    const size_t most = std::min<size_t>(nodes.size(), static_cast<size_t>(hosts_.Parallel()));
    for (size_t i = 1; i < most; ++i) threads.emplace_back(work);
    work();
  }
  Fleet fleet;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (holds[i]) {
      fleet.nodes.push_back({nodes[i].name, *holds[i]});
    } else {
      fleet.silent.push_back(nodes[i].name);
    }
  }
  return fleet;
}

Result<std::vector<RunningJob>> HostActuator::JobsOn(const std::string& name) {
  TRY(const Node* const node, NodeOf(name));
  std::vector<RunningJob> jobs;
  if (node->family == GpuFamily::kNone || node->gpus.empty()) return jobs;
  if (node->family == GpuFamily::kAmd)
    return Fail(Code::kUnavailable, "which processes run on AMD GPUs is not read");
  TRY(ActPlace place, PlaceOf(name));
  TRY(const CommandResult ran, place.Run({"/bin/sh", "-c", JobsScript()}, kShortWait));
  const auto unsaid = [&] {
    return Fail(Code::kUnavailable,
                fmt::format("{}: nvidia-smi does not say what runs: {}", name, TailOf(ran)));
  };
  if (ran.timed_out || ran.truncated || !StartsWith(ran.out, "code ") ||
      !EndsWith(ran.out, "\nend\n"))
    return unsaid();
  const auto lines = Lines(ran.out);
  const auto code = ParseInt(lines[0].substr(5));
  if (!code.ok()) return unsaid();
  // Without a driver nothing computes.
  if (*code == kNoDriver || *code == kNoDevice) return jobs;
  if (*code != 0) return unsaid();
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return unsaid();
    const auto cells = Split(line.substr(blank + 1), ',');
    const auto pid = ParseInt(Trim(cells[0]));
    if (cells.size() < 3 || !pid.ok()) return unsaid();
    const std::string id = fmt::format("process {}", *pid);
    const auto known =
        std::find_if(jobs.begin(), jobs.end(), [&](const RunningJob& job) { return job.id == id; });
    if (known != jobs.end()) {
      ++known->gpus;
      continue;
    }
    RunningJob job;
    job.id = id;
    job.owner = std::string(Trim(cells[2]));
    job.nodes = {name};
    job.gpus = 1;
    // A process of another namespace has no folder here: its beginning is not known.
    if (const auto started = ParseInt(line.substr(0, blank)); started.ok())
      job.started = TimePoint(seconds(*started));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace muster::host
