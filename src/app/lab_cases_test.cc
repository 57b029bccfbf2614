#include "app/lab_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing::kTestSite;
using testing::LabSite;

class LabCases : public ::testing::Test {
 protected:
  Result<Subject> Put(const std::string& fault, const std::string& on = "") {
    return LabInject(world_, kTestSite, fault, on);
  }
  LabSite lab_;
  World world_ = lab_.world();
};

TEST_F(LabCases, FaultGoesInAndIsListedWithItsTime) {
  const auto on = Put("xid_79", "node001/gpu1");
  ASSERT_TRUE(on.ok()) << on.error().ToString();
  EXPECT_EQ(*on, GpuSubject("node001", 1));
  const auto now = LabFaultsNow(world_, kTestSite);
  ASSERT_EQ(now->size(), 1u);
  EXPECT_EQ(now->front().kind, "xid_79");
  EXPECT_EQ(now->front().since, lab_.clock.Now());
}

TEST_F(LabCases, PlaceIsChosenBySeedWhereNoneIsNamed) {
  const auto first = Put("xid_79");
  ASSERT_TRUE(first.ok());
  LabSite other;
  World world = other.world();
  EXPECT_EQ(*LabInject(world, kTestSite, "xid_79", ""), *first);
}

TEST_F(LabCases, FaultThatIsThereAlreadyIsNamedWhereItIs) {
  ASSERT_TRUE(Put("xid_79", "node000/gpu0").ok());
  ASSERT_TRUE(Put("link_down").ok());
  const auto again = Put("xid_79", "node000/gpu0");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, GpuSubject("node000", 0));
  EXPECT_EQ(LabFaultsNow(world_, kTestSite)->size(), 2u);
}

TEST_F(LabCases, MistakesAreSaid) {
  const auto unknown = Put("link_dwn");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kInvalid);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean link_down"));
  EXPECT_EQ(Put("xid_79", "node009/gpu0").error().code, Code::kInvalid);
  EXPECT_EQ(LabHeal(world_, kTestSite, "no_fault", "").error().code, Code::kInvalid);
  lab_.files.Put("/h/site.yaml",
                 "apiVersion: muster/v1\nkind: Site\nname: h\ntype: host\ncluster: {nodes: [{name: "
                 "a}]}\n");
  EXPECT_THAT(LabInject(world_, "/h/site.yaml", "xid_79", "").error().message,
              HasSubstr("is no lab"));
}

TEST_F(LabCases, HealTakesOutAllOneKindOrOnePlace) {
  for (const char* gpu : {"node000/gpu0", "node000/gpu1"}) {
    ASSERT_TRUE(Put("xid_79", gpu).ok());
  }
  ASSERT_TRUE(Put("link_down").ok());
  EXPECT_EQ(*LabHeal(world_, kTestSite, "xid_79", "node000/gpu1"), 1u);
  EXPECT_EQ(*LabHeal(world_, kTestSite, "link_down", ""), 1u);
  EXPECT_EQ(*LabHeal(world_, kTestSite, "", ""), 1u);
  EXPECT_EQ(*LabHeal(world_, kTestSite, "", ""), 0u);
}

TEST_F(LabCases, EveryFaultOfTheListCanBePutIntoALabOrSaysWhyNot) {
  for (const LabFaultInfo& fault : LabFaults()) {
    LabSite lab;
    World world = lab.world();
    const auto on = LabInject(world, kTestSite, fault.name, "");
    if (!on.ok()) {
      EXPECT_EQ(on.error().code, Code::kInvalid) << fault.name;
    }
    EXPECT_FALSE(fault.what.empty() || fault.source.empty()) << fault.name;
    EXPECT_TRUE(fault.gate >= 0 && fault.gate <= 8) << fault.name;
  }
  EXPECT_GE(LabFaults().size(), 40u);
}

TEST_F(LabCases, CommandRunsOnTheHostAsAProbeWouldRunIt) {
  const auto result = LabExec(world_, kTestSite, "node001", {"nvidia-smi", "-L"}, "");
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_THAT(result->out, HasSubstr("GPU 1: "));
  EXPECT_FALSE(LabExec(world_, kTestSite, "node009", {"ibstat"}, "").ok());
  EXPECT_FALSE(LabExec(world_, kTestSite, "node001", {"rm", "-rf", "/"}, "").ok());
}

}  // namespace
}  // namespace muster
