#include "kube/stream_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/object.h"

namespace muster::kube {
namespace {

Result<std::vector<std::string>> Items(std::string_view body, ListPage* page = nullptr) {
  std::vector<std::string> items;
  TRY(const ListPage read, ReadList(body, [&](std::string_view json) {
        items.emplace_back(json);
        return Status();
      }));
  if (page != nullptr) *page = read;
  return items;
}

constexpr const char* kList =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"77","continue":"abc","remainingItemCount":3},"items":[{"metadata":{"name":"a"}}, {"metadata":{"name":"b","annotations":{"x":"}]"}}}]})";

TEST(ReadList, GivesEachItemsOwnText) {
  ListPage page;
  const auto items = Items(kList, &page);
  ASSERT_TRUE(items.ok()) << items.error().ToString();
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ((*items)[1], R"({"metadata":{"name":"b","annotations":{"x":"}]"}}})");
  EXPECT_EQ(page.resource_version, "77");
  EXPECT_EQ(page.continue_token, "abc");
}

TEST(ReadList, AnEmptyListIsOneAndAMissingOneIsNot) {
  EXPECT_TRUE(Items(R"({"metadata":{"resourceVersion":"1"},"items":[]})").ok());
  EXPECT_TRUE(Items(R"({"metadata":{"resourceVersion":"1"},"items":null})").ok());
  EXPECT_FALSE(Items(R"({"metadata":{"resourceVersion":"1"}})").ok());
  EXPECT_FALSE(Items(R"({"items":[1]})").ok());
  EXPECT_FALSE(Items("").ok());
}

TEST(ReadList, EveryCutIsRefused) {
  const std::string whole = kList;
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(Items(std::string_view(whole).substr(0, at)).ok()) << at;
  }
}

TEST(ReadList, TheReadersErrorEndsIt) {
  EXPECT_FALSE(ReadList(kList, [](std::string_view) { return Fail(Code::kParse, "no"); }).ok());
}

TEST(ReadWatchLine, GivesKindAndObject) {
  const auto event = ReadWatchLine(R"({"type":"MODIFIED","object":{"metadata":{"name":"a"}}})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->kind, WatchKind::kModified);
  EXPECT_EQ(event->object, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(ReadWatchLine(R"({"object":{},"type":"BOOKMARK"})")->kind, WatchKind::kBookmark);
  EXPECT_EQ(ReadWatchLine(R"({"type":"ERROR","object":{"code":410}})")->kind, WatchKind::kError);
}

TEST(ReadWatchLine, WhatIsNoWholeEventIsRefused) {
  const std::string whole = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})";
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(ReadWatchLine(std::string_view(whole).substr(0, at)).ok()) << at;
  }
  EXPECT_FALSE(ReadWatchLine(R"({"type":"RENAMED","object":{}})").ok());
  EXPECT_FALSE(ReadWatchLine(R"({"type":"ADDED","object":3})").ok());
  EXPECT_FALSE(ReadWatchLine(R"({"type":"ADDED"})").ok());
  EXPECT_FALSE(ReadWatchLine(whole + whole).ok());
}

RC_GTEST_PROP(LineSplitterProperty, AnyPiecesGiveTheSameLines,
              (const std::vector<std::string>& pieces)) {
  std::string all;
  for (const std::string& piece : pieces) all += piece + (piece.size() % 3 == 0 ? "\n" : "");
  std::vector<std::string> whole, pieced;
  LineSplitter one, many;
  RC_ASSERT(one.Feed(all,
                     [&](std::string_view line) {
                       whole.emplace_back(line);
                       return true;
                     })
                .has_value());
  for (size_t at = 0; at < all.size();) {
    const size_t length = *rc::gen::inRange<size_t>(1, 5);
    RC_ASSERT(many.Feed(std::string_view(all).substr(at, length),
                        [&](std::string_view line) {
                          pieced.emplace_back(line);
                          return true;
                        })
                  .has_value());
    at += length;
  }
  RC_ASSERT(whole == pieced);
  RC_ASSERT(one.held() == many.held());
}

TEST(LineSplitter, ALineWithoutAnEndIsRefusedInTime) {
  LineSplitter lines(100);
  const auto ignore = [](std::string_view) { return true; };
  EXPECT_TRUE(lines.Feed(std::string(100, 'x'), ignore).has_value());
  EXPECT_FALSE(lines.Feed("x", ignore).has_value());
}

}  // namespace
}  // namespace muster::kube
