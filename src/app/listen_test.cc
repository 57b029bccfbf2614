#include "app/listen.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ListenAt, IsAnAddressAndAPort) {
  const auto six = ParseListenAt("[::1]:9094");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->port, 9094);
  EXPECT_TRUE(six->loopback());
  EXPECT_TRUE(ParseListenAt("localhost:0")->loopback());
  EXPECT_FALSE(ParseListenAt("0.0.0.0:65535")->loopback());
  for (const char* bad : {"", "9094", ":9094", "host:", "host:x", "host:65536", "host:-1"}) {
    const auto at = ParseListenAt(bad);
    ASSERT_FALSE(at.ok()) << bad;
    EXPECT_NE(at.error().message.find("expected ADDRESS:PORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster
