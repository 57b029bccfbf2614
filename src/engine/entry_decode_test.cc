// Records as they are stored: every field comes back, and what no engine wrote is refused.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "engine/entry.h"

namespace muster::engine {
namespace {

// Any text, also what is no UTF-8.
std::string AnyText() { return *rc::gen::container<std::string>(rc::gen::arbitrary<char>()); }
TimePoint AnyTime() {
  return TimePoint{} + std::chrono::milliseconds(*rc::gen::inRange<int64_t>(1, 4'000'000'000'000));
}
template <typename E>
E AnyOf(E last) {
  return static_cast<E>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

Entry AnyEntry() {
  Entry entry;
  entry.type = static_cast<EntryType>(*rc::gen::inRange(1, 21));
  entry.at = AnyTime();
  entry.target = *rc::gen::inRange(-1, 2000);
  entry.step = AnyText();
  entry.cursor = *rc::gen::inRange(-1, 50);
  entry.attempt = *rc::gen::inRange(0, 50);
  entry.destructive = *rc::gen::arbitrary<bool>();
  entry.effect = *rc::gen::arbitrary<bool>();
  entry.proof = *rc::gen::arbitrary<bool>();
  entry.outcome = AnyOf(Outcome::kUnknown);
  entry.level = AnyOf(Level::kNotApplicable);
  entry.end = AnyOf(End::kNotStarted);
  entry.way = AnyOf(Way::kSpec);
  entry.rung = AnyOf(Rung::kHands);
  entry.act = AnyOf(ActKind::kNotify);
  entry.token = AnyText();
  entry.by = AnyText();
  entry.detail = AnyText();
  entry.evidence = AnyText();
  entry.plan_hash = AnyText();
  entry.fence = *rc::gen::arbitrary<uint64_t>();
  entry.before["n"] = AnyText();
  entry.lease = {"muster",  AnyText(), AnyText(), *rc::gen::arbitrary<bool>(),
                 AnyText(), AnyTime(), AnyTime(), *rc::gen::arbitrary<uint64_t>()};
  entry.until = AnyTime();
  return entry;
}

RC_GTEST_PROP(EntryProperty, WhatIsWrittenIsReadAsItWasMeant, ()) {
  const Entry entry = AnyEntry();
  const std::string text = EncodeEntry(entry);
  const auto read = DecodeEntry(static_cast<uint32_t>(entry.type), text);
  RC_ASSERT(read.ok());
  RC_ASSERT(EncodeEntry(*read) == text);
  RC_ASSERT(read->type == entry.type && read->at == entry.at && read->fence == entry.fence);
  RC_ASSERT(read->target == entry.target && read->cursor == entry.cursor);
  RC_ASSERT(read->outcome == entry.outcome && read->end == entry.end && read->way == entry.way);
}

RC_GTEST_PROP(EntryProperty, ACutRecordIsRefused, ()) {
  const std::string text = EncodeEntry(AnyEntry());
  const auto size = *rc::gen::inRange<size_t>(0, text.size());
  RC_ASSERT(DecodeEntry(1, text.substr(0, size)).error().code == Code::kCorrupt);
}

TEST(Entry, AFieldOfAnotherKindIsRefusedByItsName) {
  const auto refused = [](const std::string& fields) {
    const auto read = DecodeEntry(8, R"({"at":"2026-11-21T20:00:00Z")" + fields + "}");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_EQ(refused(""), "");
  EXPECT_EQ(refused(R"(,"of a newer one":{"any":[1]})"), "");
  EXPECT_TRUE(Contains(refused(R"(,"target":"0")"), "target"));
  EXPECT_TRUE(Contains(refused(R"(,"target":1.5)"), "target"));
  EXPECT_TRUE(Contains(refused(R"(,"target":99999999999)"), "out of range"));
  EXPECT_TRUE(Contains(refused(R"(,"fence":-1)"), "fence"));
  EXPECT_TRUE(Contains(refused(R"(,"outcome":"perhaps")"), "perhaps"));
  EXPECT_TRUE(Contains(refused(R"(,"level":"green")"), "level"));
  EXPECT_TRUE(Contains(refused(R"(,"until":"tomorrow")"), "until"));
  EXPECT_TRUE(Contains(refused(R"(,"before":{"n":1})"), "n"));
  EXPECT_TRUE(Contains(refused(R"(,"lease":{"owner":"muster"})"), "lease"));
  EXPECT_FALSE(DecodeEntry(1, "{}").ok());
  EXPECT_FALSE(DecodeEntry(1, "[]").ok());
  EXPECT_FALSE(DecodeEntry(0, R"({"at":"2026-11-21T20:00:00Z"})").ok());
  EXPECT_FALSE(DecodeEntry(21, R"({"at":"2026-11-21T20:00:00Z"})").ok());
}

}  // namespace
}  // namespace muster::engine
