#include "catalogue/embedded.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Embedded, HoldsTheFilesAsTheyAreInTheTree) {
  ASSERT_FALSE(EmbeddedCatalogue().empty());
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    std::ifstream in(std::string(MUSTER_SOURCE_DIR) + "/catalogue/" + std::string(file.name),
                     std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_TRUE(text.str() == file.text) << file.name;
  }
}

TEST(Embedded, AreFoundByNameAndInOrder) {
  EXPECT_TRUE(FindEmbedded("facts.yaml").has_value());
  EXPECT_TRUE(FindEmbedded("criteria/fabric.yaml").has_value());
  EXPECT_FALSE(FindEmbedded("criteria/nothing.yaml").has_value());
  std::string_view before;
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    EXPECT_LT(before, file.name);
    before = file.name;
  }
}

TEST(Embedded, HaveOneDigest) {
  EXPECT_EQ(EmbeddedDigest().size(), 64u);
  EXPECT_EQ(EmbeddedDigest(), EmbeddedDigest());
}

}  // namespace
}  // namespace muster
