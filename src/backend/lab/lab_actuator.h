// Acts on the lab's truth: what it did, the production probes then see, as on real hosts.
// Everything is in lab.json, changed under a lock, so several runs and several processes act on one
// lab.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/actuator.h"
#include "backend/lab/state/lab_state.h"
#include "world/world.h"

namespace muster::lab {

// Whoever changes lab.json holds this for the moment of it. kConflict: somebody does for seconds.
Result<std::unique_ptr<FileLock>> LockLab(World& world, const std::string& folder);

class LabActuator final : public Actuator {
 public:
  // `base` is this machine; borrowed. `folder` is where lab.json is.
  LabActuator(World base, std::string folder) : base_(base), folder_(std::move(folder)) {}

  Origin origin() const override { return Origin::kRehearsed; }
  std::vector<ActKind> Can() const override;
  // The commands that a real host would be sent.
  std::vector<std::string> Render(const Action& action) const override;
  Result<Fingerprint> Before(const Action& action) override;
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;
  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override;
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

  // A job of the lab, for rehearsals; `checkpoint_every` 0: it writes no durable checkpoint.
  Status StartJob(const RunningJob& job, Duration checkpoint_every);
  // Acts of this kind on this node do not go well from now on, as NodeOps::spoiled says; "" takes
  // it back.
  Status Spoil(const std::string& node, ActKind kind, const std::string& how);
  // What a person does by hand: sets or clears a cordon without asking anybody.
  Status SetHold(const std::string& node, const Hold& hold);

 private:
  struct Open {
    std::unique_ptr<FileLock> lock;
    LabState state;
  };
  Result<Open> OpenLab();  // locked, until it is destroyed
  // lab.json as it is now; made anew only when it changed.
  Result<std::shared_ptr<const LabState>> Look();
  DidResult DoHold(LabState& state, const Order& order);

  World base_;
  std::string folder_;
  std::string seen_text_;
  std::shared_ptr<const LabState> seen_;
};

}  // namespace muster::lab
