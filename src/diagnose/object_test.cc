#include "diagnose/object.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::diagnose {
namespace {

TEST(ObjectOfALine, IsWhatTheLineNames) {
  struct Expected {
    const char* line;
    Object object;
  };
  for (const Expected& e : std::initializer_list<Expected>{
           {"10m  Normal  Started  pod/train-0  Started container main", {"pod", "", "train-0"}},
           {"ml  10m  Warning  FailedMount  pod/train-0  MountVolume.SetUp failed",
            {"pod", "ml", "train-0"}},
           {"9m (x3 over 12m)  Warning  Failed  pod/a  x", {"pod", "", "a"}},
           {"12m  Normal  NodeReady  node/gpu-7  Node gpu-7 status is now: NodeReady",
            {"node", "", "gpu-7"}},
           {"  Normal  Scheduled  9s  default-scheduler  Successfully assigned ml/a-1 to gpu01",
            {"pod", "ml", "a-1"}},
           {"E0602 1 x.go:2] \"Error syncing pod\" err=\"x\" pod=\"ml/train-0\" podUID=\"1\"",
            {"pod", "ml", "train-0"}},
           {"MountVolume.SetUp succeeded for volume \"data\" pod \"app-7\"", {"pod", "", "app-7"}},
           {"volume \\\"data\\\" pod \\\"app-7\\\"", {"pod", "", "app-7"}},
           {"slurmctld: error: Nodes gpu02 not responding", {"node", "", "gpu02"}},
           {"slurmctld: Node gpu02 now responding", {"node", "", "gpu02"}},
           {"kernel: nfs: server nas01 not responding, still trying", {"server", "", "nas01"}},
           {"kernel: nfs: server nas01 OK", {"server", "", "nas01"}},
           {"Lustre: fs-OST1-osc-f8: Connection to fs-OST1 (at 10.0.0.5@o2ib) was lost",
            {"server", "", "fs-OST1-osc-f8"}},
           {"Lustre: fs-OST1-osc-f8: Connection restored to 10.0.0.5@o2ib",
            {"server", "", "fs-OST1-osc-f8"}},
           {"bgpd[8]: %ADJCHANGE: neighbor swp51(spine01) in vrf default Down",
            {"neighbour", "", "swp51"}},
           {"Bgp: %BGP-5-ADJCHANGE: peer 10.0.1.4 (VRF default AS 65014) old state Established",
            {"neighbour", "", "10.0.1.4"}},
           {":- updatePortOperStatus: Port Ethernet48 oper state set from up to down",
            {"port", "", "Ethernet48"}},
           {"[ 4122.9] nvme nvme5: Failed reconnect attempt 3", {"disk", "", "5"}},
           {"salloc: job 4711 queued and waiting for resources", {"batch job", "", "4711"}},
           {"  Warning  FailedMount  4m  kubelet  Unable to attach or mount volumes", {}},
           {"Node is not responding", {}},
           {"9m  Normal  Started  pod/  x", {}},
           {"the job was lost", {}},
           {"", {}}}) {
    EXPECT_EQ(ObjectIn(e.line), e.object) << e.line;
  }
}

TEST(ObjectAboveALine, IsWhatIsDescribed) {
  const auto described = [](std::string_view text) {
    ObjectAbove above;
    for (const std::string_view line : Lines(text)) above.Line(line);
    return above.now();
  };
  EXPECT_EQ(described("Name:   train-0\nNamespace:   ml\nStatus: Running\nEvents:\n"),
            (Object{"", "ml", "train-0"}));
  EXPECT_EQ(described("Name:   gpu01\nRoles:   <none>\nLabels: a=b\n"),
            (Object{"node", "", "gpu01"}));
  EXPECT_EQ(
      described("Name:   a\nNamespace: ml\nEvents:\n  x\n\nName:   b\nNamespace: ml\nEvents:\n"),
      (Object{"", "ml", "b"}));
  EXPECT_EQ(described("Name: somebody\nthanks for any help\nNamespace: ml\n"), Object{});
  const std::string yaml =
      "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    name: other\n  name: train-0\n"
      "  namespace: ml\n  ownerReferences:\n  - kind: Job\n    name: train\nspec:\n"
      "  containers:\n  - name: main\nstatus:\n  phase: Running\n";
  EXPECT_EQ(described(yaml), (Object{"pod", "ml", "train-0"}));
  EXPECT_EQ(
      described("items:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  status:\n"
                "    phase: Pending\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: b\n"),
      (Object{"pod", "", "b"}));
}

TEST(WhatConcernsAnObject, IsTheSameOneOrAPodOfIt) {
  const Object pod{"pod", "ml", "train-0"};
  EXPECT_TRUE(Concerns(pod, pod));
  EXPECT_TRUE(Concerns({"pod", "", "train-0"}, pod));
  EXPECT_TRUE(Concerns({"", "ml", "train-0"}, pod));
  EXPECT_FALSE(Concerns({"pod", "ml", "train-1"}, pod));
  EXPECT_FALSE(Concerns({"pod", "other", "train-0"}, pod));
  EXPECT_FALSE(Concerns({"node", "", "train-0"}, pod));
  EXPECT_FALSE(Concerns({"pod", "ml", "train-0-x"}, pod));
  EXPECT_TRUE(Concerns({"pod", "ml", "train-0-x8k2p"}, {"workload", "ml", "jobset-train-1a2b3"}));
  EXPECT_TRUE(Concerns(pod, {"podgroup", "ml", "train"}));
  EXPECT_TRUE(Concerns(pod, {"podgroup", "ml", "train-0f0e0d0c-1111-2222-3333-444455556666"}));
  EXPECT_FALSE(Concerns({"pod", "ml", "trainer-0"}, {"podgroup", "ml", "train"}));
  EXPECT_FALSE(Concerns({"podgroup", "ml", "train"}, pod));
}

}  // namespace
}  // namespace muster::diagnose
