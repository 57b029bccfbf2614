#include "catalogue/expectation.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/testing/sample.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Catalogue& Expected() {
  static const Catalogue nothing;
  const auto loaded = LoadEmbedded();
  EXPECT_TRUE(loaded.ok());
  return loaded.ok() ? **loaded : nothing;
}

Site LabSite(int nodes = 4) {
  Site site;
  site.name = "lab-1";
  ClusterSpec spec;
  spec.nodes = nodes;
  site.cluster = BuildCluster(spec);
  site.budgets = {{"power", {50000, Unit::kWatt}, {40000, Unit::kWatt}},
                  {"cooling", {50000, Unit::kWatt}, {40000, Unit::kWatt}}};
  site.pdus = {{"pdu00", ""}};
  site.endpoints["prometheus"] = {"prometheus", "http://localhost:9090", ""};
  site.endpoints["alertmanager"] = {"alertmanager", "http://localhost:9093", ""};
  return site;
}

TEST(Expectation, AnswersWhatTheInventorySays) {
  Site site = LabSite();
  site.driver_version = "570.211.01";
  const Expectation expect = MakeExpectation(site);
  const Subject node = NodeSubject("node001"), gpu = GpuSubject("node001", 3);
  EXPECT_EQ(expect(node, "gpus_per_node"), Value(int64_t{8}));
  EXPECT_EQ(expect(node, "driver_version"), Value(std::string("570.211.01")));
  EXPECT_EQ(expect(gpu, "gpu_model"), Value(std::string("NVIDIA H100 80GB HBM3")));
  EXPECT_EQ(expect(gpu, "nvlinks"), Value(int64_t{18}));
  EXPECT_EQ(expect(gpu, "pcie_gen"), Value(int64_t{5}));
  EXPECT_EQ(expect(gpu, "fabric_state"), Value(std::string("Completed")));
  EXPECT_EQ(expect(HcaSubject("node001", "mlx5_2"), "hca_rate"), Value(400.0));
  const Subject link = site.cluster.links[0].Id();
  EXPECT_EQ(expect(link, "link_rate"), Value(400.0));
  EXPECT_EQ(expect(link, "link_width"), Value(int64_t{4}));
}

TEST(Expectation, IsSilentWhereTheSiteIs) {
  Site site = LabSite();
  site.cluster.nodes[0].gpus[0].model = "";
  const Expectation expect = MakeExpectation(site);
  EXPECT_FALSE(expect(NodeSubject("node000"), "driver_version").has_value());
  EXPECT_FALSE(expect(GpuSubject("node000", 0), "gpu_model").has_value());
  EXPECT_FALSE(expect(GpuSubject("node000", 0), "nvlinks").has_value());
  EXPECT_FALSE(expect(GpuSubject("node000", 99), "gpu_model").has_value());
  EXPECT_FALSE(expect(GpuSubject("node000", 1), "gpu_uuid").has_value());
  EXPECT_FALSE(expect(NodeSubject("nobody"), "gpus_per_node").has_value());
  EXPECT_FALSE(expect(NodeSubject("node000"), "no_such_name").has_value());
  EXPECT_FALSE(expect(LinkSubject("a/1", "b/1"), "link_rate").has_value());
}

TEST(Expectation, APairIsAsGoodAsItsSlowestRail) {
  Site site = LabSite();
  site.cluster.nodes[1].nics[3].rate_gbit_per_s = 200;
  const Expectation expect = MakeExpectation(site);
  EXPECT_EQ(expect(PairSubject("node000", "node002"), "pair_rate_min"), Value(400.0 * 0.92));
  EXPECT_EQ(expect(PairSubject("node000", "node001"), "pair_rate_min"), Value(200.0 * 0.92));
  EXPECT_EQ(expect(PairSubject("node000", "node001"), "pair_rate_warn"), Value(200.0 * 0.88));
  EXPECT_FALSE(expect(PairSubject("node000", "nobody"), "pair_rate_min").has_value());
}

