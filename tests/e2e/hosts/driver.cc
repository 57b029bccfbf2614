// The contract of every actuator, led over a real sshd: run.sh has started two hosts and written an
// ssh_config. Usage: muster_hosts_e2e FOLDER NODE OTHER. Ends with 0 when every test passes.
#include <string>

#include <gtest/gtest.h>

#include "backend/host/host_actuator.h"
#include "backend/host/host_site.h"
#include "backend/testing/actuator_contract.h"
#include "world/posix/posix_world.h"

namespace muster::host {
namespace {

std::string folder, first, second;

Site TwoHosts() {
  Site site;
  site.kind = SiteKind::kHost;
  site.ssh["config"] = "./ssh_config";
  for (const std::string& name : {first, second}) {
    Node node;
    node.name = name;
    node.gpus = {Gpu{}, Gpu{}};
    node.gpus[1].index = 1;
    site.cluster.nodes.push_back(node);
  }
  site.packages["driver"] = {"cuda-drivers-570={value}-1"};
  return site;
}

TEST(HostsOverSshd, KeepTheContract) {
  PosixWorld posix;
  const Site site = TwoHosts();
  HostSite hosts(site, folder, posix.ports());
  HostActuator actuator(site, hosts);
  const TimePoint now = std::chrono::floor<std::chrono::milliseconds>(posix.ports().clock.Now());
  const muster::testing::ContractStage stage{actuator, first, second, now};
  muster::testing::KeepsTheLease(stage);
  const auto none = [] {};
  const auto probes = [&](ActKind kind, std::map<std::string, std::string> params = {}) {
    muster::testing::ProbesWhatItDid(stage, kind, params, none);
  };
  probes(ActKind::kServiceStop, {{"unit", "nvidia-dcgm"}});
  probes(ActKind::kServiceStart, {{"unit", "nvidia-dcgm"}});
  probes(ActKind::kServiceRestart, {{"unit", "nvidia-dcgm"}});
  probes(ActKind::kModuleLoad, {{"module", "nvidia-peermem"}});
  probes(ActKind::kModuleReload, {{"module", "nvidia"}});
  probes(ActKind::kGpuReset);
  probes(ActKind::kFileWrite,
         {{"path", folder + "/" + second + "/written"}, {"content", "a 'b' \"c\" $d `e`\n\\"}});
  probes(ActKind::kReboot);
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
