#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/testing/still_actuator.h"
#include "catalogue/embedded.h"
#include "plan/templates.h"

namespace muster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PlanTest : public ::testing::Test {
 protected:
  void Stage(const std::string& spec = "nodes=40,gpus=2,numa=1,rails=2,leaves=2,spines=2") {
    cluster_ = BuildCluster(ParseClusterSpec(spec).value());
    actuator_.fleet = {};
    for (const Node& node : cluster_.nodes) actuator_.fleet.nodes.push_back({node.name, {}});
  }
  void Book(std::string_view file) {
    text_ = std::string(FindEmbedded(file).value());
    const auto book = ParseRunbook(text_, file);
    ASSERT_TRUE(book.ok()) << book.error().ToString();
    book_ = *book;
  }
  void Upgrade() {
    Book("runbooks/r01-driver-upgrade.yaml");
    request_.inputs = {{"driver", "580.1"}, {"previous", "570.2"}};
  }
  Result<Plan> Make(const std::vector<Subject>& on) {
    request_.site = "lab";
    request_.by = "tester@here";
    request_.now = ParseTime("2026-11-21T20:00:00Z").value();
    request_.on = on;
    const PlanFacts facts{cluster_, actuator_.fleet, jobs_, identity_, skip_, evidence_};
    return MakePlan(book_, text_, request_, facts, actuator_);
  }
  std::vector<Subject> Nodes(int from, int to) const {
    std::vector<Subject> nodes;
    for (int n = from; n < to; ++n) nodes.push_back(NodeSubject(cluster_.nodes[n].name));
    return nodes;
  }
  std::string Complaint(const std::vector<Subject>& on) {
    const auto plan = Make(on);
    return plan.ok() ? "" : plan.error().ToString();
  }

  Cluster cluster_;
  testing::StillActuator actuator_;
  Runbook book_;
  std::string text_;
  PlanRequest request_;
  std::map<std::string, std::vector<RunningJob>> jobs_;
  std::map<std::string, std::string> identity_;
  std::map<std::pair<std::string, std::string>, std::string> skip_;
  Origin evidence_ = Origin::kRehearsed;
};

TEST_F(PlanTest, TheCanaryGoesFirstAndWavesGrow) {
  Stage();
  Upgrade();
  const auto plan = Make(Nodes(0, 12));
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  std::vector<int> sizes(static_cast<size_t>(plan->waves));
  for (const PlannedTarget& target : plan->targets) ++sizes[static_cast<size_t>(target.wave)];
  EXPECT_THAT(sizes, ElementsAre(1, 1, 1, 2, 4, 3));  // 1, 1, 2 %, 5 %, 10 %, the rest of 40 nodes
  EXPECT_EQ(plan->at_once, 4);                        // 10 % of 40
  EXPECT_EQ(plan->targets[0].steps[2].action.params.at("driver"), "580.1");
  EXPECT_FALSE(plan->targets[0].rack.empty());
  EXPECT_FALSE(plan->targets[0].leaf.empty());
}

TEST_F(PlanTest, SaysTheSameWhateverTheTimeOfDayButHashesItAll) {
  Stage();
  Upgrade();
  const auto a = Make(Nodes(0, 3)), b = Make(Nodes(0, 3)), c = Make(Nodes(0, 2));
  EXPECT_EQ(a->hash, b->hash);
  EXPECT_NE(a->hash, c->hash);
}

TEST_F(PlanTest, BrokenNodesCountAgainstTheLimit) {
  Stage();
  Upgrade();
  for (int n = 30; n < 34; ++n)
    actuator_.fleet.nodes[static_cast<size_t>(n)].hold.schedulable = false;
  EXPECT_THAT(Complaint(Nodes(0, 2)), HasSubstr("4 of 40 nodes are out of service already"));
  actuator_.fleet.nodes[30].hold.schedulable = true;
  EXPECT_EQ(Complaint(Nodes(0, 2)), "");
  actuator_.fleet.nodes.pop_back();  // one that does not answer counts as well
  actuator_.fleet.silent.push_back(cluster_.nodes[39].name);
  EXPECT_THAT(Complaint(Nodes(0, 2)), HasSubstr("4 of 40 nodes are out of service already"));
}

