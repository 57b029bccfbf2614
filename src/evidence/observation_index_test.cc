#include <gtest/gtest.h>

#include "evidence/testing/sample.h"
#include "evidence/verdict.h"

namespace muster {
namespace {

using std::chrono::seconds;
using testing::Missing;
using testing::Seen;

const Subject kIndexed = NodeSubject("node-07");

TEST(ObservationIndex, FindsWhatWasSeenOldestFirst) {
  const Observations seen = {Seen(kIndexed, "f", int64_t{2}, Unit::kCount, seconds(10)),
                             Seen(kIndexed, "g", int64_t{9}, Unit::kCount),
                             Seen(kIndexed, "f", int64_t{1}, Unit::kCount, seconds(30)),
                             Missing(kIndexed, "f", UnknownReason::kStale)};
  const ObservationIndex index(seen);
  const auto found = index.Find(kIndexed, "f");
  EXPECT_EQ(std::vector<size_t>(found.begin(), found.end()), (std::vector<size_t>{2, 0}));
  EXPECT_TRUE(index.Find(kIndexed, "h").empty());
  EXPECT_TRUE(index.Find(NodeSubject("node-08"), "f").empty());
  EXPECT_EQ(index.OfFact("f").size(), 2u);
}

TEST(ObservationIndex, KindsWithOneIdAreApart) {
  const Observations seen = {Seen(kIndexed, "f", true),
                             Seen({SubjectKind::kScope, "node-07"}, "f", false)};
  const ObservationIndex index(seen);
  ASSERT_EQ(index.Find(kIndexed, "f").size(), 1u);
  EXPECT_EQ(index.Find(kIndexed, "f")[0], 0u);
}

TEST(ObservationIndex, WhyNotTakesTheNearestThenTheNewest) {
  const Subject gpu = GpuSubject("node-07", 1);
  const Observations seen = {
      Missing(NodeSubject("monitor"), "f", UnknownReason::kToolFault, "site"),
      Missing(kIndexed, "f", UnknownReason::kUnreachable, "host", seconds(5)),
      Missing(gpu, "f", UnknownReason::kUnparsable, "old", seconds(50)),
      Missing(gpu, "f", UnknownReason::kNotObserved, "own", seconds(20))};
  const ObservationIndex index(seen);
  EXPECT_EQ(seen[*index.WhyNot(gpu, "f")].unobserved()->detail, "own");
  EXPECT_EQ(seen[*index.WhyNot(GpuSubject("node-07", 2), "f")].unobserved()->detail, "host");
  EXPECT_EQ(seen[*index.WhyNot(GpuSubject("node-09", 2), "f")].unobserved()->detail, "site");
  EXPECT_FALSE(index.WhyNot(gpu, "g").has_value());
}

TEST(ObservationIndex, CensusCountsTheNewestOfEachSubject) {
  const Observations seen = {
      Seen(NodeSubject("a"), "f", std::string("old"), Unit::kNone, seconds(90)),
      Seen(NodeSubject("a"), "f", std::string("x")),
      Seen(NodeSubject("b"), "f", std::string("x")),
      Seen(NodeSubject("c"), "f", std::string("y")),
      Seen(NodeSubject("d"), "f", std::string("N/A")),
      Seen(SiteSubject("s"), "f", std::string("y"))};
  const ObservationIndex index(seen);
  const std::vector<std::string> leave_out = {"N/A"};
  const auto& census = index.CensusOf(SubjectKind::kNode, "f", leave_out);
  EXPECT_EQ(census.subjects, 3u);
  EXPECT_EQ(census.distinct, 2u);
  ASSERT_TRUE(census.usual.has_value());
  EXPECT_EQ(*seen[*census.usual].value(), Value(std::string("x")));
  EXPECT_EQ(index.CensusOf(SubjectKind::kNode, "f", {}).distinct, 3u);
}

TEST(ObservationIndex, ATieHasNoUsualValue) {
  const Observations seen = {Seen(NodeSubject("a"), "f", std::string("x")),
                             Seen(NodeSubject("b"), "f", std::string("y"))};
  const ObservationIndex index(seen);
  EXPECT_FALSE(index.CensusOf(SubjectKind::kNode, "f", {}).usual.has_value());
}

TEST(ObservationIndex, SubjectsOfWhichAnythingWasSaid) {
  const Observations seen = {Seen(PairSubject("b", "c"), "f", 1.0),
                             Missing(PairSubject("a", "b"), "f", UnknownReason::kToolFault),
                             Seen(PairSubject("b", "c"), "f", 2.0),
                             Seen(PairSubject("x", "y"), "g", 2.0), Seen(kIndexed, "f", 1.0)};
  const ObservationIndex index(seen);
  EXPECT_EQ(index.SubjectsWith(SubjectKind::kPair, "f"),
            (std::vector<Subject>{PairSubject("a", "b"), PairSubject("b", "c")}));
  EXPECT_TRUE(index.SubjectsWith(SubjectKind::kPair, "h").empty());
}

TEST(ObservationIndex, ACopyReadsTheSame) {
  const Observations seen = {Seen(kIndexed, "f", true)};
  const ObservationIndex copy = [&] {
    const ObservationIndex original(seen);
    return original;
  }();
  EXPECT_EQ(copy.Find(kIndexed, "f").size(), 1u);
}

TEST(ObservationIndex, AnEmptyOneKnowsNothing) {
  const ObservationIndex index({});
  EXPECT_TRUE(index.Find(kIndexed, "f").empty());
  EXPECT_FALSE(index.WhyNot(kIndexed, "f").has_value());
  EXPECT_FALSE(index.TakenBack(kIndexed, "f", testing::kNow).has_value());
}

}  // namespace
}  // namespace muster
