#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/bringup.h"
#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;

GateResult Passed(int gate, std::map<std::string, std::string> components = {},
                  Level level = Level::kPass) {
  GateResult result;
  result.gate = gate;
  result.level = level;
  result.components = std::move(components);
  Verdict v;
  v.code = "X-1";
  v.level = level;
  v.origin = Origin::kRehearsed;
  result.verdicts = {v};
  return result;
}

class StatusTest : public ::testing::Test {
 protected:
  // A run as the ledger would hold it, without looking at anything.
  void StoreLook(const std::string& name, const std::vector<GateResult>& results) {
    look_only_ = true;
    Store(name, results);
    look_only_ = false;
  }
  void Store(const std::string& name, const std::vector<GateResult>& results, bool close = true,
             const std::string& scope = "",
             std::vector<std::string> nodes = {"node000", "node001"}) {
    RunHeader header;
    header.run = name;
    header.by = "tester@here";
    header.scope = scope;
    header.look_only = look_only_;
    header.nodes = std::move(nodes);
    auto ledger = CreateLedger(lab_.files, lab_.paths().Ledger(name), header);
    ASSERT_TRUE(ledger.ok()) << ledger.error().ToString();
    for (const GateResult& result : results) {
      ASSERT_TRUE((*ledger)->Judged(result).ok());
    }
    if (close) {
      ASSERT_TRUE((*ledger)->Close(Level::kPass, {}).ok());
    }
  }
  SiteStatus Now() {
    auto context = lab_.Open();
    EXPECT_TRUE(context.ok());
    auto status = StatusOf(*context);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().ToString());
    return status.ok() ? *status : SiteStatus{};
  }
  static std::vector<int> Open(const SiteStatus& status) {
    std::vector<int> open;
    for (const GateStatus& gate : status.gates)
      if (gate.open) open.push_back(gate.gate);
    return open;
  }
  static std::vector<int> Stale(const SiteStatus& status) {
    std::vector<int> stale;
    for (const GateStatus& gate : status.gates)
      if (!gate.stale_because.empty()) stale.push_back(gate.gate);
    return stale;
  }
  static std::vector<GateResult> AllPassed() {
    std::vector<GateResult> results;
    for (int gate = 1; gate <= 8; ++gate) results.push_back(Passed(gate));
    results[1].components = {{"firmware", "28.1"}, {"topology", "aa"}};
    results[2].components = {{"driver", "550.1"}, {"kernel", "6.1"}};
    return results;
  }

  LabSite lab_;
  bool look_only_ = false;
};

TEST_F(StatusTest, SiteThatNeverRanHasNothingOpen) {
  const SiteStatus status = Now();
  ASSERT_EQ(status.gates.size(), 8u);
  EXPECT_THAT(Open(status), IsEmpty());
  for (const GateStatus& gate : status.gates) {
    EXPECT_EQ(gate.level, Level::kUnknown);
    EXPECT_EQ(gate.run, "");
  }
}

TEST_F(StatusTest, NewestResultOfEachGateCounts) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(1), Passed(2, {}, Level::kFail)});
  const SiteStatus status = Now();
  EXPECT_THAT(Open(status), ElementsAre(1));
  EXPECT_EQ(status.gates[1].level, Level::kFail);
  EXPECT_EQ(status.gates[1].run, "r-2");
  EXPECT_EQ(status.gates[2].run, "r-1");
  EXPECT_THAT(status.gates[2].blocked_by, HasSubstr("gate 2"));
}

TEST_F(StatusTest, AllPassedIsAllOpenAndRehearsedStaysRehearsed) {
  Store("r-1", AllPassed());
  const SiteStatus status = Now();
  EXPECT_THAT(Open(status), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(status.gates[0].origin, Origin::kRehearsed);
  EXPECT_EQ(status.unfinished_run, "");
}

TEST_F(StatusTest, ChangedDriverMakesExactlyTheGatesStaleThatStoodOnIt) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(3, {{"driver", "560.2"}, {"kernel", "6.1"}})});
  const SiteStatus status = Now();
  // Gate 3 was seen with the new driver; 1 and 2 do not stand on a driver.
  EXPECT_THAT(Stale(status), ElementsAre(4, 5, 6, 7, 8));
  EXPECT_THAT(Open(status), ElementsAre(1, 2, 3));
  EXPECT_THAT(status.gates[3].stale_because, HasSubstr("driver changed from 550.1 to 560.2"));
}

TEST_F(StatusTest, ChangedTopologyMakesFabricValidationAndTrainingStale) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(2, {{"firmware", "28.1"}, {"topology", "bb"}})});
  EXPECT_THAT(Stale(Now()), ElementsAre(6, 7));
}

TEST_F(StatusTest, GateThatWasSeenAgainIsFresh) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(3, {{"driver", "560.2"}, {"kernel", "6.1"}})});
  Store("r-3", {Passed(4), Passed(5)});
  EXPECT_THAT(Stale(Now()), ElementsAre(6, 7, 8));
}

