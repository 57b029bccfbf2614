#include "world/stream_whole.h"

#include <gtest/gtest.h>

#include "world/testing/fake_clock.h"
#include "world/testing/scripted_http.h"

namespace muster {
namespace {

TEST(StreamWhole, ABodyComesInOnePieceAndLeavesTheResponse) {
  testing::FakeClock clock;
  testing::ScriptedHttp http;
  http.Serves("http://a/", "a body");
  HttpRequest request;
  request.url = "http://a/";
  std::string seen;
  int pieces = 0;
  Duration sent{-1};
  const auto response = StreamWhole(
      http, clock, request,
      [&](std::string_view bytes, Duration) { return ++pieces, seen += bytes, true; }, sent);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(seen, "a body");
  EXPECT_EQ(pieces, 1);
  EXPECT_EQ(sent, clock.Monotonic());
}

TEST(StreamWhole, WithoutAnAnswerThereIsNoPiece) {
  testing::FakeClock clock;
  testing::ScriptedHttp http;
  HttpRequest request;
  request.url = "http://nobody/";
  int pieces = 0;
  Duration sent{};
  const auto response = StreamWhole(
      http, clock, request, [&](std::string_view, Duration) { return ++pieces, true; }, sent);
  EXPECT_FALSE(response.ok());
  EXPECT_EQ(pieces, 0);
}

}  // namespace
}  // namespace muster
