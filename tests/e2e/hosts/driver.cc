// The contract of every actuator, led over a real sshd: run.sh has started two hosts and written an
// ssh_config. Usage: muster_hosts_e2e FOLDER NODE OTHER. Ends with 0 when every test passes.
#include <string>

#include <gtest/gtest.h>

#include "backend/host/host_actuator.h"
#include "backend/host/host_site.h"
#include "backend/host/testing/played_hosts.h"
#include "backend/testing/actuator_contract.h"
#include "world/posix/posix_world.h"

namespace muster::host {
namespace {

std::string folder, first, second;

TEST(HostsOverSshd, KeepTheContract) {
  PosixWorld posix;
  Site site = TwoNodes(first, second);
  site.ssh["config"] = "./ssh_config";
  HostSite hosts(site, folder, posix.ports());
  HostActuator actuator(site, hosts);
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(posix.ports().clock.Now());
  const muster::testing::ContractStage stage{actuator, first, second, now};
  muster::testing::KeepsTheLease(stage);
  for (const ContractAct& act : ContractActs(folder + "/" + second + "/written"))
    muster::testing::ProbesWhatItDid(stage, act.kind, act.params, [] {});
}

}  // namespace
}  // namespace muster::host

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 4) return 2;
  muster::host::folder = argv[1];
  muster::host::first = argv[2];
  muster::host::second = argv[3];
  return RUN_ALL_TESTS();
}