TEST(Expectation, SettingsComeFromTheSiteThenItsTargetsThenTheCatalogue) {
  Site site = LabSite();
  const Subject gang{SubjectKind::kGang, "train"};
  EXPECT_EQ(MakeExpectation(site)(gang, "mfu_target"), Value(0.35));
  EXPECT_EQ(MakeExpectation(site)(gang, "step_spread_max"), Value(1.1));
  site.training.mfu_min = 0.02;
  site.training.rank_lag_max = 1.5;
  EXPECT_EQ(MakeExpectation(site)(gang, "rank_lag_max"), Value(1.5));
  site.inference.ttft_p99 = std::chrono::milliseconds(450);
  EXPECT_EQ(MakeExpectation(site)(gang, "mfu_target"), Value(0.02));
  EXPECT_EQ(MakeExpectation(site)({SubjectKind::kEndpoint, "openai"}, "ttft_p99"), Value(0.45));
  site.thresholds["mfu_target"] = {0.4, Unit::kRatio};
  site.thresholds["step_spread_max"] = {3.0, Unit::kCount};  // "3.0" in the file
  EXPECT_EQ(MakeExpectation(site)(gang, "mfu_target"), Value(0.4));
  EXPECT_EQ(MakeExpectation(site)(gang, "step_spread_max"), Value(3.0));
}

TEST(Expectation, ASitesTargetsBeginWhereTheCatalogueStands) {
  const Site site = LabSite();
  const Expectation expect = MakeExpectation(site);
  for (const char* name :
       {"mfu_target", "step_spread_max", "rank_lag_max", "ttft_p99", "tpot_p99", "goodput_min"}) {
    ASSERT_NE(Expected().FindSetting(name), nullptr) << name;
    EXPECT_DOUBLE_EQ(std::get<double>(*expect(SiteSubject("x"), name)),
                     Expected().FindSetting(name)->value.value)
        << name;
  }
}

TEST(SubjectsOf, NamesAllThatShouldBeThere) {
  const Site site = LabSite();
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kNode), SizeIs(4));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kGpu), SizeIs(32));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kHca), SizeIs(32));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kRail), SizeIs(8));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kLink), SizeIs(site.cluster.links.size()));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kPort), SizeIs(2 * site.cluster.links.size()));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kBudget), SizeIs(2));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kPdu),
              ElementsAre(Subject{SubjectKind::kPdu, "pdu00"}));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kSite), ElementsAre(SiteSubject("lab-1")));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kScope),
              ElementsAre(Subject{SubjectKind::kScope, "all"}));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kRank), IsEmpty());
}

TEST(SubjectsOf, PairsAreRingNeighbours) {
  EXPECT_THAT(SubjectsOf(LabSite(1), SubjectKind::kPair), IsEmpty());
  EXPECT_THAT(SubjectsOf(LabSite(2), SubjectKind::kPair),
              ElementsAre(PairSubject("node000", "node001")));
  EXPECT_THAT(SubjectsOf(LabSite(3), SubjectKind::kPair),
              ElementsAre(PairSubject("node000", "node001"), PairSubject("node001", "node002"),
                          PairSubject("node000", "node002")));
}

TEST(SubjectsOf, AScopeHasItsNodesAndTheLinksThatServeThem) {
  Site site = LabSite();
  site.scopes = {{"first-pair", {"node000", "node001"}}};
  const std::vector<std::string> pair = {"node000", "node001"};
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kGpu, pair), SizeIs(16));
  EXPECT_THAT(SubjectsOf(site, SubjectKind::kScope, pair),
              ElementsAre(Subject{SubjectKind::kScope, "all"}));
  for (const Subject& link : SubjectsOf(site, SubjectKind::kLink, pair))
    EXPECT_EQ(link.id.find("node003"), std::string::npos);
  EXPECT_LT(SubjectsOf(site, SubjectKind::kLink, pair).size(), site.cluster.links.size());
}

const Applicability::Skipped* Skipped(const Applicability& a, std::string_view code) {
  for (const auto& skipped : a.not_applicable) {
    if (skipped.criterion->code == code) return &skipped;
  }
  return nullptr;
}
const Criterion* Applies(const Applicability& a, std::string_view code) {
  const auto it = std::find_if(a.criteria.begin(), a.criteria.end(),
                               [&](const Criterion& c) { return c.code == code; });
  return it == a.criteria.end() ? nullptr : &*it;
}

TEST(Applicable, EveryCriterionAppliesOrSaysWhyNot) {
  for (const int nodes : {1, 2, 4}) {
    const Site site = LabSite(nodes);
    const Applicability all = Applicable(Expected(), site, 0);
    EXPECT_EQ(all.criteria.size() + all.not_applicable.size(), Expected().criteria.size());
    for (const auto& skipped : all.not_applicable)
      EXPECT_FALSE(skipped.reason.empty()) << skipped.criterion->code;
    for (const Criterion& c : all.criteria)
      EXPECT_FALSE(SubjectsOf(site, c.subject).empty()) << c.code;
  }
}

