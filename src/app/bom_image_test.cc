#include "app/bom_image.h"

#include <gtest/gtest.h>

#include "world/testing/memory_files.h"

namespace muster {
namespace {

using testing::MemoryFiles;

TEST(BomOfImage, NamesEveryPackageAndMusterItself) {
  MemoryFiles files;
  ASSERT_TRUE(
      files.WriteAtomic("root/var/lib/dpkg/status.d/libc6", "Package: libc6\nVersion: 2.36-9\n")
          .ok());
  const auto bom = BomOfImage(files, "root", {});
  ASSERT_TRUE(bom.ok()) << bom.error().message;
  ASSERT_EQ(bom->items.size(), 2u);
  EXPECT_EQ(bom->items[0].name, "muster");
  EXPECT_EQ(bom->items[1], (BomItem{"image", "package:libc6", "2.36-9", ""}));
  EXPECT_TRUE(FromCycloneDx(ToCycloneDx(*bom), "image").ok());
  EXPECT_EQ(bom->serial, BomOfImage(files, "root", {})->serial);
}

TEST(BomOfImage, WithoutPackagesOrVersionsIsNone) {
  MemoryFiles files;
  EXPECT_FALSE(BomOfImage(files, "root", {}).ok());
  ASSERT_TRUE(files.WriteAtomic("root/var/lib/dpkg/status.d/a", "Package: a\n").ok());
  EXPECT_FALSE(BomOfImage(files, "root", {}).ok());
}

}  // namespace
}  // namespace muster
