// Packages through Ansible: where a site says so, they are installed by ansible-playbook from this
// machine, with the site's inventory and its playbook, or ours. What was begun is written down
// here; whether it happened the host itself is asked, as for apt.
#pragma once

#include <string>
#include <vector>

#include "backend/host/act_place.h"
#include "model/site.h"

namespace muster::host {

struct AnsibleOptions {
  AnsibleTarget target;      // paths as they are meant from here
  std::string own_playbook;  // the text of Muster's, for a site without one
  std::string folder;        // where it runs, so that the site's ansible.cfg counts
  std::string state_folder;  // where its acts are written down
  bool sudo = false;         // it becomes root
};

class AnsiblePackages {
 public:
  // `here` are the processes of this machine, borrowed.
  AnsiblePackages(Processes& here, AnsibleOptions options)
      : here_(here), options_(std::move(options)) {}

  // For a person, before. `pins` are "name=version".
  std::vector<std::string> Render(const Action& action, const std::vector<std::string>& pins) const;
  // Asks Ansible which hosts it would reach: kUnavailable unless it is there, reads the inventory
  // and the playbook, and means this node and no other.
  Status Ready(const std::string& node);
  DidResult Do(const Order& order, const std::vector<std::string>& pins, int wait_s);
  Result<ActRecord> ReadRecord(const Order& order);

 private:
  HostCommands CommandsFor(const Action& action, const std::vector<std::string>& pins) const;
  Words Environment() const;
  Words Playbook(const std::string& node, Words more) const;
  ActPlace PlaceOf(const std::string& node) const;

  Processes& here_;
  const AnsibleOptions options_;
};

// The hosts that ansible-playbook --list-hosts prints, each once, in its order.
std::vector<std::string> ListedHosts(std::string_view printed);

}  // namespace muster::host
