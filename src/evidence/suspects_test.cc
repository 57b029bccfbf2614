#include "evidence/suspects.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "evidence/suspect_groups.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A site of some nodes with what a test says is wrong; everything else passes.
class SuspectsTest : public ::testing::Test {
 protected:
  SuspectsTest() : cluster_(BuildCluster(Spec(4))) {}

  static ClusterSpec Spec(int nodes) {
    ClusterSpec spec;
    spec.nodes = nodes;
    spec.leaves = 2;
    return spec;
  }

  void Rank(std::string code, int rank, SubjectKind on = SubjectKind::kNode,
            Measure measure = Measure::kLast) {
    Criterion c;
    c.code = code;
    c.rank = rank;
    c.subject = on;
    c.measure = measure;
    c.next = "look at it";
    criteria_[code] = c;
  }

  void Say(std::string_view code, int gate, Subject subject, Level level,
           std::optional<UnknownReason> reason = std::nullopt) {
    Verdict v;
    v.code = code;
    v.gate = gate;
    v.subject = std::move(subject);
    v.level = level;
    v.reason = reason;
    v.text = fmt::format("{} of {}", code, v.subject.id);
    verdicts_.push_back(std::move(v));
  }
  // The level of one subject, PASS for all others of its kind.
  template <typename Bad>
  void Each(std::string_view code, int gate, const std::vector<Subject>& subjects, Bad&& level) {
    for (const Subject& subject : subjects) Say(code, gate, subject, level(subject));
  }

  std::vector<Subject> Gpus() const {
    std::vector<Subject> all;
    for (const Node& node : cluster_.nodes) {
      for (const Gpu& gpu : node.gpus) all.push_back(GpuSubject(node.name, gpu.index));
    }
    return all;
  }
  std::vector<Subject> Hcas() const {
    std::vector<Subject> all;
    for (const Node& node : cluster_.nodes) {
      for (const Nic& nic : node.nics) all.push_back(HcaSubject(node.name, nic.device));
    }
    return all;
  }
  std::vector<Subject> Nodes() const {
    std::vector<Subject> all;
    for (const Node& node : cluster_.nodes) all.push_back(NodeSubject(node.name));
    return all;
  }
  std::vector<Subject> Links() const {
    std::vector<Subject> all;
    for (const Link& link : cluster_.links) all.push_back(link.Id());
    return all;
  }
  std::vector<Subject> Rails() const {
    std::vector<Subject> all;
    for (int r = 0; r < cluster_.RailCount(); ++r) all.push_back(RailSubject(r));
    return all;
  }
  std::vector<Subject> Ring() const {
    std::vector<Subject> all;
    for (size_t i = 0; i < cluster_.nodes.size(); ++i)
      all.push_back(PairSubject(cluster_.nodes[i].name,
                                cluster_.nodes[(i + 1) % cluster_.nodes.size()].name));
    return all;
  }
  static auto Only(Subject bad, Level level = Level::kFail) {
    return [bad, level](const Subject& s) { return s == bad ? level : Level::kPass; };
  }
  static auto OnHost(std::string host, Level level = Level::kFail) {
    return [host, level](const Subject& s) { return s.Host() == host ? level : Level::kPass; };
  }

  SuspectRules Rules() const {
    return {cluster_, "lab",
            [this](std::string_view code) -> const Criterion* {
              const auto it = criteria_.find(std::string(code));
              return it == criteria_.end() ? nullptr : &it->second;
            },
            [](const Criterion& c, const Subject& s) { return c.next + " " + s.id; }, fabric_host_};
  }
  std::vector<Suspect> Find() const { return FindSuspects(verdicts_, Rules()); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Suspect& s : Find()) names.push_back(s.subject.ToString());
    return names;
  }

  Cluster cluster_;
  std::string fabric_host_ = "node000";
  std::map<std::string, Criterion> criteria_;
  std::vector<Verdict> verdicts_;
};

TEST_F(SuspectsTest, NobodyIsSuspectedWhereAllPasses) {
  Each("NOD-010", 3, Gpus(), [](const Subject&) { return Level::kPass; });
  EXPECT_TRUE(Find().empty());
}

TEST_F(SuspectsTest, WhatIsSeenFromOneHostIsNotSuspectWhenThatHostDoesNotAnswer) {
  Rank("FAB-001", 30, SubjectKind::kFabric);
  Rank("FAB-003", 40, SubjectKind::kLink);
  Say("FAB-001", 2, {SubjectKind::kFabric, "fabric"}, Level::kUnknown, UnknownReason::kUnreachable);
  for (const Subject& link : Links())
    Say("FAB-003", 2, link, Level::kUnknown, UnknownReason::kUnreachable);
  EXPECT_THAT(Names(), ElementsAre("node node000"));
  EXPECT_THAT(Find().front().why, HasSubstr("explains 1 more check"));
  fabric_host_ = "sm-host";
  EXPECT_THAT(Names(), ElementsAre("fabric fabric")) << "no node of the cluster";
}

