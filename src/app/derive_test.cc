#include "app/derive.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Observation Seen(Subject subject, std::string fact, Value value, Unit unit = Unit::kNone,
                 Origin origin = Origin::kLive) {
  Observation o;
  o.subject = std::move(subject);
  o.fact = std::move(fact);
  o.seen = std::move(value);
  o.unit = unit;
  o.origin = origin;
  return o;
}
Observation LinkSeen(const Link& link, Origin origin = Origin::kLive) {
  return Seen(link.Id(), "link.present", true, Unit::kNone, origin);
}
Observation Unseen(Subject subject, std::string fact) {
  Observation o = Seen(std::move(subject), std::move(fact), false);
  o.seen = Unobserved{UnknownReason::kToolFault, "hung"};
  return o;
}

Site SmallFabric() {
  Site site;
  site.cluster = BuildCluster(ParseClusterSpec("nodes=2,gpus=2,rails=2,leaves=2,spines=1").value());
  return site;
}
Observations AllLinks(const Site& site) {
  Observations seen;
  for (const Link& link : site.cluster.links) seen.push_back(LinkSeen(link));
  return seen;
}

TEST(DeriveAttachments, WhatMayNotBeReadIsTheReasonAndNotThatNobodyLooked) {
  Site site = SmallFabric();
  site.name = "prod";
  const Observations derived =
      Derive(site, 4, {}, {Unseen(SiteSubject("prod"), "attachment.resources")});
  ASSERT_EQ(derived.size(), 1u);
  EXPECT_EQ(derived[0].fact, "attachment.unadvertised");
  ASSERT_NE(derived[0].unobserved(), nullptr);
  EXPECT_EQ(derived[0].unobserved()->reason, UnknownReason::kToolFault);
}

TEST(DeriveLinks, WholeFabricHasNoUnexpectedLinkAndMissesNone) {
  const Site site = SmallFabric();
  const Observations derived = Derive(site, 2, {}, AllLinks(site));
  ASSERT_EQ(derived.size(), 1u);
  EXPECT_EQ(derived[0].fact, "fabric.unexpected_links");
  EXPECT_EQ(*derived[0].value(), Value(int64_t{0}));
}

TEST(DeriveLinks, MissingLinkIsSaidOfThatLinkWithWhatItWasDerivedFrom) {
  const Site site = SmallFabric();
  Observations seen = AllLinks(site);
  const Subject gone = seen.back().subject;
  seen.pop_back();
  const Observations derived = Derive(site, 2, {}, seen);
  ASSERT_EQ(derived.size(), 2u);
  EXPECT_EQ(derived[1].subject, gone);
  EXPECT_EQ(*derived[1].value(), Value(false));
  EXPECT_THAT(derived[1].excerpt, HasSubstr("link.present of"));
}

TEST(DeriveLinks, UnexpectedLinksAreCountedAndTheFirstIsNamed) {
  const Site site = SmallFabric();
  Observations seen = AllLinks(site);
  seen.push_back(LinkSeen({{"leaf00", 60}, {"other/mlx5_0", 1}}));
  seen.push_back(LinkSeen({{"leaf00", 61}, {"other/mlx5_1", 1}}));
  const Observations derived = Derive(site, 2, {}, seen);
  ASSERT_EQ(derived.size(), 1u);
  EXPECT_EQ(*derived[0].value(), Value(int64_t{2}));
  EXPECT_THAT(derived[0].excerpt, HasSubstr("leaf00/60"));
}

TEST(DeriveLinks, LinkOfWhichNothingIsKnownIsNotCalledMissing) {
  const Site site = SmallFabric();
  Observations seen = AllLinks(site);
  const Subject dark = seen.back().subject;
  seen.back() = Unseen(dark, "link.present");
  for (const Observation& o : Derive(site, 2, {}, seen)) EXPECT_NE(o.subject, dark);
}

TEST(DeriveLinks, NothingIsDerivedWhereNothingWasDiscovered) {
  const Site site = SmallFabric();
  EXPECT_THAT(Derive(site, 2, {}, {}), IsEmpty());
  EXPECT_THAT(Derive(site, 2, {}, {Unseen(NodeSubject("fabric"), "link.present")}), IsEmpty());
  EXPECT_THAT(Derive(site, 3, {}, AllLinks(site)), IsEmpty());
}