TEST_F(StatusTest, ComponentThatNobodySawAgainIsNotCalledChanged) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(3)});
  EXPECT_THAT(Stale(Now()), IsEmpty());
}

TEST_F(StatusTest, RunOfAScopeDoesNotSpeakForTheSite) {
  Store("r-1", AllPassed(), true, "pair");
  EXPECT_THAT(Open(Now()), IsEmpty());
}

TEST_F(StatusTest, RunOfSomeNodesDoesNotSpeakForTheSite) {
  Store("r-1", AllPassed(), true, "", {"node000"});
  EXPECT_THAT(Open(Now()), IsEmpty());
}

TEST_F(StatusTest, SomeNodesThatFailCloseTheGateUntilAllOfThemPass) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(3, {}, Level::kFail)}, true, "", {"node001"});
  EXPECT_EQ(Now().gates[2].run, "r-2");
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2));
  Store("r-3", {Passed(3)}, true, "", {"node000"});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2));
  Store("r-4", {Passed(3)}, true, "", {"node001"});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(Now().gates[2].run, "r-1");
}

TEST_F(StatusTest, AScopeThatFailsClosesTheGateUntilTheSitePasses) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(6, {}, Level::kFail)}, true, "pair", {"node000", "node001"});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4, 5));
  Store("r-3", {Passed(6)});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(StatusTest, SomeNodesThatCouldNotBeSeenLeaveTheStandingAsItWas) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(3, {}, Level::kUnknown)}, true, "", {"node001"});
  EXPECT_EQ(Now().gates[2].run, "r-1");
}

TEST_F(StatusTest, BlockedGateOfALaterRunDoesNotHideWhatWasSeen) {
  Store("r-1", AllPassed());
  GateResult blocked;
  blocked.gate = 3;
  blocked.blocked_by = "gate 2 fabric is not open";
  Store("r-2", {blocked});
  EXPECT_EQ(Now().gates[2].run, "r-1");
}

TEST_F(StatusTest, UnfinishedRunIsNamed) {
  Store("r-1", AllPassed());
  Store("r-2", {Passed(1)}, false);
  EXPECT_EQ(Now().unfinished_run, "r-2");
}

TEST_F(StatusTest, UnfinishedRunIsNamedAlsoWhenALaterOneNeverBegan) {
  Store("r-1", {Passed(1)}, false);
  lab_.files.Put(lab_.paths().Ledger("r-2"), "");
  EXPECT_EQ(Now().unfinished_run, "r-1");
}

TEST_F(StatusTest, WaiverOpensAGateAndAPassNeedsNone) {
  std::vector<GateResult> results = AllPassed();
  results[4].level = Level::kFail;
  Store("r-1", results);
  World world = lab_.world();
  for (const int gate : {4, 5}) {
    ASSERT_TRUE(
        AddWaiver(world, lab_.paths(), gate, "A", "b", lab_.clock.Now() + std::chrono::hours(1))
            .ok());
  }
  const SiteStatus status = Now();
  EXPECT_THAT(Open(status), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(status.gates[3].waived_by, "");
  EXPECT_THAT(status.gates[4].waived_by, HasSubstr("A until"));
  EXPECT_EQ(status.gates[4].level, Level::kFail);
  lab_.clock.Advance(std::chrono::hours(2));
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4));
}

TEST_F(StatusTest, LookThatPassesOpensNothing) {
  StoreLook("r-1", {Passed(1), Passed(2), Passed(3)});
  EXPECT_THAT(Open(Now()), IsEmpty());
  std::vector<GateResult> results = AllPassed();
  results[2].level = Level::kFail;  // the diagnostic, say, which a look does not run
  Store("r-2", results);
  StoreLook("r-3", {Passed(3)});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2));
  EXPECT_EQ(Now().gates[2].level, Level::kFail);
}

TEST_F(StatusTest, LookThatDoesNotPassClosesUntilALookOrARunPassesAgain) {
  Store("r-1", AllPassed());
  StoreLook("r-2", {Passed(1), Passed(2, {}, Level::kFail)});
  EXPECT_THAT(Open(Now()), ElementsAre(1));
  EXPECT_EQ(Now().gates[1].run, "r-2");
  StoreLook("r-3", {Passed(1), Passed(2)});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  StoreLook("r-4", {Passed(2, {}, Level::kUnknown)});
  EXPECT_THAT(Open(Now()), ElementsAre(1));
  Store("r-5", {Passed(2)});
  EXPECT_THAT(Open(Now()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(StatusTest, DamagedLedgerIsSaidAndNotPassedOver) {
  Store("r-1", AllPassed());
  std::string bytes = lab_.files.Read(lab_.paths().Ledger("r-1")).value();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  lab_.files.Put(lab_.paths().Ledger("r-1"), bytes);
  auto context = lab_.Open();
  const auto status = StatusOf(*context);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace muster
