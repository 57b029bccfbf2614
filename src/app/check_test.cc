#include "app/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster {
namespace {

using testing::FailuresOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabSite;

Result<std::vector<GateResult>> CheckLab(LabSite& lab, const CheckOptions& options = {}) {
  TRY(SiteContext context, lab.Open());
  SilentProgress progress;
  return CheckSite(context, options, progress);
}

TEST(Check, HealthyLabPassesWhatCanBeReadAndSaysWhatNeedsAProof) {
  LabSite lab;
  const auto before = lab.files.Paths();
  const auto results = CheckLab(lab);
  ASSERT_TRUE(results.ok()) << results.error().ToString();
  ASSERT_EQ(results->size(), 5u);
  for (const GateResult& result : *results) {
    EXPECT_EQ(result.level, Level::kPass) << result.gate << "\n" << FailuresOf(result);
  }
  bool said = false;
  for (const NotApplicable& n : (*results)[3].not_applicable)
    said = said || n.reason.find("muster bringup run") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_EQ(lab.files.Paths(), before) << "a look writes nothing";
  EXPECT_THAT(lab.processes.asked(), IsEmpty()) << "a look starts nothing";
}

TEST(Check, GateOfProofsAloneIsUnknownAndNeverPassed) {
  LabSite lab;
  CheckOptions options;
  options.gates = {6, 7, 8};
  const auto results = CheckLab(lab, options);
  ASSERT_TRUE(results.ok());
  for (const GateResult& result : *results) {
    EXPECT_EQ(result.level, Level::kUnknown) << result.gate;
  }
}

TEST(Check, OnlyTheAskedCriteriaAreJudged) {
  LabSite lab;
  const std::string code = [&] {
    const auto all = CheckLab(lab);
    return (*all)[2].verdicts.front().code;
  }();
  for (const bool keep : {true, false}) {
    CheckOptions options;
    options.only = {code};
    options.keep_passes = keep;
    const auto results = CheckLab(lab, options);
    ASSERT_TRUE(results.ok());
    ASSERT_EQ(results->size(), 1u);
    const GateResult& result = results->front();
    EXPECT_EQ(result.gate, 3);
    EXPECT_EQ(result.level, Level::kPass) << "keeping passes or not is no verdict";
    for (const Verdict& v : result.verdicts) {
      EXPECT_EQ(v.code, code);
    }
    if (!keep) {
      EXPECT_GT(result.more_passes, 0u);
    }
    if (!keep) {
      EXPECT_LE(result.more_passes, 4u) << "only this criterion's passes count";
    }
  }
}

TEST(Check, PassesThatAreLetGoAreCounted) {
  LabSite lab;
  lab.Inject("xid_79");
  CheckOptions options;
  const auto all = CheckLab(lab, options);
  options.keep_passes = false;
  const auto few = CheckLab(lab, options);
  ASSERT_TRUE(all.ok() && few.ok());
  for (size_t i = 0; i < all->size(); ++i) {
    EXPECT_EQ((*all)[i].level, (*few)[i].level);
    EXPECT_EQ((*all)[i].verdicts.size(), (*few)[i].verdicts.size() + (*few)[i].more_passes);
  }
}

TEST(Check, UnknownCodeOrNodeIsRefused) {
  LabSite lab;
  CheckOptions code, node;
  code.only = {"FAB-999"};
  node.nodes = {"node099"};
  const auto refused = CheckLab(lab, code);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("FAB-999"));
  EXPECT_EQ(CheckLab(lab, node).error().code, Code::kInvalid);
}

TEST(Check, OtherNodesAreLeftOut) {
  LabSite lab;
  lab.Inject("gpu_missing", "node001/gpu1");
  ASSERT_EQ(lab.problem, "");
  CheckOptions options;
  options.gates = {3};
  options.nodes = {"node000"};
  EXPECT_EQ(CheckLab(lab, options)->front().level, Level::kPass);
  options.nodes = {"node001"};
  EXPECT_EQ(CheckLab(lab, options)->front().level, Level::kFail);
}

}  // namespace
}  // namespace muster