TEST_F(PlanTest, ANodeThatSomebodyHoldsIsLeftOutByName) {
  Stage();
  Upgrade();
  actuator_.fleet.nodes[1].hold.schedulable = false;
  actuator_.fleet.nodes[1].hold.note = "for Ada";
  const auto plan = Make(Nodes(0, 3));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->targets.size(), 2u);
  EXPECT_THAT(plan->left_out, ElementsAre(HasSubstr("for Ada")));
}

TEST_F(PlanTest, WhatCannotBeMeantIsRefused) {
  Stage();
  Upgrade();
  EXPECT_THAT(Complaint({}), HasSubstr("at least one target"));
  EXPECT_THAT(Complaint({NodeSubject("node999")}), HasSubstr("no node node999"));
  EXPECT_THAT(Complaint({GpuSubject(cluster_.nodes[0].name, 0)}),
              HasSubstr("is planned for a node"));
  auto twice = Nodes(0, 1);
  twice.push_back(twice[0]);
  EXPECT_THAT(Complaint(twice), HasSubstr("named twice"));
  request_.inputs.erase("previous");
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("needs --set previous"));
  request_.inputs["prevous"] = "1";
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("has no input prevous"));
  Upgrade();
  request_.at_once = 9;
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("allows 4 at once"));
}

TEST_F(PlanTest, ABackendThatCannotDoAStepIsNamed) {
  Stage();
  Upgrade();
  std::erase(actuator_.can, ActKind::kPackages);
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("cannot do: packages"));
}

TEST_F(PlanTest, WhatTheSiteDoesNotHaveIsSaidBeforeAnythingIsDoneUnlessTheStepIsLeftOut) {
  Stage();
  Upgrade();
  actuator_.lacks = ActKind::kPackages;
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("step install: the site lacks it"));
  // Of the way back, too.
  skip_[{NodeSubject(cluster_.nodes[0].name).ToString(), "install"}] = "it is there";
  EXPECT_THAT(Complaint(Nodes(0, 1)), HasSubstr("step previous-version: the site lacks it"));
  actuator_.lacks.reset();
  EXPECT_EQ(Complaint(Nodes(0, 1)), "");
}

TEST_F(PlanTest, EvidenceThatIsNotLiveIsRefusedOnARealCluster) {
  Stage();
  Upgrade();
  testing::StillActuator real(Origin::kLive);
  request_.on = Nodes(0, 1);
  const PlanFacts facts{cluster_, actuator_.fleet, jobs_, identity_, skip_, Origin::kReplayed};
  const auto plan = MakePlan(book_, text_, request_, facts, real);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kRefused);
}

TEST_F(PlanTest, AChangedWorldIsNamed) {
  Stage();
  Upgrade();
  const auto plan = Make(Nodes(0, 2));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(WorldDifferences(*plan, MarkWorld(plan->targets, actuator_.fleet, {})).empty());
  actuator_.fleet.nodes[0].hold.schedulable = false;
  EXPECT_THAT(WorldDifferences(*plan, MarkWorld(plan->targets, actuator_.fleet, {})),
              ElementsAre(HasSubstr("was schedulable, is cordoned by somebody")));
}

TEST_F(PlanTest, ComesBackFromItsFileAsItWas) {
  Stage();
  Upgrade();
  jobs_[cluster_.nodes[0].name] = {
      {"job-7", "ada", {cluster_.nodes[0].name}, 2, request_.now, std::nullopt}};
  skip_[{NodeSubject(cluster_.nodes[0].name).ToString(), "install"}] = "it is there";
  const auto plan = Make(Nodes(0, 3));
  ASSERT_TRUE(plan.ok());
  const std::string text = WritePlan(*plan);
  const auto read = ReadPlan(text, "plan.json");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->hash, plan->hash);
  EXPECT_EQ(WritePlan(*read), text);
  EXPECT_EQ(read->targets[0].steps[2].skipped, "it is there");
}

