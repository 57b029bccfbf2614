#include "backend/composed_actuator.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster {

ComposedActuator::Part ComposedActuator::PartFor(ActKind kind) {
  switch (kind) {
    case ActKind::kCordon:
    case ActKind::kDrain:
    case ActKind::kReturn:
    case ActKind::kJobStop:
    case ActKind::kJobRequeue:
      return Part::kScheduler;
    case ActKind::kPowerCycle:
    case ActKind::kBmcReset:
      return Part::kPower;
    case ActKind::kGitRevert:
      return Part::kRepository;
    default:
      return Part::kHost;
  }
}

std::string ComposedActuator::Nobody(Part part) const {
  if (part == Part::kScheduler && !parts_.missing.empty()) return parts_.missing;
  if (part == Part::kRepository) return "the site names no repositories";
  return "the site names nobody who does this";
}

Actuator* ComposedActuator::PartOf(ActKind kind) const {
  switch (PartFor(kind)) {
    case Part::kScheduler:
      return parts_.scheduler.get();
    case Part::kPower:
      return parts_.power.get();
    case Part::kRepository:
      return parts_.repository.get();
    case Part::kHost:
      break;
  }
  return parts_.host.get();
}

Origin ComposedActuator::origin() const {
  Origin least = Origin::kLive;
  for (const Actuator* part :
       {parts_.scheduler.get(), parts_.host.get(), parts_.power.get(), parts_.repository.get()}) {
    if (part != nullptr) least = std::max(least, part->origin());
  }
  return least;
}

std::vector<ActKind> ComposedActuator::Can() const {
  std::vector<ActKind> can;
  for (const ActTraits& act : AllActs()) {
    const Actuator* part = PartOf(act.kind);
    if (part == nullptr) continue;
    const auto its = part->Can();
    if (std::find(its.begin(), its.end(), act.kind) != its.end()) can.push_back(act.kind);
  }
  return can;
}

Status ComposedActuator::CheckAct(const Action& action) const {
  const Actuator* part = PartOf(action.kind);
  return part == nullptr ? Status{} : part->CheckAct(action);
}

std::vector<std::string> ComposedActuator::Render(const Action& action) const {
  const Actuator* part = PartOf(action.kind);
  if (part == nullptr)
    return {fmt::format("({}: {})", ToString(action.kind), Nobody(PartFor(action.kind)))};
  return part->Render(action);
}

Result<Fingerprint> ComposedActuator::Before(const Action& action) {
  Actuator* part = PartOf(action.kind);
  if (part == nullptr) return Fail(Code::kUnavailable, Nobody(PartFor(action.kind)));
  return part->Before(action);
}

DidResult ComposedActuator::Do(const Order& order) {
  Actuator* part = PartOf(order.action.kind);
  if (!TraitsOf(order.action.kind).effect) return {Did::kAccepted, "nothing of the site changes"};
  if (part == nullptr) return {Did::kRefused, Nobody(PartFor(order.action.kind))};
  if (part != parts_.scheduler.get() && !order.lease.owner.empty()) {
    const auto hold = ReadHold(std::string(order.action.on.Host()));
    if (!hold.ok())
      return {Did::kRefused, "who holds the node cannot be read: " + hold.error().ToString()};
    if (!hold->lease || hold->lease->run != order.lease.run ||
        hold->lease->owner != order.lease.owner)
      return {Did::kRefused, "the node is not held by this run any more"};
    if (order.fence < hold->lease->fence)
      return {Did::kRefused,
              fmt::format("fence {} is older than {}", order.fence, hold->lease->fence)};
  }
  const DidResult did = part->Do(order);
  // Remembered from what stands there now, not from what was ordered.
  const bool of_the_hold =
      order.action.kind == ActKind::kCordon || order.action.kind == ActKind::kReturn;
  if (parts_.memory != nullptr && of_the_hold && did.did != Did::kRefused)
    static_cast<void>(ReadHold(std::string(order.action.on.Host())).ok());
  return did;
}

ProbeResult ComposedActuator::Probe(const Order& order) {
  Actuator* part = PartOf(order.action.kind);
  if (part == nullptr) return {Happened::kUnknown, Nobody(PartFor(order.action.kind))};
  return part->Probe(order);
}

Result<Hold> ComposedActuator::ReadHold(const std::string& node) {
  if (parts_.scheduler == nullptr) return Fail(Code::kUnavailable, Nobody(Part::kScheduler));
  auto hold = parts_.scheduler->ReadHold(node);
  if (parts_.memory == nullptr) return hold;
  if (hold.ok()) {
    parts_.memory->Saw(node, *hold);
    return hold;
  }
  const bool silent =
      hold.error().code == Code::kUnavailable || hold.error().code == Code::kTimeout;
  if (auto last = parts_.memory->Last(node); silent && last) return std::move(*last);
  return hold;
}

Result<Actuator::Fleet> ComposedActuator::ReadFleet() {
  if (parts_.scheduler == nullptr) return Fail(Code::kUnavailable, Nobody(Part::kScheduler));
  return parts_.scheduler->ReadFleet();
}

Result<std::vector<RunningJob>> ComposedActuator::JobsOn(const std::string& node) {
  if (parts_.scheduler == nullptr) return Fail(Code::kUnavailable, Nobody(Part::kScheduler));
  return parts_.scheduler->JobsOn(node);
}

}  // namespace muster
