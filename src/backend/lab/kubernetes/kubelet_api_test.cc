// Which part of a log is given; the server is asked by a real API server in
// tests/e2e/kubernetes_work.
#include "backend/lab/kubernetes/kubelet_api.h"

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

TEST(LogPart, IsAllOfItTheEndOfItOrTheBeginningOfThat) {
  const std::string text = "one\ntwo\nthree\n";
  EXPECT_EQ(LogPart(text, -1, 0), text);
  EXPECT_EQ(LogPart(text, 2, 0), "two\nthree\n");
  EXPECT_EQ(LogPart(text, 3, 0), text);
  EXPECT_EQ(LogPart(text, 99, 0), text);
  EXPECT_EQ(LogPart(text, 0, 0), "");
  EXPECT_EQ(LogPart(text, 2, 5), "two\nt");
  EXPECT_EQ(LogPart(text, -1, 3), "one");
  EXPECT_EQ(LogPart("no end", 1, 0), "no end");
  EXPECT_EQ(LogPart("", 5, 5), "");
}

}  // namespace
}  // namespace muster::lab
