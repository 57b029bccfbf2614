#include "app/bom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/init.h"
#include "backend/lab/state/lab_state.h"
#include "world/posix/posix_world.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

Bom BomOf(std::vector<BomItem> items) {
  Bom bom{"site", "urn:uuid:1", *ParseTime("2026-10-01T00:00:00Z"), Origin::kLive,
          std::move(items)};
  return bom;
}

TEST(Bom, VersionsCompareByNumbersNotByText) {
  EXPECT_EQ(CompareVersions("570.211.01", "570.86.15"), 1);
  EXPECT_EQ(CompareVersions("1.9.0", "1.10.0"), -1);
  EXPECT_EQ(CompareVersions("4.4", "4.4.0"), 0);
  EXPECT_EQ(CompareVersions("1:2.26.5-1+cuda12.8", "2.26.5"), 0);
  EXPECT_EQ(CompareVersions("v1.18.0", "1.18.0"), 0);
  EXPECT_FALSE(CompareVersions("latest", "1.0"));
  EXPECT_FALSE(CompareVersions("", "1.0"));
}

TEST(Bom, DiffNamesWhatChangedWhatCameAndWhatWent) {
  const Bom was =
      BomOf({{"n1", "driver", "570.1", ""}, {"n1", "kernel", "6.8", ""}, {"n2", "os", "a", ""}});
  const Bom is =
      BomOf({{"n1", "driver", "570.2", ""}, {"n1", "kernel", "6.8", ""}, {"n3", "os", "a", ""}});
  const auto changes = DiffBom(was, is);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].name, "driver");
  EXPECT_EQ(changes[0].was + ">" + changes[0].is, "570.1>570.2");
  EXPECT_EQ(changes[1].is, "");
  EXPECT_EQ(changes[2].was, "");
}

TEST(Bom, WhatIsNotKnownIsNeverCalledUnchanged) {
  const Bom was = BomOf({{"n1", "driver", "", "no route"}});
  const auto changes = DiffBom(was, was);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].unknown);
}

TEST(Bom, OddNodeIsNamedAgainstTheMajorityOfItsGroup) {
  const Bom bom = BomOf({{"a1", "driver", "1", ""},
                         {"a2", "driver", "1", ""},
                         {"a3", "driver", "2", ""},
                         {"b1", "driver", "9", ""},
                         {"b2", "driver", "9", ""}});
  const std::map<std::string, std::string> group = {
      {"a1", "A"}, {"a2", "A"}, {"a3", "A"}, {"b1", "B"}, {"b2", "B"}};
  const auto drifts = DriftWithin(bom, group);
  ASSERT_EQ(drifts.size(), 1u);
  EXPECT_EQ(drifts[0].usual, "1");
  EXPECT_EQ(drifts[0].odd, (std::vector<std::pair<std::string, std::string>>{{"a3", "2"}}));
  EXPECT_EQ(DriftWithin(bom, {}).size(), 1u) << "one group: most run 1";
}

TEST(Bom, PartThatOneNodeLacksIsADrift) {
  const Bom bom = BomOf({{"n1", "driver", "1", ""},
                         {"n1", "ofed", "5", ""},
                         {"n2", "driver", "1", ""},
                         {"n3", "driver", "1", ""},
                         {"n3", "ofed", "5", ""}});
  const auto drifts = DriftWithin(bom, {});
  ASSERT_EQ(drifts.size(), 1u);
  EXPECT_EQ(drifts[0].name, "ofed");
  EXPECT_EQ(drifts[0].odd.front(), (std::pair<std::string, std::string>{"n2", ""}));
}

MinimumTable Table() {
  return ParseMinimumTable(
             "as_of: 2026-09-25\nstale_after_days: 45\nentries:\n"
             "- {id: d1, part: driver, branch: \"570\", minimum: 570.211.01, source: s}\n"
             "- {id: d2, part: driver, branch: \"580\", minimum: 580.159.03, source: s}\n"
             "- {id: t, part: container-toolkit, minimum: 1.19.1, source: s}\n",
             "table.yaml")
      .value();
}

TEST(Bom, MinimumIsHeldByBranchAndAnUnknownBranchIsNotAPass) {
  const TimePoint now = *ParseTime("2026-10-01T00:00:00Z");
  const auto found = HoldToMinimums(BomOf({{"n1", "driver", "570.211.01", ""},
                                           {"n2", "driver", "570.172.08", ""},
                                           {"n3", "driver", "999.1", ""},
                                           {"n4", "driver", "", "cut"},
                                           {"n5", "container-toolkit", "1.19.1-1", ""},
                                           {"n6", "software", "", "no route"},
                                           {"n7", "something", "0.1", ""}}),
                                    Table(), now);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].level, Level::kFail);
  EXPECT_EQ(found[0].node, "n2");
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(found[i].level, Level::kUnknown) << found[i].node;
}

TEST(Bom, OldTableSaysHowOldItIs) {
  const auto found = HoldToMinimums(BomOf({}), Table(), *ParseTime("2026-12-25T00:00:00Z"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::kWarn);
  EXPECT_THAT(found[0].text, HasSubstr("91 days old"));
}

TEST(Bom, TableMistakesSayWhere) {
  EXPECT_THAT(ParseMinimumTable("entries: []\n", "t.yaml").error().message, HasSubstr("as_of"));
  EXPECT_THAT(ParseMinimumTable("as_of: soon\nentries: []\n", "t.yaml").error().message,
              HasSubstr("no date"));
  EXPECT_THAT(ParseMinimumTable("as_of: 2026-09-25\nentries:\n- {id: a, part: b, minimum: newest, "
                                "source: s}\n",
                                "t.yaml")
                  .error()
                  .message,
              HasSubstr("t.yaml:3:"));
  EXPECT_TRUE(EmbeddedMinimumTable().ok());
}

TEST(Bom, CycloneDxBringsTheRecordBack) {
  const Bom bom = BomOf({{"", "pin:image", "sha256:1", ""},
                         {"n1", "driver", "570.1", ""},
                         {"n2", "software", "", "no route to host"}});
  const auto back = FromCycloneDx(ToCycloneDx(bom), "bom.json");
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(back->items, bom.items);
  EXPECT_EQ(back->site, "site");
  EXPECT_EQ(back->at, bom.at);
  EXPECT_EQ(back->origin, Origin::kLive);
}

TEST(Bom, DocumentOfAnotherKindIsRefusedByName) {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "no JSON object"},
           {"[1]", "no JSON object"},
           {"{\"bomFormat\":\"SPDX\"}", "CycloneDX"},
           {"{\"bomFormat\":\"CycloneDX\"}", "components"},
           {"{\"bomFormat\":\"CycloneDX\",\"components\":[{}]}", "components[0]"},
           {"{\"bomFormat\":\"CycloneDX\",\"components\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
            "twice"}}) {
    const auto bom = FromCycloneDx(text, "x.json");
    ASSERT_FALSE(bom.ok()) << text;
    EXPECT_THAT(bom.error().message, HasSubstr(what)) << text;
  }
}

RC_GTEST_PROP(Bom, AnyTextIsReadOrRefusedNeverCrashes, (const std::string& text)) {
  (void)FromCycloneDx(text, "x");
  (void)ParseMinimumTable(text, "x");
}

}  // namespace
}  // namespace muster
