// The hosts of a real site: this machine, or machines reached with OpenSSH. Nothing is installed on
// them and nothing is written there. All that is observed through it is live.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/host/ssh_host.h"
#include "backend/hosts.h"
#include "model/site.h"

namespace muster::host {

struct HostSiteOptions {
  std::string runtime_parent = "/tmp";  // where the private folder for sockets is made; short, for
                                        // a socket's path ends at 108 bytes
};

// A node is this machine when its address is localhost, 127.0.0.1 or ::1; and, without an address,
// when it is called as this machine is or when it is the only node and the site says nothing about
// ssh. Every other node is asked over ssh, by its address or else its name: two nodes must never
// both be this machine by accident. "facility": this machine, with paths below the site's folder.
// "fabric": Site::fabric_host, or the first node. "monitor": this machine, with HTTP to
// the site file's telemetry.
class HostSite final : public Hosts {
 public:
  // `local` is this machine's ports, borrowed. `site_folder` is the folder of the site file.
  HostSite(const Site& site, std::string site_folder, World local, HostSiteOptions options = {});
  ~HostSite() override;

  std::vector<std::string> Names() const override { return names_; }
  Result<HostPorts> At(std::string_view host) override;
  Origin origin() const override { return Origin::kLive; }
  int Parallel() const override { return 16; }

  // Null for a node that is this machine, and for the three names that are no nodes.
  SshHost* Ssh(std::string_view node);

 private:
  World local_;
  std::vector<std::string> names_;
  std::string fabric_;
  std::unique_ptr<Files> facility_files_;
  std::unique_ptr<Http> monitor_http_;
  RuntimeFolder folder_;
  std::map<std::string, std::unique_ptr<SshHost>, std::less<>> hosts_;  // null = this machine
};

}  // namespace muster::host