TEST_F(PlanTest, AnEditedPlanIsRefused) {
  Stage();
  Upgrade();
  const std::string text = WritePlan(*Make(Nodes(0, 3)));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"580.1", "580.2"},
                                                        {"\"wave\": 1", "\"wave\": 0"},
                                                        {"\"atOnce\": 4", "\"atOnce\": 40"},
                                                        {"\"site\"", "\"size\""}}) {
    std::string edited = text;
    const size_t at = edited.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    edited.replace(at, from.size(), to);
    EXPECT_FALSE(ReadPlan(edited, "plan.json").ok()) << from;
  }
  EXPECT_THAT(ReadPlan(text.substr(0, 4000), "plan.json").error().ToString(),
              HasSubstr("plan.json:"));
  EXPECT_FALSE(ReadPlan("[]", "p").ok());
  EXPECT_FALSE(ReadPlan("", "p").ok());
}

TEST_F(PlanTest, PrintsWhatWillBeDoneAndWhatProvesIt) {
  Stage();
  Book("runbooks/r06-gpu-fault-rma.yaml");
  const std::string node = cluster_.nodes[0].name;
  jobs_[node] = {{"job-7",
                  "ada",
                  {node},
                  2,
                  ParseTime("2026-11-21T18:00:00Z").value(),
                  ParseTime("2026-11-21T19:30:00Z").value()}};
  const auto plan = Make({GpuSubject(node, 1)});
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const std::string text = PrintPlan(*plan);
  EXPECT_THAT(text, HasSubstr("! reset: Reset the GPU [destructive; rung gpu; at most 2m"));
  EXPECT_THAT(text, HasSubstr("$ do gpu_reset gpu " + node + "/gpu1"));
  EXPECT_THAT(text, HasSubstr("$ do reboot node " + node));
  EXPECT_THAT(text, HasSubstr("happened when: reset_marker"));
  EXPECT_THAT(text, HasSubstr("proved by: gate 3 passes"));
  EXPECT_THAT(text, HasSubstr("job job-7 of ada on 2 GPUs, durable checkpoint 30m"));
  EXPECT_THAT(text, HasSubstr("1.0 GPU-hours lost"));
  EXPECT_THAT(text, HasSubstr("stays isolated, parked"));
}

TEST_F(PlanTest, TwoGpusOfOneNodeAreNotTakenTogether) {
  Stage();
  Book("runbooks/r06-gpu-fault-rma.yaml");
  const auto plan =
      Make({GpuSubject(cluster_.nodes[0].name, 0), GpuSubject(cluster_.nodes[0].name, 1)});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->targets.size(), 1u);
  EXPECT_THAT(plan->left_out, ElementsAre(HasSubstr("its node is in this plan already")));
}

TEST(Template, LeavesNoPlaceholderOver) {
  const auto values = ValuesFor(GpuSubject("n1", 3), "GPU-1 165", {{"driver", "580"}});
  EXPECT_EQ(FillTemplate("{node}/{gpu} {uuid} {driver} {{x}", values).value(),
            "n1/3 GPU-1 580 {x}");
  EXPECT_THAT(FillTemplate("{dirver}", values).error().message, HasSubstr("{dirver} is not known"));
  EXPECT_THAT(FillTemplate("{node", values).error().message, HasSubstr("not closed"));
}

TEST(LostWork, CountsSinceTheNewestDurableCheckpoint) {
  const TimePoint now = ParseTime("2026-11-21T20:00:00Z").value();
  RunningJob job{"j", "o", {"n"}, 8, now - std::chrono::hours(3), std::nullopt};
  EXPECT_DOUBLE_EQ(LostGpuHours(job, now), 24);
  job.durable_at = now - std::chrono::minutes(30);
  EXPECT_DOUBLE_EQ(LostGpuHours(job, now), 4);
  EXPECT_DOUBLE_EQ(LostGpuHours(job, now - std::chrono::hours(9)), 0);
}

}  // namespace
}  // namespace muster
