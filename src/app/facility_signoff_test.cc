#include "app/facility_signoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"
#include "probes/facility/signoff.h"

namespace muster {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using testing::LabSite;

TEST(FacilitySignoff, SignedFiguresOpenGate1UntilTheyExpire) {
  LabSite lab;
  lab.files.Put("/site/lab/facility/signoff.json", "{}");
  ASSERT_NE(lab.RunGates(1, 1)->level, Level::kPass);
  auto context = lab.Open();
  const auto path =
      SignFacility(*context, "A. Person", "as measured", lab.clock.Now() + hours(24 * 90));
  ASSERT_TRUE(path.ok()) << path.error().ToString();
  EXPECT_TRUE(facility::VerifySignoff(lab.files.Read(*path).value()));
  lab.clock.Advance(std::chrono::minutes(1));
  const auto run = lab.RunGates(1, 1);
  EXPECT_EQ(run->level, Level::kPass) << testing::FailuresOf(*run->Find(1)->result);
  lab.clock.Advance(hours(24 * 91));
  EXPECT_EQ(lab.RunGates(1, 1)->Find(1)->result->level, Level::kFail);
}

TEST(FacilitySignoff, EditedFigureIsNotBelieved) {
  LabSite lab;
  auto context = lab.Open();
  const auto path = SignFacility(*context, "A", "b", lab.clock.Now() + hours(24));
  std::string text = lab.files.Read(*path).value();
  const size_t at = text.find("power");
  ASSERT_NE(at, std::string::npos);
  text[at] = 'P';
  lab.files.Put(*path, text);
  EXPECT_EQ(lab.RunGates(1, 1)->Find(1)->result->level, Level::kFail);
}

TEST(FacilitySignoff, NothingToSignNobodyOrNoTimeIsRefused) {
  LabSite lab;
  auto context = lab.Open();
  for (const auto& [by, span] : {std::pair{"", hours(24)}, {"A", hours(0)}, {"A", hours(-1)}}) {
    const auto path = SignFacility(*context, by, "b", lab.clock.Now() + span);
    ASSERT_FALSE(path.ok()) << by;
    EXPECT_EQ(path.error().code, Code::kInvalid);
  }
  context->file->site.budgets.clear();
  context->file->site.pdus.clear();
  const auto path = SignFacility(*context, "A", "b", lab.clock.Now() + hours(1));
  ASSERT_FALSE(path.ok());
  EXPECT_THAT(path.error().message, HasSubstr("no facility section"));
}

}  // namespace
}  // namespace muster