TEST(Applicable, AWorkstationIsToldWhatDoesNotApply) {
  Site site;
  site.name = "desk";
  site.kind = SiteKind::kHost;
  Node node;
  node.name = "desk";
  node.gpus.resize(1);
  node.gpus[0].model = "NVIDIA GeForce RTX 4090";
  site.cluster.nodes = {node};
  const Applicability a = Applicable(Expected(), site, 0);
  for (const char* code : {"FAC-001", "FAB-001", "FAB-040", "NOD-006", "NOD-026", "NOD-031",
                           "NOD-051", "TEL-003", "COL-002", "INF-001"})
    EXPECT_NE(Skipped(a, code), nullptr) << code;
  for (const char* code : {"NOD-001", "NOD-010", "NOD-012", "NOD-040", "STK-010", "TRN-004"})
    EXPECT_NE(Applies(a, code), nullptr) << code;
  EXPECT_EQ(Skipped(a, "FAB-040")->reason,
            "one node, or no RDMA adapters: there is no pair to measure");
}

TEST(Applicable, ExactlyOneOfModelAndSameModelApplies) {
  Site site = LabSite();
  EXPECT_TRUE(Applies(Applicable(Expected(), site, 3), "NOD-012"));
  EXPECT_FALSE(Applies(Applicable(Expected(), site, 3), "NOD-013"));
  for (Node& node : site.cluster.nodes) {
    for (Gpu& gpu : node.gpus) gpu.model.clear();
  }
  EXPECT_FALSE(Applies(Applicable(Expected(), site, 3), "NOD-012"));
  EXPECT_TRUE(Applies(Applicable(Expected(), site, 3), "NOD-013"));
}

TEST(Applicable, TheTreeTrapIsOnlyAskedOfTwoNodes) {
  const std::vector<std::string> pair = {"node000", "node001"};
  EXPECT_TRUE(Applies(Applicable(Expected(), LabSite(2), 6), "COL-008"));
  EXPECT_FALSE(Applies(Applicable(Expected(), LabSite(4), 6), "COL-008"));
  EXPECT_TRUE(Applies(Applicable(Expected(), LabSite(4), 6, pair), "COL-008"));
}

TEST(Applicable, TheSitesThresholdReplacesTheCatalogues) {
  Site site = LabSite();
  site.thresholds["COL-002"] = {0.8, Unit::kRatio};
  site.thresholds["COL-002.warn"] = {0.7, Unit::kRatio};
  site.thresholds["FAB-022"] = {5, Unit::kPerHour};
  const Applicability a = Applicable(Expected(), site, 0);
  EXPECT_EQ(Applies(a, "COL-002")->pass.values[0], Value(0.8));
  EXPECT_TRUE(Applies(a, "COL-002")->pass.expect.empty());
  EXPECT_EQ(Applies(a, "COL-002")->warn->values[0], Value(0.7));
  EXPECT_EQ(Applies(a, "FAB-022")->pass.values[0], Value(5.0));
  EXPECT_THAT(CheckThresholds(Expected(), site), IsEmpty());
}

TEST(CheckThresholds, NamesWhatIsWrong) {
  Site site = LabSite();
  site.thresholds["COL-02"] = {0.8, Unit::kRatio};
  site.thresholds["COL-002"] = {300, Unit::kGBytePerSec};
  site.thresholds["mfu_targt"] = {0.3, Unit::kRatio};
  site.thresholds["NOD-012"] = {1, Unit::kCount};
  site.thresholds["ttft_p99"] = {2, Unit::kCount};
  const auto problems = CheckThresholds(Expected(), site);
  ASSERT_EQ(problems.size(), 5u);
  EXPECT_THAT(problems[0].second, HasSubstr("COL-002 is in ratio, found 300 GB/s"));
  EXPECT_THAT(problems[1].second,
              HasSubstr("COL-02 is neither a criterion nor a setting, did you mean COL-002"));
  EXPECT_THAT(problems[2].second, HasSubstr("not held to a number"));
  EXPECT_THAT(problems[3].second, HasSubstr("did you mean mfu_target"));
  EXPECT_THAT(problems[4].second, HasSubstr("ttft_p99 is in s, found 2"));
}

