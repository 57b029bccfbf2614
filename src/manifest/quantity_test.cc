#include "manifest/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster {
namespace {

int64_t Amount(std::string_view resource, std::string_view text) {
  const auto amount = ParseResourceAmount(resource, text);
  EXPECT_TRUE(amount.ok()) << text;
  return amount.ok() ? *amount : -1;
}

TEST(Quantity, CpuIsInThousandths) {
  EXPECT_EQ(Amount("cpu", "1"), 1000);
  EXPECT_EQ(Amount("cpu", "500m"), 500);
  EXPECT_EQ(Amount("cpu", "0.1"), 100);
  EXPECT_EQ(Amount("cpu", "1.5"), 1500);
  EXPECT_EQ(Amount("cpu", "0.0001"), 1);  // rounded up
}

TEST(Quantity, MemoryIsInBytesDevicesAreCounts) {
  EXPECT_EQ(Amount("memory", "64Gi"), int64_t{64} << 30);
  EXPECT_EQ(Amount("memory", "1e3"), 1000);
  EXPECT_EQ(Amount("memory", "100M"), 100'000'000);
  EXPECT_EQ(Amount("memory", "128974848000m"), 128974848);
  EXPECT_EQ(Amount("nvidia.com/gpu", "8"), 8);
  EXPECT_EQ(Amount("memory", "7Pi"), int64_t{7} << 50);
}

TEST(Quantity, WhatIsNoQuantityIsRefused) {
  for (const char* text : {"", "x", "8x", "8 Gi", "--1", "1e", "Gi", "1Gib", "9999Ei", "1..2"}) {
    EXPECT_FALSE(ParseResourceAmount("memory", text).ok()) << text;
  }
}

TEST(Quantity, DevicesAreToldApart) {
  EXPECT_TRUE(IsWholeGpuResource("nvidia.com/gpu"));
  EXPECT_TRUE(IsWholeGpuResource("amd.com/gpu"));
  EXPECT_TRUE(IsGpuResource("nvidia.com/mig-1g.10gb"));
  EXPECT_FALSE(IsWholeGpuResource("nvidia.com/mig-1g.10gb"));
  EXPECT_TRUE(IsRdmaResource("rdma/rdma_shared_device_a"));
  EXPECT_TRUE(IsRdmaResource("mellanox.com/cx6_rdma"));
  EXPECT_TRUE(IsRdmaResource("vpc.amazonaws.com/efa"));
  EXPECT_FALSE(IsRdmaResource("nvidia.com/gpu"));
  EXPECT_FALSE(IsRdmaResource("memory"));
}

TEST(QuantityLaws, WholeNumbersAreThemselves) {
  EXPECT_TRUE(rc::check("n is n, and n thousand as cpu", [] {
    const auto n = *rc::gen::inRange<int64_t>(0, 1'000'000'000);
    RC_ASSERT(*ParseResourceAmount("x/y", std::to_string(n)) == n);
    RC_ASSERT(*ParseResourceAmount("cpu", std::to_string(n)) == n * 1000);
    RC_ASSERT(*ParseResourceAmount("cpu", std::to_string(n) + "m") == n);
    RC_ASSERT(*ParseResourceAmount("memory", std::to_string(n) + "Mi") == n * (1 << 20));
  }));
}

}  // namespace
}  // namespace muster
