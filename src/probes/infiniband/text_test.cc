#include "probes/infiniband/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::infiniband {
namespace {

TEST(WholeLines, LeavesOutALineWithoutItsEnd) {
  EXPECT_EQ(WholeLines("Rate: 400\nRate: 40"), (std::vector<std::string_view>{"Rate: 400"}));
  EXPECT_TRUE(WholeLines("Rate: 40").empty());
}

TEST(Blocks, KeepCommandsApartWithTheirExitCodes) {
  const std::string text =
      RenderBlock("sminfo", "one\n", 0) + RenderBlock("sminfo 8", "two\n", 255);
  const auto blocks = Blocks(text, 0);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].command, "sminfo");
  EXPECT_EQ(blocks[0].text, "one\n");
  EXPECT_EQ(blocks[0].exit_code, 0);
  EXPECT_EQ(blocks[1].command, "sminfo 8");
  EXPECT_EQ(blocks[1].exit_code, 255);
}

TEST(Blocks, OfPlainTextAreOneWithTheReadingsExitCode) {
  const auto blocks = Blocks("hello\n", 7);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].exit_code, 7);
  EXPECT_TRUE(IsOf(blocks[0], "anything"));
}

TEST(Blocks, ThatWereCutHaveNoExitCode) {
  EXPECT_EQ(Blocks("$ sminfo\nhalf", 0)[0].exit_code, std::nullopt);
  EXPECT_EQ(Blocks(RenderBlock("sminfo", "half", 0), 0)[0].exit_code, std::nullopt);
}

TEST(DeviceId, SplitsTheTwoWordsOfAnAdapter) {
  EXPECT_EQ(DeviceId(true, "node000 mlx5_0"), "node000/mlx5_0");
  EXPECT_EQ(DeviceId(true, "Mellanox Technologies Aggregation Node"),
            "Mellanox Technologies Aggregation Node");
  EXPECT_EQ(DeviceId(false, "MF0;rack1:MQM8700/U1"), "MF0;rack1:MQM8700/U1");
}

TEST(DeviceNames, TellTwoOfOneNameApart) {
  DeviceNames names;
  names.Add(0x10, false, "Quantum Mellanox Technologies");
  names.Add(0x20, false, "Quantum Mellanox Technologies");
  names.Add(0x30, false, "leaf00");
  names.Add(0x40, true, "");
  EXPECT_NE(names.Id(0x10), names.Id(0x20));
  EXPECT_EQ(names.Id(0x30), "leaf00");
  EXPECT_EQ(names.Id(0x40), "0x0000000000000040");
}

TEST(NominalLaneRate, IsAQuarterOfWhatIbstatPrints) {
  EXPECT_EQ(NominalLaneRate(106.25), 100);
  EXPECT_EQ(NominalLaneRate(53.125), 50);
  EXPECT_EQ(NominalLaneRate(25.78125), 25);
  EXPECT_EQ(NominalLaneRate(14.0625), 14);
  EXPECT_EQ(NominalLaneRate(2.5), 2.5);
  EXPECT_EQ(NominalLaneRate(52.0), std::nullopt);
}

}  // namespace
}  // namespace muster::infiniband
