#include "app/site_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class SiteState : public ::testing::Test {
 protected:
  Result<Waiver> Add(int gate, Duration span, const std::string& by = "A. Person",
                     const std::string& reason = "because") {
    World world = machine_.world();
    return AddWaiver(world, paths_, gate, by, reason, machine_.clock.Now() + span);
  }
  Result<std::vector<Waiver>> Read() { return ReadWaivers(machine_.files, paths_); }
  // Replaces text in the stored signatures.
  void Edit(const std::string& was, const std::string& is) {
    std::string text = machine_.files.Read(paths_.Signatures()).value();
    const size_t at = text.find(was);
    ASSERT_NE(at, std::string::npos) << was << " is not in\n" << text;
    machine_.files.Put(paths_.Signatures(), text.replace(at, was.size(), is));
  }

  testing::TestMachine machine_;
  SitePaths paths_ = PathsOf("/hall/site.yaml");
};

TEST_F(SiteState, PathsLieBesideTheSiteFile) {
  EXPECT_EQ(paths_.state, "/hall/.muster");
  EXPECT_EQ(PathsOf("site.yaml").state, "./.muster");
  EXPECT_EQ(PathsOf("/site.yaml").folder, "/");
  EXPECT_EQ(paths_.Ledger("r-1"), "/hall/.muster/runs/r-1/ledger");
}

TEST_F(SiteState, WaiverComesBackSigned) {
  const auto added = Add(5, hours(24));
  ASSERT_TRUE(added.ok()) << added.error().ToString();
  EXPECT_TRUE(added->SignatureHolds());
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ((*read)[0].by, "A. Person");
  EXPECT_TRUE((*read)[0].SignatureHolds());
}

TEST_F(SiteState, SeveralWaiversAreKeptAndOneKeySignsAll) {
  ASSERT_TRUE(Add(5, hours(24)).ok());
  ASSERT_TRUE(Add(2, hours(48)).ok());
  const auto read = Read();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].public_key, (*read)[1].public_key);
}

TEST_F(SiteState, WaiverCoversItsGateUntilItExpires) {
  const auto waiver = Add(5, hours(24));
  ASSERT_TRUE(waiver.ok());
  const TimePoint now = machine_.clock.Now();
  EXPECT_TRUE(waiver->Covers(5, now));
  EXPECT_FALSE(waiver->Covers(4, now));
  EXPECT_TRUE(waiver->Covers(5, now + hours(24) - std::chrono::seconds(1)));
  EXPECT_FALSE(waiver->Covers(5, now + hours(24)));
  EXPECT_FALSE(waiver->Covers(5, now - hours(1))) << "signed in what is still the future";
}

TEST_F(SiteState, NothingElseCanBeWaived) {
  const struct {
    int gate;
    Duration span;
    const char *by, *reason, *says;
  } kWrong[] = {
      {0, hours(1), "a", "b", "no gate 0"},
      {9, hours(1), "a", "b", "no gate 9"},
      {5, hours(0), "a", "b", "not in the future"},
      {5, hours(-1), "a", "b", "not in the future"},
      {5, hours(24 * 90 + 1), "a", "b", "90 days"},
      {5, hours(1), "", "b", "who"},
      {5, hours(1), "a", "", "why"},
  };
  for (const auto& wrong : kWrong) {
    const auto waiver = Add(wrong.gate, wrong.span, wrong.by, wrong.reason);
    ASSERT_FALSE(waiver.ok()) << wrong.says;
    EXPECT_EQ(waiver.error().code, Code::kInvalid);
    EXPECT_THAT(waiver.error().message, HasSubstr(wrong.says));
  }
  EXPECT_TRUE(Add(5, hours(24 * 90)).ok()) << "90 days is the most, not too much";
}

TEST_F(SiteState, AnyEditOfAWaiverIsFound) {
  ASSERT_TRUE(Add(5, hours(24)).ok());
  const std::string sound = machine_.files.Read(paths_.Signatures()).value();
  const std::pair<const char*, const char*> kEdits[] = {
      {"\"gate\": 5", "\"gate\": 6"},
      {"A. Person", "B. Person"},
      {"because", "no cause"},
      {"2026-11-21T", "2027-11-21T"},
  };
  for (const auto& [was, is] : kEdits) {
    machine_.files.Put(paths_.Signatures(), sound);
    Edit(was, is);
    const auto read = Read();
    ASSERT_FALSE(read.ok()) << is;
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_THAT(read.error().ToString(), HasSubstr("signatures.json"));
  }
}

TEST_F(SiteState, GarbageInsteadOfWaiversIsCorruptAndNeverNone) {
  for (const char* text : {"", "{}", "[]", "{\"waivers\": 3}", "{\"waivers\": [1]}",
                           "{\"waivers\": [{\"gate\": \"5\"}]}", "\xff"}) {
    machine_.files.Put(paths_.Signatures(), text);
    const auto read = Read();
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Code::kCorrupt) << text;
    EXPECT_FALSE(Add(5, hours(1)).ok()) << "adding must not overwrite what cannot be read";
  }
}

TEST_F(SiteState, EveryTruncationOfTheWaiversIsRefused) {
  ASSERT_TRUE(Add(5, hours(24)).ok());
  const std::string sound = machine_.files.Read(paths_.Signatures()).value();
  for (size_t n = 0; n + 2 < sound.size(); ++n) {
    machine_.files.Put(paths_.Signatures(), sound.substr(0, n));
    EXPECT_FALSE(Read().ok()) << n;
  }
}

TEST_F(SiteState, DamagedSigningKeyIsSaid) {
  machine_.files.Put(paths_.Key(), "nonsense");
  const auto waiver = Add(5, hours(1));
  ASSERT_FALSE(waiver.ok());
  EXPECT_THAT(waiver.error().ToString(), HasSubstr("signing"));
}

TEST_F(SiteState, RunsSortByTimeAndASiteThatNeverRanHasNone) {
  EXPECT_THAT(ListRuns(machine_.files, paths_).value(), ElementsAre());
  const std::string first = NewRunName(machine_.clock.Now(), machine_.random);
  machine_.clock.Advance(std::chrono::seconds(1));
  const std::string second = NewRunName(machine_.clock.Now(), machine_.random);
  EXPECT_THAT(first, MatchesRegex("r-20261120T000000-[0-9a-f]{4}"));
  machine_.files.Put(paths_.Ledger(second), "x");
  machine_.files.Put(paths_.Ledger(first), "x");
  EXPECT_THAT(ListRuns(machine_.files, paths_).value(), ElementsAre(first, second));
}

}  // namespace
}  // namespace muster
