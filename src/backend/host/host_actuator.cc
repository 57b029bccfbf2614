#include "backend/host/host_actuator.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"

namespace muster::host {

namespace {

using std::chrono::seconds;

constexpr Duration kShort = seconds(30);  // of a look
constexpr int kMostTries = 5;             // against somebody who changes the hold all the time
constexpr std::string_view kMoved = "the hold of the host changed meanwhile";
// nvidia-smi's own return values (its manual): no driver is loaded, nothing was found.
constexpr int kNoDevice = 6, kNoDriver = 9;

bool OfTheHold(ActKind kind) { return kind == ActKind::kCordon || kind == ActKind::kReturn; }

bool Ours(const HostHold& hold, const Order& order) {
  return hold.lease && hold.lease->run == order.lease.run && hold.lease->owner == order.lease.owner;
}

std::string Tail(const CommandResult& ran) {
  return Shorten(Printable(Trim(ran.err.empty() ? ran.out : ran.err)), 300);
}

}  // namespace

std::vector<ActKind> HostActuator::Can() const {
  std::vector<ActKind> can = HostActs();
  if (!options_.keeps_holds)
    std::erase_if(can, [](ActKind kind) { return OfTheHold(kind) || kind == ActKind::kDrain; });
  return can;
}

std::vector<std::string> HostActuator::Render(const Action& action) const {
  return RenderHostAct(action, site_.packages);
}

Result<const Node*> HostActuator::NodeOf(std::string_view name) const {
  const Node* node = site_.cluster.FindNode(name);
  if (node == nullptr)
    return Fail(Code::kNotFound, fmt::format("the site has no node {}", Printable(name)));
  return node;
}

Result<CommandResult> HostActuator::Run(const std::string& node, Words argv, Duration timeout) {
  TRY(const HostPorts host, hosts_.At(node));
  Command command{std::move(argv)};
  command.timeout = timeout;
  return host.world.processes.Run(command);
}

Result<CommandResult> HostActuator::RunScript(const std::string& node, const std::string& script,
                                              bool as_root, Duration timeout) {
  Words argv = {"/bin/sh", "-c", script};
  // -n: it never asks for a password.
  if (as_root && site_.sudo) argv.insert(argv.begin(), {"sudo", "-n"});
  return Run(node, std::move(argv), timeout);
}

Result<HostActuator::Stored> HostActuator::ReadStored(const std::string& node) {
  TRY(const CommandResult ran, RunScript(node, ReadHoldScript(), false, kShort));
  if (ran.timed_out || ran.truncated)
    return Fail(Code::kUnavailable, fmt::format("{} does not say who holds it in time", node));
  if (ran.exit_code != 0)
    return Fail(Code::kUnavailable,
                fmt::format("{}: who holds it cannot be read: {}", node, Tail(ran)));
  std::string_view text = ran.out;
  const size_t line = text.find('\n');
  if (!StartsWith(text, "hold ") || line == std::string_view::npos || !EndsWith(text, "end\n"))
    return Fail(Code::kParse, fmt::format("{}: who holds it was cut off", node));
  Stored stored;
  stored.version = std::string(text.substr(5, line - 5));
  text = text.substr(line + 1, text.size() - line - 1 - 4);
  if (stored.version == "-") return stored;
  if (Sha256Hex(text) != stored.version)
    return Fail(Code::kParse, fmt::format("{}: who holds it was cut off", node));
  TRY(stored.hold, ReadHostHold(text).Context("hold.json of " + node));
  return stored;
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
  std::vector<Answer> answers;
  for (Words& words : QuestionsOf(action, site_.packages)) {
    if (action.kind == ActKind::kCommand && site_.sudo) words.insert(words.begin(), {"sudo", "-n"});
    TRY(const CommandResult ran, Run(name, std::move(words), kShort));
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
    TRY(const Stored stored, ReadStored(node));
    return Fingerprint{{"hold", std::to_string(stored.hold.changes)}};
  }
  TRY_VOID(CheckHostAct(action, site_.packages));
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

// What the script says is its own word for it; no word of it means that nobody knows.
DidResult HostActuator::Send(const Order& order, const std::string& script, Duration timeout) {
  const auto ran = RunScript(std::string(order.action.on.Host()), script, true, timeout);
  if (!ran.ok()) {
    const bool never = ran.error().code == Code::kPermission || ran.error().code == Code::kInvalid;
    return {never ? Did::kRefused : Did::kUnknown, ran.error().ToString()};
  }
  const size_t line = std::min(ran->out.find('\n'), ran->out.size());
  const std::string_view said = std::string_view(ran->out).substr(0, line);
  const std::string rest = Shorten(Printable(Trim(ran->out.substr(line))), 1500);
  if (ran->truncated) return {Did::kUnknown, "its answer was cut"};
  if (said == "muster done") return {Did::kAccepted, ""};
  if (said == "muster begun") return {Did::kAccepted, "begun, and not ended yet"};
  if (said == "muster ended 0") return {Did::kAccepted, rest};
  if (const auto code = After(said, "muster ended "); code && ParseInt(*code).ok())
    return {Did::kFailed, fmt::format("it ended with {}: {}", *code, rest)};
  if (said == "muster moved") return {Did::kRefused, std::string(kMoved)};
  if (said == "muster busy") return {Did::kRefused, "another act is under way on this host"};
  if (const auto why = After(said, "muster unwritable "))
    return {Did::kRefused, fmt::format("nothing can be written down on this host: {}", *why)};
  if (ran->timed_out) return {Did::kUnknown, "no answer within its time"};
  return {Did::kUnknown, fmt::format("the host ended the connection or the script (exit {}): {}",
                                     ran->exit_code, Tail(*ran))};
}

DidResult HostActuator::DoHold(const Order& order, const Stored& stored) {
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
  return Send(order, WriteHoldScript(stored.version, WriteHostHold(hold)), kShort);
}

DidResult HostActuator::DoAct(const Order& order, const Stored& stored) {
  const bool held = !order.lease.owner.empty() && options_.keeps_holds;
  if (held && !Ours(stored.hold, order))
    return {Did::kRefused, "the node is not held by this run any more"};
  const auto run = CommandsOf(order.action, order.before, site_.packages);
  if (!run.ok()) return {Did::kRefused, run.error().message};
  if (run->commands.empty()) return {Did::kAccepted, "nothing is to be ordered: it is waited for"};
  ActScript script;
  script.token_hash = Sha256Hex(order.token);
  script.version = stored.version;
  script.commands = run->commands;
  script.input = run->input;
  script.kernel_mark = run->kernel_mark;
  script.wait_s = options_.wait_s;
  if (order.timeout > Duration::zero())
    script.wait_s = static_cast<int>(std::clamp<int64_t>(
        std::chrono::floor<seconds>(order.timeout).count(), 1, options_.wait_s));
  if (order.fence > stored.hold.fence || stored.version == "-") {
    HostHold hold = stored.hold;
    hold.fence = order.fence;
    ++hold.changes;
    script.content = WriteHostHold(hold);
  }
  return Send(order, DoScript(script), seconds(script.wait_s) + kShort);
}

DidResult HostActuator::Do(const Order& order) {
  if (!TraitsOf(order.action.kind).effect) return {Did::kAccepted, "nothing of the host changes"};
  const std::string node(order.action.on.Host());
  const auto can = Can();
  if (std::find(can.begin(), can.end(), order.action.kind) == can.end())
    return {Did::kRefused, "a host does not do this"};
  for (int n = 1;; ++n) {
    const auto stored = ReadStored(node);
    // Nothing was sent yet.
    if (!stored.ok()) return {Did::kRefused, stored.error().ToString()};
    if (order.fence < stored->hold.fence)
      return {Did::kRefused,
              fmt::format("fence {} is older than {}", order.fence, stored->hold.fence)};
    const DidResult did =
        OfTheHold(order.action.kind) ? DoHold(order, *stored) : DoAct(order, *stored);
    if (did.did != Did::kRefused || did.detail != kMoved || n == kMostTries) return did;
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
  const auto ran = RunScript(node, RecordScript(Sha256Hex(order.token)), false, kShort);
  if (!ran.ok()) return {Happened::kUnknown, ran.error().ToString()};
  const auto record = ReadActRecord(ran->out);
  if (!record.ok() || ran->timed_out || ran->truncated)
    return {Happened::kUnknown, record.ok() ? "no answer in time" : record.error().message};
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
  TRY(const CommandResult ran, RunScript(name, JobsScript(), false, kShort));
  const auto unsaid = [&] {
    return Fail(Code::kUnavailable,
                fmt::format("{}: nvidia-smi does not say what runs: {}", name, Tail(ran)));
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
