// One actuator for a site that several can act on: its scheduler holds nodes, its hosts are acted
// on from inside, its controllers switch their power. Which of them does what is decided here, by
// the kind of the act, and nowhere else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/actuator.h"
#include "backend/hold_memory.h"

namespace muster {

// Any may be missing; what is then asked of it is refused.
struct ActuatorParts {
  std::shared_ptr<Actuator> scheduler;  // cordon, drain, return; who holds what; which work runs
  std::shared_ptr<Actuator> host;       // all else; may be the scheduler itself
  std::shared_ptr<Actuator> power;      // power cycles and restarts of controllers
  // Where leases lie on the hosts themselves: what to go by while a host is silent.
  std::unique_ptr<HoldMemory> memory;
  std::string missing = {};  // why the scheduler is missing, where the site names one
  std::shared_ptr<Actuator> repository = {};  // reverts in the site's git, on this machine
};

class ComposedActuator final : public Actuator {
 public:
  explicit ComposedActuator(ActuatorParts parts) : parts_(std::move(parts)) {}

  enum class Part { kScheduler, kHost, kPower, kRepository };
  static Part PartFor(ActKind kind);

  Origin origin() const override;  // the least real of its parts
  std::vector<ActKind> Can() const override;
  Status CheckAct(const Action& action) const override;
  std::vector<std::string> Render(const Action& action) const override;
  Result<Fingerprint> Before(const Action& action) override;
  // What a part cannot know, whether the order's lease is still on the node, is asked of the
  // scheduler first.
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;
  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override;
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

 private:
  Actuator* PartOf(ActKind kind) const;
  std::string Nobody(Part part) const;

  ActuatorParts parts_;
};

}  // namespace muster