TEST_F(SuspectsTest, ALinkThatIsDownStaysSuspectBesideAHostThatDoesNotAnswer) {
  Rank("FAB-003", 40, SubjectKind::kLink);
  const Subject down = Links().front();
  Say("FAB-003", 2, down, Level::kFail);
  Say("FAB-001", 2, {SubjectKind::kFabric, "fabric"}, Level::kUnknown, UnknownReason::kUnreachable);
  EXPECT_EQ(Names().front(), down.ToString());
}

TEST_F(SuspectsTest, MostGpusOfANodeAreLaidAtItsDoorBeforeAnythingIsExplained) {
  Rank("GPU-001", 20, SubjectKind::kGpu);
  Each("GPU-001", 4, Gpus(), OnHost("node002"));
  const SuspectRules rules = Rules();
  const auto groups = GroupVerdicts(verdicts_, rules, PortLinks(cluster_));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups.begin()->first.kind, SubjectKind::kNode);
  EXPECT_TRUE(groups.begin()->second.collapsed);
}

TEST_F(SuspectsTest, OneGpuIsNamedItself) {
  Rank("NOD-022", 28, SubjectKind::kGpu);
  Each("NOD-022", 3, Gpus(), Only(GpuSubject("node002", 5)));
  const auto found = Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, GpuSubject("node002", 5));
  EXPECT_EQ(found[0].next, "look at it node002/gpu5");
  EXPECT_THAT(found[0].codes, ElementsAre("NOD-022"));
}

TEST_F(SuspectsTest, MostGpusOfANodeAreTheNode) {
  Each("NOD-040", 3, Gpus(), OnHost("node001", Level::kUnknown));
  const auto found = Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, NodeSubject("node001"));
  EXPECT_THAT(found[0].why, HasSubstr("8 of 8 alike"));
}

TEST_F(SuspectsTest, TwoOfEightGpusAreTwoSuspects) {
  Each("NOD-022", 3, Gpus(), [](const Subject& s) {
    return s == GpuSubject("node001", 2) || s == GpuSubject("node001", 6) ? Level::kFail
                                                                          : Level::kPass;
  });
  EXPECT_THAT(Names(), ElementsAre("gpu node001/gpu2", "gpu node001/gpu6"));
}

TEST_F(SuspectsTest, AllNodesAreWhatTheyShare) {
  Each("TEL-001", 5, Nodes(), [](const Subject&) { return Level::kFail; });
  EXPECT_THAT(Names(), ElementsAre("site lab"));
}

TEST_F(SuspectsTest, AFleetWithoutAMajorityIsNamedMemberByMember) {
  cluster_ = BuildCluster(Spec(2));
  Rank("NOD-004", 18, SubjectKind::kNode, Measure::kAllEqual);
  Each("NOD-004", 3, Nodes(), [](const Subject&) { return Level::kFail; });
  EXPECT_THAT(Names(), ElementsAre("node node000", "node node001"));
}

TEST_F(SuspectsTest, ACauseIsNamedBeforeItsSymptoms) {
  Rank("NOD-010", 22, SubjectKind::kGpu);
  Rank("NOD-011", 45, SubjectKind::kNode);
  Each("NOD-011", 3, Nodes(), Only(NodeSubject("node003")));
  Each("NOD-010", 3, Gpus(), Only(GpuSubject("node003", 7)));
  const auto found = Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, GpuSubject("node003", 7));
  EXPECT_THAT(found[0].codes, ElementsAre("NOD-010", "NOD-011"));
}

TEST_F(SuspectsTest, AnUnreachableNodeExplainsAllThatIsUnknownOnIt) {
  Rank("NOD-001", 1);
  Each("NOD-001", 3, Nodes(), Only(NodeSubject("node001"), Level::kUnknown));
  Each("NOD-010", 3, Gpus(), OnHost("node001", Level::kUnknown));
  Each("NOD-051", 3, Hcas(), OnHost("node001", Level::kUnknown));
  EXPECT_THAT(Names(), ElementsAre("node node001"));
}

TEST_F(SuspectsTest, TwoFaultsOnOneNodeAreBothNamed) {
  Rank("NOD-002", 15);
  Rank("NOD-022", 28, SubjectKind::kGpu);
  Each("NOD-002", 3, Nodes(), Only(NodeSubject("node001")));
  Each("NOD-022", 3, Gpus(), Only(GpuSubject("node001", 4)));
  EXPECT_THAT(Names(), ElementsAre("node node001", "gpu node001/gpu4"));
}

