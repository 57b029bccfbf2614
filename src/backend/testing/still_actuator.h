// An actuator that never acts: for tests of what is worked out before anything is done.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/actuator.h"

namespace muster::testing {

class StillActuator final : public Actuator {
 public:
  explicit StillActuator(Origin from = Origin::kRehearsed) : from_(from) {
    for (const ActTraits& act : AllActs()) can.push_back(act.kind);
  }
  Origin origin() const override { return from_; }
  std::vector<ActKind> Can() const override { return can; }
  Status CheckAct(const Action& action) const override {
    if (lacks != action.kind) return {};
    return Fail(Code::kInvalid, "the site lacks it");
  }
  std::vector<std::string> Render(const Action& action) const override {
    return {"do " + action.ToString()};
  }
  Result<Fingerprint> Before(const Action&) override { return Fingerprint{}; }
  DidResult Do(const Order&) override { return {Did::kRefused, "it never acts"}; }
  ProbeResult Probe(const Order&) override { return {Happened::kNo, "it never acts"}; }
  Result<Hold> ReadHold(const std::string&) override { return Hold{}; }
  Result<Fleet> ReadFleet() override { return fleet; }
  Result<std::vector<RunningJob>> JobsOn(const std::string&) override {
    return std::vector<RunningJob>{};
  }

  std::vector<ActKind> can;
  std::optional<ActKind> lacks;
  Fleet fleet;

 private:
  Origin from_;
};

}  // namespace muster::testing
