#include "backend/bmc/bmc_actuator.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::bmc {

namespace {

constexpr std::string_view kNoScheduler = "a BMC is no scheduler: who holds a node it cannot say";

std::string Found(const Fingerprint& before, const char* key) {
  const auto it = before.find(key);
  return it == before.end() ? "" : it->second;
}

struct Booted {
  std::string boot_id;
  TimePoint at;
};

// What the host itself says of its start.
Result<Booted> AskHost(Hosts& hosts, std::string_view node) {
  TRY(const HostPorts host, hosts.At(node));
  TRY(const std::string id, host.world.files.Read("/proc/sys/kernel/random/boot_id"));
  TRY(const std::string uptime, host.world.files.Read("/proc/uptime"));
  const TimePoint now = host.world.clock.Now();
  Booted booted;
  booted.boot_id = std::string(Trim(id));
  TRY(const double seconds, ParseDouble(uptime.substr(0, uptime.find(' '))));
  if (booted.boot_id.size() < 8 || seconds < 0)
    return Fail(Code::kParse, fmt::format("a boot id and an uptime, found \"{}\" and \"{}\"",
                                          Printable(booted.boot_id), Printable(Trim(uptime))));
  booted.at = now - std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  return booted;
}

}  // namespace

BmcActuator::BmcActuator(std::map<std::string, std::unique_ptr<Bmc>> bmcs, Hosts& hosts,
                         Clock& clock, std::vector<std::shared_ptr<Http>> keep)
    : keep_(std::move(keep)), hosts_(hosts), clock_(clock) {
  for (auto& [node, bmc] : bmcs) bmcs_.emplace(node, std::move(bmc));
}

std::vector<ActKind> BmcActuator::Can() const { return {ActKind::kPowerCycle, ActKind::kBmcReset}; }

Result<Bmc*> BmcActuator::Of(std::string_view node) {
  const auto it = bmcs_.find(node);
  if (it == bmcs_.end())
    return Fail(Code::kNotFound,
                fmt::format("the site names no BMC for {}", Printable(std::string(node))));
  return it->second.get();
}

std::vector<std::string> BmcActuator::Render(const Action& action) const {
  const auto it = bmcs_.find(action.on.Host());
  if (it == bmcs_.end()) return {fmt::format("(no BMC is named for {})", action.on.Host())};
  if (action.kind == ActKind::kBmcReset) return {it->second->RenderRestart()};
  return {it->second->Render(PowerAct::kCycle)};
}

Result<Fingerprint> BmcActuator::Before(const Action& action) {
  TRY(Bmc* const bmc, Of(action.on.Host()));
  Fingerprint before;
  if (action.kind == ActKind::kBmcReset) {
    const auto started = bmc->ControllerStarted();
    if (!started.ok())
      return Fail(Code::kUnavailable, "nothing could show that the controller was restarted: " +
                                          started.error().ToString());
    before["bmc_started_at"] = *started;
    return before;
  }
  TRY(const Seen seen, bmc->Look());
  before["power"] = std::string(ToString(seen.power));
  before["last_reset"] = seen.last_reset;
  // A host that is down already is what a power cycle is for: it has no boot id to compare.
  if (const auto booted = AskHost(hosts_, action.on.Host()); booted.ok())
    before["boot_id"] = booted->boot_id;
  return before;
}

DidResult BmcActuator::Do(const Order& order) {
  const std::string node(order.action.on.Host());
  const auto bmc = Of(node);
  if (!bmc.ok()) return {Did::kRefused, bmc.error().message};
  uint64_t& fence = fences_[node];
  if (order.fence < fence)
    return {Did::kRefused, fmt::format("fence {} is older than {}", order.fence, fence)};
  fence = order.fence;
  if (order.action.kind == ActKind::kBmcReset) return (*bmc)->RestartController();
  if (order.action.kind != ActKind::kPowerCycle) return {Did::kRefused, "a BMC does not do this"};
  const auto seen = (*bmc)->Look();
  if (!seen.ok()) return {Did::kRefused, "its power cannot be read: " + seen.error().ToString()};
  // A cycle of what is off is refused by many controllers: it is switched on.
  return (*bmc)->Do(seen->power == Power::kOff ? PowerAct::kOn : PowerAct::kCycle);
}

ProbeResult BmcActuator::Probe(const Order& order) {
  if (order.action.kind != ActKind::kBmcReset) return ProbePower(order);
  const auto bmc = Of(order.action.on.Host());
  if (!bmc.ok()) return {Happened::kUnknown, bmc.error().message};
  const auto started = (*bmc)->ControllerStarted();
  if (!started.ok()) return {Happened::kUnknown, started.error().ToString()};
  const std::string was = Found(order.before, "bmc_started_at");
  if (was.empty()) return {Happened::kUnknown, "what was so before is not known"};
  if (*started == was) return {Happened::kNo, "the controller runs since " + was};
  return {Happened::kYes, fmt::format("the controller runs since {}, was {}", *started, was)};
}

ProbeResult BmcActuator::ProbePower(const Order& order) {
  const std::string node(order.action.on.Host());
  const auto bmc = Of(node);
  if (!bmc.ok()) return {Happened::kUnknown, bmc.error().message};
  const std::string was_boot = Found(order.before, "boot_id");
  const auto booted = AskHost(hosts_, node);
  if (booted.ok()) {
    const std::string now = booted->boot_id.substr(0, 8);
    if (!was_boot.empty() && booted->boot_id != was_boot)
      return {Happened::kYes, fmt::format("boot_id {} is now {}", was_boot.substr(0, 8), now)};
    if (was_boot.empty() && booted->at > order.intended_at)
      return {Happened::kYes, fmt::format("the host came up at {}", FormatTime(booted->at))};
    // The host runs on as before: whatever the controller says, its power was not cut.
    return {Happened::kNo, fmt::format("the host runs on, boot_id {}", now)};
  }
  const auto seen = (*bmc)->Look();
  if (!seen.ok())
    return {Happened::kUnknown,
            fmt::format("neither the host nor its BMC answers: {}", seen.error().ToString())};
  const std::string was_reset = Found(order.before, "last_reset");
  if (seen->power == Power::kOn && !seen->last_reset.empty() && !was_reset.empty() &&
      seen->last_reset != was_reset)
    return {Happened::kYes,
            fmt::format("the BMC names a reset at {}, before {}", seen->last_reset, was_reset)};
  const std::string was_power = Found(order.before, "power");
  if (seen->power == Power::kOn && was_power == "off")
    return {Happened::kYes, "power was off and is on"};
  // Half of a cycle: given again, it is switched on.
  if (seen->power == Power::kOff) return {Happened::kNo, "its power is off"};
  return {Happened::kUnknown,
          fmt::format("the host does not answer, its power is {}", ToString(seen->power))};
}

Result<Hold> BmcActuator::ReadHold(const std::string&) {
  return Fail(Code::kUnavailable, std::string(kNoScheduler));
}
Result<Actuator::Fleet> BmcActuator::ReadFleet() {
  return Fail(Code::kUnavailable, std::string(kNoScheduler));
}
Result<std::vector<RunningJob>> BmcActuator::JobsOn(const std::string&) {
  return Fail(Code::kUnavailable, std::string(kNoScheduler));
}

}  // namespace muster::bmc
