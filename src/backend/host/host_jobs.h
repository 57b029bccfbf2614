// Gangs on real hosts: ranks as processes of the user, started here or over OpenSSH. First every
// node says that it is ready, then all ranks start; each can be ended by its own process group, and
// its end can be proven.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/host_site.h"
#include "backend/jobs.h"

namespace muster::host {

struct HostJobsOptions {
  // How long the others may go on once a rank has failed: time to say why, no time to hang in a
  // collective.
  Duration failure_grace = std::chrono::seconds(15);
  HostSiteOptions site = {};
};

// Each rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR,
// MASTER_PORT and MUSTER_GANG. A rank on another host ends when its connection does; one on this
// machine ends with us. MASTER_ADDR is 127.0.0.1 when all ranks are here, else the first node's
// address as that node itself gives it; a value in GangSpec::env is taken instead.
// RankResult::started_after comes from the host's own clock, held between the moment we asked and
// the rank's end.
class HostJobs final : public Jobs {
 public:
  // `site_folder`: as for HostSite, where relative paths of the site's ssh section are meant from.
  HostJobs(const Site& site, std::string site_folder, World local, HostJobsOptions options = {});
  HostJobs(const Site& site, World local, HostJobsOptions options = {})
      : HostJobs(site, "", local, std::move(options)) {}
  ~HostJobs() override;

  Result<GangResult> RunGang(const GangSpec& spec) override;
  // On every node of the site. A node that cannot be asked is named: nothing is proven about it.
  Result<std::vector<std::string>> Leftovers(const std::string& gang_name) override;
  // Ends what is left of a gang whose Muster was killed. An error names the nodes where something
  // withstood.
  Status Clean(const std::string& gang_name);

 private:
  class Gang;

  Result<CommandResult> Script(const std::string& node, const std::string& script);
  Status EndOn(const std::vector<std::string>& nodes, const std::string& gang_name);

  World local_;
  HostJobsOptions options_;
  HostSite hosts_;
  std::map<std::string, size_t, std::less<>> gpus_;  // a node's; absent where the site expects none
};

}  // namespace muster::host