TEST_F(SuspectsTest, FailComesBeforeUnknownAndWarnOnlyWhenAlone) {
  Rank("NOD-002", 15);
  Rank("NOD-040", 40, SubjectKind::kGpu);
  Rank("NOD-030", 2, SubjectKind::kGpu);
  Each("NOD-030", 3, Gpus(), Only(GpuSubject("node003", 0), Level::kWarn));
  EXPECT_THAT(Names(), ElementsAre("gpu node003/gpu0"));
  Each("NOD-002", 3, Nodes(), Only(NodeSubject("node001"), Level::kUnknown));
  Each("NOD-040", 3, Gpus(), Only(GpuSubject("node002", 4)));
  EXPECT_THAT(Names(), ElementsAre("gpu node002/gpu4", "node node001"));
}

TEST_F(SuspectsTest, ALinkFaultNamesTheLinkAlsoWhenAPortTells) {
  Rank("FAB-007", 26, SubjectKind::kLink);
  Rank("FAB-022", 32, SubjectKind::kPort);
  Rank("FAB-030", 70, SubjectKind::kFabric);
  const Link& bad = cluster_.links[5];
  Each("FAB-007", 2, Links(), Only(bad.Id()));
  std::vector<Subject> ports;
  for (const Link& link : cluster_.links) {
    ports.push_back(PortSubject(link.a.device, link.a.port));
    ports.push_back(PortSubject(link.b.device, link.b.port));
  }
  Each("FAB-022", 2, ports, Only(PortSubject(bad.b.device, bad.b.port)));
  Say("FAB-030", 2, {SubjectKind::kFabric, "fabric"}, Level::kFail);
  const auto found = Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, bad.Id());
  EXPECT_THAT(found[0].codes, ElementsAre("FAB-007", "FAB-022", "FAB-030"));
}

TEST_F(SuspectsTest, AllLinksOfANodeAreTheNodeAndAllOfASwitchTheSwitch) {
  const auto touching = [](std::string device) {
    return [device](const Subject& s) {
      return s.id.find(device) != std::string::npos ? Level::kFail : Level::kPass;
    };
  };
  Each("FAB-003", 2, Links(), touching("node002/"));
  EXPECT_THAT(Names(), ElementsAre("node node002"));
  verdicts_.clear();
  Each("FAB-003", 2, Links(), touching("spine01/"));
  EXPECT_THAT(Names(), ElementsAre("switch spine01"));
  verdicts_.clear();
  Each("FAB-003", 2, Links(), [](const Subject&) { return Level::kFail; });
  EXPECT_THAT(Names(), ElementsAre("fabric fabric"));
}

TEST_F(SuspectsTest, WithoutASubnetManagerTheFabricIsTheCause) {
  Rank("FAB-001", 5, SubjectKind::kFabric);
  Rank("FAB-006", 24, SubjectKind::kLink);
  Rank("FAB-040", 60, SubjectKind::kPair);
  Say("FAB-001", 2, {SubjectKind::kFabric, "fabric"}, Level::kFail);
  Each("FAB-006", 2, Links(), [](const Subject&) { return Level::kFail; });
  Each("FAB-040", 2, Ring(), [](const Subject&) { return Level::kUnknown; });
  const auto found = Find();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, (Subject{SubjectKind::kFabric, "fabric"}));
  EXPECT_EQ(found[0].codes[0], "FAB-001");
}

TEST_F(SuspectsTest, OneAdapterDownIsTheAdapter) {
  Rank("NOD-051", 24, SubjectKind::kHca);
  Each("NOD-051", 3, Hcas(), Only(HcaSubject("node001", "mlx5_3")));
  EXPECT_THAT(Names(), ElementsAre("hca node001/mlx5_3"));
}

TEST_F(SuspectsTest, ASlowPairIsThePairAndASlowNodeTheNode) {
  Rank("COL-010", 40, SubjectKind::kPair);
  Rank("COL-002", 60, SubjectKind::kScope);
  Say("COL-002", 6, {SubjectKind::kScope, "all"}, Level::kFail);
  Each("COL-010", 6, Ring(), Only(PairSubject("node001", "node002")));
  EXPECT_THAT(Names(), ElementsAre("pair node001--node002"));
  verdicts_.clear();
  Say("COL-002", 6, {SubjectKind::kScope, "all"}, Level::kFail);
  Each("COL-010", 6, Ring(), [](const Subject& s) {
    return s.id.find("node002") != std::string::npos ? Level::kFail : Level::kPass;
  });
  EXPECT_THAT(Names(), ElementsAre("node node002"));
}

