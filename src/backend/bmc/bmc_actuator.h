// Power and controller restarts of a site's nodes through their controllers, as an actuator. It is
// no scheduler: cordon, drain and return are another's, and what runs on a node it cannot know.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/bmc/bmc.h"
#include "backend/hosts.h"
#include "world/clock.h"
#include "world/http.h"

namespace muster::bmc {

// A power cycle has happened when the host itself came up anew (its boot id, its uptime) or the
// controller names another time of its last reset; a controller's "accepted" shows nothing.
class BmcActuator final : public Actuator {
 public:
  // `bmcs`: by node. `hosts` and `clock` are borrowed. `keep`: what the controllers borrow.
  BmcActuator(std::map<std::string, std::unique_ptr<Bmc>> bmcs, Hosts& hosts, Clock& clock,
              std::vector<std::shared_ptr<Http>> keep = {});

  Origin origin() const override { return hosts_.origin(); }
  std::vector<ActKind> Can() const override;
  std::vector<std::string> Render(const Action& action) const override;
  // Of a restart of the controller: kUnavailable where it does not say when it was started, since
  // nothing could show afterwards that it happened.
  Result<Fingerprint> Before(const Action& action) override;
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;

  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override;
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

  // Power, sensors and events of a node, for a person.
  Result<Bmc*> Of(std::string_view node);

 private:
  ProbeResult ProbePower(const Order& order);

  std::vector<std::shared_ptr<Http>> keep_;  // outlives the controllers
  std::map<std::string, std::unique_ptr<Bmc>, std::less<>> bmcs_;
  Hosts& hosts_;
  Clock& clock_;
  std::map<std::string, uint64_t, std::less<>> fences_;
};

}  // namespace muster::bmc
