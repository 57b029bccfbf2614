#include "backend/host/act_place.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"

namespace muster::host {

std::string TailOf(const CommandResult& ran) {
  return Shorten(Printable(Trim(ran.err.empty() ? ran.out : ran.err)), 300);
}

std::string OlderFence(const Order& order, const StoredHold& stored) {
  if (order.fence >= stored.hold.fence) return "";
  return fmt::format("fence {} is older than {}", order.fence, stored.hold.fence);
}

Result<CommandResult> ActPlace::Run(Words argv, Duration timeout) {
  Command command{std::move(argv)};
  command.timeout = timeout;
  if (!state_folder_.empty()) command.env["MUSTER_STATE_DIR"] = state_folder_;
  return processes_.Run(command);
}

Result<CommandResult> ActPlace::RunScript(const std::string& script, bool as_root,
                                          Duration timeout) {
  Words argv = {"/bin/sh", "-c", script};
  // -n: it never asks for a password.
  if (as_root && sudo_) argv.insert(argv.begin(), {"sudo", "-n"});
  return Run(std::move(argv), timeout);
}

Result<StoredHold> ActPlace::ReadStored() {
  TRY(const CommandResult ran, RunScript(ReadHoldScript(), false, kShortWait));
  if (ran.timed_out || ran.truncated)
    return Fail(Code::kUnavailable, fmt::format("{} does not say who holds it in time", name_));
  if (ran.exit_code != 0)
    return Fail(Code::kUnavailable,
                fmt::format("{}: who holds it cannot be read: {}", name_, TailOf(ran)));
  std::string_view text = ran.out;
  const size_t line = text.find('\n');
  if (!StartsWith(text, "hold ") || line == std::string_view::npos || !EndsWith(text, "end\n"))
    return Fail(Code::kParse, fmt::format("{}: who holds it was cut off", name_));
  StoredHold stored;
  stored.version = std::string(text.substr(5, line - 5));
  text = text.substr(line + 1, text.size() - line - 1 - 4);
  if (stored.version == "-") return stored;
  if (Sha256Hex(text) != stored.version)
    return Fail(Code::kParse, fmt::format("{}: who holds it was cut off", name_));
  TRY(stored.hold, ReadHostHold(text).Context("hold.json of " + name_));
  return stored;
}

DidResult ActPlace::Send(const std::string& script, Duration timeout) {
  const auto ran = RunScript(script, true, timeout);
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
  if (said == "muster moved") return {Did::kRefused, std::string(kHoldMoved)};
  if (said == "muster busy") return {Did::kRefused, "another act is under way on this host"};
  if (const auto why = After(said, "muster unwritable "))
    return {Did::kRefused, fmt::format("nothing can be written down on this host: {}", *why)};
  if (ran->timed_out) return {Did::kUnknown, "no answer within its time"};
  return {Did::kUnknown, fmt::format("the host ended the connection or the script (exit {}): {}",
                                     ran->exit_code, TailOf(*ran))};
}

namespace {

// The hold with the order's fence in it; "" where it is there already.
std::string Fenced(const Order& order, const StoredHold& stored) {
  if (order.fence <= stored.hold.fence && stored.version != "-") return "";
  HostHold hold = stored.hold;
  hold.fence = order.fence;
  ++hold.changes;
  return WriteHostHold(hold);
}

}  // namespace

DidResult ActPlace::Do(const Order& order, const StoredHold& stored, HostCommands run, int wait_s) {
  ActScript script;
  script.token_hash = Sha256Hex(order.token);
  script.version = stored.version;
  script.content = Fenced(order, stored);
  script.commands = std::move(run.commands);
  script.input = std::move(run.input);
  script.kernel_mark = std::move(run.kernel_mark);
  script.wait_s = wait_s;
  if (order.timeout > Duration::zero())
    script.wait_s = static_cast<int>(std::clamp<int64_t>(
        std::chrono::floor<std::chrono::seconds>(order.timeout).count(), 1, wait_s));
  return Send(DoScript(script), std::chrono::seconds(script.wait_s) + kShortWait);
}

DidResult ActPlace::RaiseFence(const Order& order, const StoredHold& stored) {
  const std::string content = Fenced(order, stored);
  if (content.empty()) return {Did::kAccepted, ""};
  return Send(WriteHoldScript(stored.version, content), kShortWait);
}

Result<ActRecord> ActPlace::ReadRecord(const std::string& token) {
  TRY(const CommandResult ran, RunScript(RecordScript(Sha256Hex(token)), false, kShortWait));
  if (ran.timed_out || ran.truncated) return Fail(Code::kTimeout, "no answer in time");
  return ReadActRecord(ran.out);
}

}  // namespace muster::host
