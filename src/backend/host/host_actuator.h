// Acts on real hosts over the ports by which they are looked at (OpenSSH, or this machine):
// services, modules, GPUs, packages, files, reboots, and the lease by which a node is held. A
// node's lease and the record of what was begun there lie on the host itself, so a second engine
// sees them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/actuator.h"
#include "backend/host/act_place.h"
#include "backend/host/ansible_packages.h"
#include "backend/host/host_acts.h"
#include "backend/hosts.h"
#include "model/site.h"

namespace muster::host {

struct HostActuatorOptions {
  // False where a scheduler keeps the cordons: the lease of an order is then checked by whoever
  // asks it, and fences alone are kept here.
  bool keeps_holds = true;
  int wait_s = 20;  // for an act's end, before it is said to be begun
  // Where Ansible installs packages; nothing: apt on the host does.
  std::shared_ptr<AnsiblePackages> ansible = {};
};

// Complexity: ReadFleet asks each node once, hosts.Parallel() at a time.
class HostActuator final : public Actuator {
 public:
  // Borrowed. Site::packages and Site::sudo say what packages are made of, and as whom.
  HostActuator(const Site& site, Hosts& hosts, HostActuatorOptions options = {})
      : site_(site), hosts_(hosts), options_(options) {}

  Origin origin() const override { return hosts_.origin(); }
  std::vector<ActKind> Can() const override;
  Status CheckAct(const Action& action) const override;
  std::vector<std::string> Render(const Action& action) const override;
  Result<Fingerprint> Before(const Action& action) override;
  // A connection that is lost after the order went out gives kUnknown, never kAccepted.
  DidResult Do(const Order& order) override;
  ProbeResult Probe(const Order& order) override;
  // kUnavailable where the host does not answer; kCorrupt where what stands there is not whole.
  Result<Hold> ReadHold(const std::string& node) override;
  Result<Fleet> ReadFleet() override;
  // Processes that compute on GPUs, as nvidia-smi lists them; their checkpoints are not known.
  Result<std::vector<RunningJob>> JobsOn(const std::string& node) override;

 private:
  Result<const Node*> NodeOf(std::string_view name) const;
  Result<ActPlace> PlaceOf(const std::string& node);
  Result<StoredHold> ReadStored(const std::string& node);
  Result<std::string> BootId(const std::string& node);
  Result<Fingerprint> Ask(const Action& action);
  DidResult DoHold(ActPlace& place, const Order& order, const StoredHold& stored);
  DidResult DoAct(ActPlace& place, const Order& order, const StoredHold& stored);

  AnsiblePackages* AnsibleFor(const Action& action) const {
    return action.kind == ActKind::kPackages ? options_.ansible.get() : nullptr;
  }

  const Site& site_;
  Hosts& hosts_;
  const HostActuatorOptions options_;
};

}  // namespace muster::host
