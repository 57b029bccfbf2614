#include "kube/json.h"

#include <gtest/gtest.h>

namespace muster::kube {
namespace {

const Json kPod = Json::parse(R"({"metadata":{"name":"p"},"spec":{"replicas":3,"rank":-7},
  "status":{"list":[{"state":{"waiting":{"reason":"Pull"}}}],"object":{"a":1}}})");

TEST(JsonAt, GoesFromKeyToKeyAndEndsInNothing) {
  EXPECT_EQ(TextAt(kPod, "metadata", "name"), "p");
  EXPECT_EQ(TextAt(ListAt(kPod, "status", "list").front(), "state", "waiting", "reason"), "Pull");
  EXPECT_TRUE(At(kPod, "spec", "absent", "further").is_null());
  EXPECT_TRUE(At(kPod, "metadata", "name", "inside a text").is_null());
  EXPECT_TRUE(At(Json::parse("{", nullptr, false), "a").is_null()) << "no JSON at all";
}

TEST(JsonAt, WhatIsOfAnotherTypeIsNothing) {
  EXPECT_EQ(TextAt(kPod, "spec", "replicas"), "");
  EXPECT_TRUE(ListAt(kPod, "status", "object").empty());
  EXPECT_TRUE(ListAt(kPod, "status", "object").is_array());
  EXPECT_TRUE(ObjectAt(kPod, "status", "list").empty());
  EXPECT_TRUE(ObjectAt(kPod, "status", "list").is_object());
  EXPECT_EQ(IntAt(At(kPod, "metadata"), "name", 5), 5);
}

TEST(JsonAt, CountsStayBetweenNoneAndAMillion) {
  const Json& spec = At(kPod, "spec");
  EXPECT_EQ(CountAt(spec, "replicas", 1), 3);
  EXPECT_EQ(CountAt(spec, "rank", 1), 0);
  EXPECT_EQ(IntAt(spec, "rank", 1), -7);
  EXPECT_EQ(CountAt(spec, "absent", 1), 1);
  EXPECT_EQ(CountAt(Json{{"n", int64_t{1} << 40}}, "n", 1), 1'000'000);
}

TEST(JsonDump, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(Dump({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(WholeSeconds, AreCutNotRounded) {
  EXPECT_EQ(WholeSeconds(TimePoint{std::chrono::milliseconds(1999)}), "1970-01-01T00:00:01Z");
}

}  // namespace
}  // namespace muster::kube
