// The lab's hosts: every node answers commands, file reads and HTTP as the machine it plays would,
// from the one truth in lab/state. Beside the nodes there are "facility" (sign-off and PDUs),
// "fabric" (fabric tools, run on the first node) and "monitor" (Prometheus and Alertmanager).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/hosts.h"
#include "backend/lab/state/lab_state.h"

namespace muster::lab {

class MonitorPort;

struct LabHostsOptions {
  std::string self_binary;          // path of muster: the lab's exporter is a process of it
  bool modelled_telemetry = false;  // answer for Prometheus from the model and start nothing
};

class LabHosts final : public Hosts {
 public:
  // `base` is this machine; borrowed. Time is its clock's; a lab has no other.
  LabHosts(LabState state, World base, LabHostsOptions options = {});
  ~LabHosts() override;

  std::vector<std::string> Names() const override;
  Result<HostPorts> At(std::string_view host) override;
  Origin origin() const override { return Origin::kRehearsed; }
  int Parallel() const override {
    return 2;
  }  // answers are computed here, so more askers than cores gain nothing

  const LabState& state() const { return state_; }
  // Starts the lab's Prometheus ahead of the first question, so that it has scraped by then. Fine
  // to leave out.
  Status PrepareMonitor();

 private:
  class Host;
  class MonitorHttp;

  MonitorPort& Monitor();

  LabState state_;
  World base_;
  LabHostsOptions options_;
  std::map<std::string, std::unique_ptr<Host>, std::less<>> hosts_;
  std::mutex mutex_;  // guards monitor_
  std::unique_ptr<MonitorPort> monitor_;
};

}  // namespace muster::lab
