#include "app/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(SharingCatalogue, OfThisBinaryReadsAndKnowsTheModelsByName) {
  const auto sharing = EmbeddedSharing();
  ASSERT_TRUE(sharing.ok()) << sharing.error().message;
  const auto id = [&](std::string_view name) {
    const MigModel* model = MigModelOf(sharing->mig, name);
    return model == nullptr ? std::string("none") : model->id;
  };
  EXPECT_EQ(id("NVIDIA A100-SXM4-40GB"), "a100-40gb");
  EXPECT_EQ(id("NVIDIA A100-SXM4-80GB"), "a100-80gb");
  EXPECT_EQ(id("NVIDIA H100 80GB HBM3"), "h100-80gb");
  EXPECT_EQ(id("NVIDIA H200"), "h200");
  EXPECT_EQ(id("NVIDIA B200"), "b200");
  EXPECT_EQ(id("NVIDIA GH200 480GB"), "none");
  EXPECT_EQ(id("NVIDIA GB200"), "none");
  EXPECT_EQ(id("NVIDIA L40S"), "none");
}

// The guide's rule of thumb for every model: seven of the smallest, or one of the whole.
TEST(SharingCatalogue, EveryModelHoldsSevenOfTheSmallestAndOneWhole) {
  const auto sharing = EmbeddedSharing();
  ASSERT_TRUE(sharing.ok());
  for (const MigModel& model : sharing->mig) {
    const std::vector<std::string> seven(7, model.profiles.front().name);
    const std::vector<std::string> whole = {model.profiles.back().name};
    const std::vector<std::string> both = {model.profiles.back().name, model.profiles.front().name};
    EXPECT_TRUE(PlaceMig(model, {}, seven).value().has_value()) << model.id;
    EXPECT_TRUE(PlaceMig(model, {}, whole).value().has_value()) << model.id;
    EXPECT_FALSE(PlaceMig(model, {}, both).value().has_value()) << model.id;
  }
}

TEST(SharingCatalogue, OnlyMigIsolatesFaults) {
  const auto sharing = EmbeddedSharing();
  ASSERT_TRUE(sharing.ok());
  ASSERT_EQ(sharing->modes.size(), 3u);
  for (const SharingMode& mode : sharing->modes) {
    EXPECT_EQ(mode.faults == Isolation::kFull, mode.id == "mig") << mode.id;
  }
}

TEST(SharingCatalogue, MistakesAreSaidWithTheirPlace) {
  const auto message = [](std::string_view text) {
    const auto sharing = ParseSharing(text, "s.yaml");
    return sharing.ok() ? std::string("read") : sharing.error().message;
  };
  EXPECT_THAT(message("mig:\n- {id: a, match: [A], source: s, profiles: [{name: x, compute: 8, "
                      "size: 1, starts: [0], most: 1}]}\n"),
              HasSubstr("s.yaml:2:"));
  EXPECT_THAT(message("mig:\n- {id: a, match: [A], source: s, profiles: [{name: x, compute: 1, "
                      "size: 4, starts: [6], most: 1}]}\n"),
              HasSubstr("start 6 does not leave 4 of 8 slices"));
  EXPECT_THAT(message("modes:\n- {id: m, what: w, note: n, source: s, faults: some}\n"),
              HasSubstr("expected none, limited or full"));
  EXPECT_THAT(message("mig: []\nmodez: []\n"), HasSubstr("modez"));
}

}  // namespace
}  // namespace muster