TEST(SubjectsFor, ALocalisingMeasurementIsJudgedWhereItWasMade) {
  const Site site = LabSite();
  const Criterion& pair_ratio = *Expected().Find("COL-010");
  const Subject far = PairSubject("node000", "node002");
  const Observations none;
  EXPECT_THAT(SubjectsFor(pair_ratio, site, {}, ObservationIndex(none)), IsEmpty());
  const Observations seen = {
      testing::Seen(far, pair_ratio.fact, 0.5, Unit::kRatio),
      testing::Missing(PairSubject("node000", "node001"), pair_ratio.fact,
                       UnknownReason::kToolFault),
      testing::Seen(PairSubject("x", "y"), pair_ratio.fact, 0.5, Unit::kRatio)};
  EXPECT_THAT(SubjectsFor(pair_ratio, site, {}, ObservationIndex(seen)),
              ElementsAre(PairSubject("node000", "node001"), far));
  EXPECT_THAT(SubjectsFor(*Expected().Find("FAB-040"), site, {}, ObservationIndex(none)),
              SizeIs(4));
}

TEST(RenderNext, FillsInTheSubjectAndTheWayToTheHost) {
  Site lab = LabSite();
  Site real = LabSite();
  real.kind = SiteKind::kHost;
  real.fabric_host = "node003";
  real.ssh["user"] = "ops";
  real.cluster.nodes[1].address = "10.0.0.2";
  const Subject gpu = GpuSubject("node001", 5);
  EXPECT_EQ(RenderNext("{at host} nvidia-smi -i {gpu} -q", &gpu, &lab),
            "muster lab exec node001 -- nvidia-smi -i 5 -q");
  EXPECT_EQ(RenderNext("{at host} nvidia-smi -i {gpu} -q", &gpu, &real),
            "ssh ops@10.0.0.2 nvidia-smi -i 5 -q");
  EXPECT_EQ(RenderNext("{at host} nvidia-smi -i {gpu} -q", nullptr, nullptr),
            "ssh HOST nvidia-smi -i N -q");
  EXPECT_EQ(RenderNext("{at fabric} sminfo", nullptr, &real), "ssh ops@node003 sminfo");
  const Subject pair = PairSubject("node000", "node001");
  EXPECT_EQ(RenderNext("{at a} x & {at b} x {a}", &pair, &lab),
            "muster lab exec node000 -- x & muster lab exec node001 -- x node000");
  const Subject hca = HcaSubject("node002", "mlx5_7");
  EXPECT_EQ(RenderNext("{at host} ibstat {device}", &hca, &real), "ssh ops@node002 ibstat mlx5_7");
  real.cluster.nodes[1].address = "localhost";
  EXPECT_EQ(RenderNext("{at host} nvidia-smi", &gpu, &real), "nvidia-smi");
  EXPECT_EQ(RenderNext("awk '{print}' {", &gpu, &real), "awk '{print}' {");
}

TEST(RenderNext, EveryNextOfTheCatalogueIsFilledInWhole) {
  const Site site = LabSite();
  for (const Criterion& c : Expected().criteria) {
    const auto subjects = SubjectsOf(site, c.subject);
    ASSERT_FALSE(subjects.empty()) << c.code;
    const std::string next = RenderNext(c.next, &subjects.front(), &site);
    EXPECT_EQ(next.find('{'), std::string::npos) << c.code << ": " << next;
    for (const char* left : {"HOST", "DEVICE", "PORT"})
      EXPECT_EQ(next.find(left), std::string::npos) << c.code << ": " << next;
  }
}

TEST(FindSuspects, UsesRanksAndCommandsOfTheCatalogue) {
  const Site site = LabSite();
  std::vector<Verdict> verdicts;
  for (const Subject& gpu : SubjectsOf(site, SubjectKind::kGpu)) {
    Verdict v;
    v.code = "NOD-022";
    v.gate = 3;
    v.subject = gpu;
    v.level = gpu == GpuSubject("node002", 6) ? Level::kFail : Level::kPass;
    v.text = "errors";
    verdicts.push_back(v);
  }
  const auto found = FindSuspects(verdicts, Expected(), site);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].next, "muster lab exec node002 -- nvidia-smi -i 6 -q -d ECC");
}

}  // namespace
}  // namespace muster
