#include "sched/sharing/mig.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

MigModel H100() {
  const std::vector<int> any = {0, 1, 2, 3, 4, 5, 6};
  MigModel model;
  model.id = "h100-80gb";
  model.match = {"H100", "80GB"};
  model.profiles = {{"1g.10gb", 1, 1, any, 7},          {"1g.10gb+me", 1, 1, any, 1},
                    {"1g.20gb", 1, 2, {0, 2, 4, 6}, 4}, {"2g.20gb", 2, 2, {0, 2, 4}, 3},
                    {"3g.40gb", 3, 4, {0, 4}, 2},       {"4g.40gb", 4, 4, {0}, 1},
                    {"7g.80gb", 7, 8, {0}, 1}};
  return model;
}

bool Fits(std::vector<std::string> profiles, std::vector<MigInstance> fixed = {}) {
  const auto placed = PlaceMig(H100(), fixed, profiles);
  EXPECT_TRUE(placed.ok());
  return placed.ok() && placed->has_value();
}

TEST(Mig, TheCombinationsOfTheUserGuideFit) {
  EXPECT_TRUE(Fits({"7g.80gb"}));
  EXPECT_TRUE(Fits({"4g.40gb", "3g.40gb"}));
  EXPECT_TRUE(Fits({"3g.40gb", "3g.40gb"}));
  EXPECT_TRUE(Fits({"2g.20gb", "2g.20gb", "2g.20gb", "1g.10gb"}));
  EXPECT_TRUE(Fits({"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"}));
  EXPECT_TRUE(Fits({"4g.40gb", "2g.20gb", "1g.10gb"}));
  EXPECT_TRUE(Fits({"3g.40gb", "1g.20gb", "1g.20gb"}));
}

TEST(Mig, WhatOverlapsDoesNotFitThoughSlicesAreLeft) {
  EXPECT_FALSE(Fits({"4g.40gb", "4g.40gb"}));
  EXPECT_FALSE(Fits({"7g.80gb", "1g.10gb"}));
  EXPECT_FALSE(Fits({"3g.40gb", "3g.40gb", "1g.10gb"})) << "no memory slice is left";
  EXPECT_FALSE(Fits({"1g.10gb+me", "1g.10gb+me"})) << "media extensions once";
  EXPECT_FALSE(Fits({"2g.20gb", "2g.20gb", "2g.20gb", "2g.20gb"}));
}

TEST(Mig, WhereAnInstanceStandsDecidesWhatFitsBesideIt) {
  EXPECT_TRUE(Fits({"4g.40gb"}, {{"3g.40gb", 4}}));
  EXPECT_FALSE(Fits({"4g.40gb"}, {{"3g.40gb", 0}}));
  EXPECT_TRUE(Fits({"3g.40gb"}, {{"3g.40gb", 0}}));
}

TEST(Mig, RoomLeftTellsFragmentationFromFullness) {
  // Three small ones, of which two stand in different halves.
  const std::vector<MigInstance> fixed = {{"1g.10gb", 0}, {"1g.10gb", 1}, {"1g.10gb", 5}};
  const auto rooms = MigRoomLeft(H100(), fixed);
  ASSERT_TRUE(rooms.ok());
  for (const MigRoom& room : *rooms) {
    if (room.profile == "3g.40gb") {
      EXPECT_EQ(room.more, 0);
      EXPECT_EQ(room.more_if_packed, 1);
    }
    if (room.profile == "1g.10gb") {
      EXPECT_EQ(room.more, 4);
    }
    if (room.profile == "7g.80gb") {
      EXPECT_EQ(room.more_if_packed, 0);
    }
  }
}

TEST(Mig, ImpossibleInstancesAreAnErrorThatSaysWhy) {
  const auto message = [](std::vector<MigInstance> fixed) {
    const auto rooms = MigRoomLeft(H100(), fixed);
    return rooms.ok() ? std::string("fine") : rooms.error().message;
  };
  EXPECT_EQ(message({{"5g.50gb", 0}}), "h100-80gb has no profile 5g.50gb");
  EXPECT_EQ(message({{"3g.40gb", 2}}), "a 3g.40gb cannot begin at slice 2, only at 0, 4");
  EXPECT_EQ(message({{"3g.40gb", 0}, {"1g.10gb", 3}}),
            "the 1g.10gb at slice 3 overlaps another instance");
}

TEST(Mig, ResourcesAreNamedAsTheDevicePluginNamesThem) {
  EXPECT_EQ(MigResourceName("1g.10gb"), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(MigResourceName("1g.10gb+me"), "nvidia.com/mig-1g.10gb.me");
}

TEST(Mig, AModelIsFoundByItsName) {
  const std::vector<MigModel> models = {H100()};
  EXPECT_EQ(MigModelOf(models, "NVIDIA H100 80GB HBM3"), &models[0]);
  EXPECT_EQ(MigModelOf(models, "NVIDIA H100 NVL"), nullptr);
}

// What PlaceMig returns is a legal set of instances, and the driver would take it one by one.
RC_GTEST_PROP(MigLaws, APlacementIsLegalAndHasWhatWasAsked, ()) {
  const MigModel model = H100();
  std::vector<std::string> names;
  const size_t count = *rc::gen::inRange<size_t>(1, 8);
  for (size_t i = 0; i < count; ++i) {
    names.push_back(model.profiles[*rc::gen::inRange<size_t>(0, model.profiles.size())].name);
  }
  const auto placed = PlaceMig(model, {}, names);
  RC_ASSERT(placed.ok());
  int compute = 0;
  for (const std::string& name : names) compute += model.Find(name)->compute_slices;
  if (!placed->has_value()) return;
  RC_ASSERT((*placed)->size() == names.size());
  RC_ASSERT(compute <= 7);
  RC_ASSERT(MigRoomLeft(model, **placed).ok());  // no overlap, legal starts
}

}  // namespace
}  // namespace muster
