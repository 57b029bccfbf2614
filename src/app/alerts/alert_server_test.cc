#include "app/alerts/alert_server.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(AlertServer, ListensOnLoopbackOrWithAToken) {
  const auto plain = ParseListen("127.0.0.1:9094", "");
  ASSERT_TRUE(plain.ok()) << plain.error().ToString();
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 9094);
  EXPECT_EQ(ParseListen("[::1]:0", "")->host, "::1");
  EXPECT_TRUE(ParseListen("localhost:1", "").ok());
  EXPECT_TRUE(ParseListen("0.0.0.0:9094", "0123456789abcdef").ok());
  for (const char* bad : {"0.0.0.0:9094", "[::]:9094", "10.0.0.1:80", "9094", ":9094",
                          "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x", "127.evil.example:80"})
    EXPECT_EQ(ParseListen(bad, "").error().code, Code::kInvalid) << bad;
}

}  // namespace
}  // namespace muster