TEST_F(SuspectsTest, OneRailIsTheRailAndOneNodeTheNodeWhicheverViewShowsAll) {
  Rank("COL-005", 22, SubjectKind::kRail);
  Rank("COL-006", 26, SubjectKind::kNode);
  Each("COL-005", 6, Rails(), Only(RailSubject(3)));
  Each("COL-006", 6, Nodes(), [](const Subject&) { return Level::kFail; });
  EXPECT_THAT(Names(), ElementsAre("rail rail3"));
  verdicts_.clear();
  Each("COL-005", 6, Rails(), [](const Subject&) { return Level::kFail; });
  Each("COL-006", 6, Nodes(), Only(NodeSubject("node001")));
  EXPECT_THAT(Names(), ElementsAre("node node001"));
}

TEST_F(SuspectsTest, OneRailAndOneNodeMeetInOneAdapter) {
  Each("COL-004", 6, Rails(), Only(RailSubject(3)));
  Each("COL-003", 6, Nodes(), Only(NodeSubject("node001")));
  EXPECT_THAT(Names(), ElementsAre("hca node001/mlx5_3"));
}

TEST_F(SuspectsTest, OfTwoNodesThatBothSeeItTheirPathIsSuspected) {
  cluster_ = BuildCluster(Spec(2));
  Rank("COL-003", 20);
  Each("COL-003", 6, Nodes(), [](const Subject&) { return Level::kFail; });
  EXPECT_THAT(Names(), ElementsAre("pair node000--node001"));
}

TEST_F(SuspectsTest, AStragglerExplainsTheGang) {
  Rank("TRN-006", 25);
  Rank("TRN-004", 48, SubjectKind::kGang);
  Each("TRN-006", 7, Nodes(), Only(NodeSubject("node002")));
  Say("TRN-004", 7, {SubjectKind::kGang, "train"}, Level::kFail);
  const auto found = Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject, NodeSubject("node002"));
}

TEST_F(SuspectsTest, OneGpuNodesAreNamedWhenTheToolFailed) {
  ClusterSpec spec = Spec(4);
  spec.gpus = 1;
  spec.numa = 1;
  cluster_ = BuildCluster(spec);
  for (const Subject& gpu : Gpus()) {
    const bool bad = gpu.Host() == "node001";
    Say("NOD-040", 3, gpu, bad ? Level::kUnknown : Level::kPass,
        bad ? std::optional(UnknownReason::kToolFault) : std::nullopt);
  }
  EXPECT_THAT(Names(), ElementsAre("node node001"));
  verdicts_.clear();
  Each("NOD-022", 3, Gpus(), Only(GpuSubject("node001", 0)));
  EXPECT_THAT(Names(), ElementsAre("gpu node001/gpu0"));
}

TEST_F(SuspectsTest, SignedBudgetsAreNamedOneByOne) {
  for (const char* name : {"cooling", "power", "weight"})
    Say("FAC-002", 1, {SubjectKind::kBudget, name}, Level::kFail);
  EXPECT_THAT(Names(), ElementsAre("budget cooling", "budget power", "budget weight"));
}

// Whatever is wrong, somebody is suspected, every failing code is explained, and nobody is named
// twice.
TEST_F(SuspectsTest, EveryMissIsExplained) {
  const auto subjects = [this] {
    std::vector<Subject> all = Gpus();
    for (const auto& more : {Nodes(), Links(), Hcas(), Rails(), Ring()})
      all.insert(all.end(), more.begin(), more.end());
    all.push_back({SubjectKind::kFabric, "fabric"});
    all.push_back({SubjectKind::kScope, "all"});
    all.push_back(SiteSubject("lab"));
    all.push_back(PortSubject("nowhere", 3));
    return all;
  }();
  EXPECT_TRUE(rc::check("suspects cover the misses", [&] {
    verdicts_.clear();
    const auto count = *rc::gen::inRange(1, 40);
    std::set<std::string> wrong;
    for (int i = 0; i < count; ++i) {
      const Subject subject = *rc::gen::elementOf(subjects);
      const auto level = *rc::gen::element(Level::kPass, Level::kFail, Level::kUnknown);
      const std::string code =
          fmt::format("X{}-{}", ToString(subject.kind), *rc::gen::inRange(0, 3));
      Rank(code, *rc::gen::inRange(0, 80), subject.kind);
      Say(code, *rc::gen::inRange(1, 9), subject, level);
      if (level != Level::kPass) wrong.insert(code);
    }
    const auto found = Find();
    std::set<std::string> explained;
    std::set<Subject> named;
    for (const Suspect& suspect : found) {
      explained.insert(suspect.codes.begin(), suspect.codes.end());
      RC_ASSERT(named.insert(suspect.subject).second);
      RC_ASSERT(!suspect.why.empty());
    }
    RC_ASSERT(explained == wrong);
  }));
}

}  // namespace
}  // namespace muster
