#include "diagnose/printer.h"

#include <gtest/gtest.h>

#include "diagnose/knowledge.h"

namespace muster::diagnose {
namespace {

std::string_view LayerOf(std::string_view line) {
  return LayerOfPrinter(LoadKnowledge().value()->printers, line);
}

TEST(Printer, OfADriversLineIsTheDriver) {
  EXPECT_EQ(LayerOf("[   41.1] ice 0000:4b:00.0: Cannot init the tunnel table"), "nic");
  EXPECT_EQ(LayerOf("Nov 20 03:00:10 node3 kernel: mlx5_core 0000:17:00.1 ens1: odd"), "nic");
  EXPECT_EQ(LayerOf("infiniband mlx5_0: create_qp:30:(pid 1): odd"), "nic");
  EXPECT_EQ(LayerOf("[ 9.1] XFS (nvme0n1p1): odd"), "storage");
  EXPECT_EQ(LayerOf("[ 9.1] pcieport 0000:00:01.0: odd"), "pcie");
  EXPECT_EQ(LayerOf("[ 9.1] NVRM: GPU1 odd"), "driver");
}

TEST(Printer, OfASyslogLineIsTheDaemon) {
  EXPECT_EQ(LayerOf("Nov 20 03:00:10 node3 slurmd[811]: error: odd"), "scheduler");
  EXPECT_EQ(LayerOf("Nov 20 03:00:10 node3 chronyd[4]: odd"), "node");
}

TEST(Printer, IsNobodyInProse) {
  EXPECT_EQ(LayerOf("the ice on node3 was thin"), "");
  EXPECT_EQ(LayerOf("we saw nvme drives and a mana gateway fail"), "");
  EXPECT_EQ(LayerOf(""), "");
}

TEST(Printer, OfEachKindIsFound) {
  for (const std::string_view line :
       {"BTRFS: x", "amdgpu 0000:03:00.0: x", "megaraid_sas 0000:03:00.0: x", "xe 0000:03:00.0: x",
        "hfi1 0000:03:00.0: x", "nvme nvme0: x", "libceph: x", "apcupsd[1]: x", "upsmon[1]: x",
        "nvidia-persistenced: x"})
    EXPECT_NE(LayerOf(line), "") << line;
}

}  // namespace
}  // namespace muster::diagnose
