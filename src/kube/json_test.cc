#include "kube/json.h"

#include <gtest/gtest.h>

namespace muster::kube {
namespace {

const Json kPodObject = Json::parse(R"({"metadata":{"name":"p"},"spec":{"replicas":3,"rank":-7},
  "status":{"list":[{"state":{"waiting":{"reason":"Pull"}}}],"object":{"a":1}}})");

TEST(JsonAt, GoesFromKeyToKeyAndEndsInNothing) {
  EXPECT_EQ(TextAt(kPodObject, "metadata", "name"), "p");
  EXPECT_EQ(TextAt(ListAt(kPodObject, "status", "list").front(), "state", "waiting", "reason"),
            "Pull");
  EXPECT_TRUE(At(kPodObject, "spec", "absent", "further").is_null());
  EXPECT_TRUE(At(kPodObject, "metadata", "name", "inside a text").is_null());
  EXPECT_TRUE(At(Json::parse("{", nullptr, false), "a").is_null()) << "no JSON at all";
}

TEST(JsonAt, WhatIsOfAnotherTypeIsNothing) {
  EXPECT_EQ(TextAt(kPodObject, "spec", "replicas"), "");
  EXPECT_TRUE(ListAt(kPodObject, "status", "object").empty());
  EXPECT_TRUE(ListAt(kPodObject, "status", "object").is_array());
  EXPECT_TRUE(ObjectAt(kPodObject, "status", "list").empty());
  EXPECT_TRUE(ObjectAt(kPodObject, "status", "list").is_object());
  EXPECT_EQ(IntAt(At(kPodObject, "metadata"), "name", 5), 5);
}

TEST(JsonAt, CountsStayBetweenNoneAndAMillion) {
  const Json& spec = At(kPodObject, "spec");
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