TEST(DeriveLinks, OriginIsTheLeastRealOfAllParents) {
  const Site site = SmallFabric();
  Observations seen = AllLinks(site);
  seen.pop_back();
  seen[1].origin = Origin::kRehearsed;
  seen[2].origin = Origin::kReplayed;
  for (const Observation& o : Derive(site, 2, {}, seen)) EXPECT_EQ(o.origin, Origin::kRehearsed);
}

TEST(Components, EveryObservedComponentIsNamedWithItsVersion) {
  const Subject node = NodeSubject("n1");
  const Observations seen = {
      Seen(node, "node.driver_version", std::string("570.211.01")),
      Seen(node, "node.cuda_version", std::string("12.8")),
      Seen(node, "node.kernel", std::string("6.8.0-87-generic")),
      Seen(node, "node.os", std::string("Ubuntu 24.04.3 LTS")),
      Seen(node, "node.fabric_manager_version", std::string("570.211.01")),
      Seen({SubjectKind::kHca, "n1/mlx5_0"}, "hca.firmware", std::string("28.39.1002")),
      Seen(node, "nccl.version", std::string("2.26.2")),
      Seen({SubjectKind::kBudget, "power"}, "facility.used_ratio", 0.5, Unit::kRatio),
      LinkSeen({{"leaf00", 1}, {"n1/mlx5_0", 1}}),
  };
  const auto components = ComponentsOf(seen);
  EXPECT_EQ(components.size(), 9u);
  for (const char* name : {"driver", "cuda", "kernel", "image", "fabric_manager", "firmware",
                           "nccl", "facility", "topology"}) {
    EXPECT_TRUE(components.contains(name)) << name;
  }
  EXPECT_EQ(components.at("kernel"), "6.8.0-87-generic");
}

TEST(Components, TwoVersionsAreBothSaidAndWhatWasNotSeenIsNotThere) {
  const auto components = ComponentsOf(
      {Seen(NodeSubject("a"), "node.driver_version", std::string("570.2")),
       Seen(NodeSubject("b"), "node.driver_version", std::string("550.1")),
       Unseen(NodeSubject("c"), "node.driver_version"), Unseen(NodeSubject("c"), "node.kernel")});
  EXPECT_THAT(components, UnorderedElementsAre(Pair("driver", "550.1, 570.2")));
}

TEST(Components, TopologyFollowsTheLinksThatAreThereAndNotTheirOrder) {
  const Link one{{"leaf00", 1}, {"n1/mlx5_0", 1}}, two{{"leaf00", 2}, {"n2/mlx5_0", 1}};
  const auto of = [](const Observations& seen) { return ComponentsOf(seen).at("topology"); };
  EXPECT_EQ(of({LinkSeen(one), LinkSeen(two)}), of({LinkSeen(two), LinkSeen(one)}));
  EXPECT_NE(of({LinkSeen(one), LinkSeen(two)}), of({LinkSeen(one)}));
  EXPECT_EQ(of({LinkSeen(one), Seen(two.Id(), "link.present", false)}), of({LinkSeen(one)}));
}

TEST(Figures, WorstOfAllSubjectsIsKept) {
  const Subject a{SubjectKind::kPair, "a--b"}, b{SubjectKind::kPair, "b--c"};
  const auto figures = FiguresOf({Seen(a, "rdma.pair_rate", 380.0, Unit::kGbitPerSec),
                                  Seen(b, "rdma.pair_rate", 310.0, Unit::kGbitPerSec),
                                  Seen(a, "train.step_time", 1.0, Unit::kSeconds),
                                  Seen(b, "train.step_time", 2.0, Unit::kSeconds)});
  EXPECT_EQ(figures.at("rdma_pair_rate").value, 310.0);
  EXPECT_EQ(figures.at("step_time").value, 2.0);
}

TEST(Figures, WhatIsNoNumberIsNoFigure) {
  const Subject gang{SubjectKind::kGang, "train"};
  EXPECT_THAT(FiguresOf({Seen(gang, "train.mfu", std::nan(""), Unit::kRatio),
                         Seen(gang, "train.mfu", INFINITY, Unit::kRatio),
                         Unseen(gang, "serve.goodput"), Seen(gang, "gpu.count", int64_t{8})}),
              IsEmpty());
}

}  // namespace
}  // namespace muster
