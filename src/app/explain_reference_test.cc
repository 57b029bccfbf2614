#include "app/explain_reference.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string FieldOf(const Explanation& e, const std::string& name) {
  for (const auto& [field, text] : e.fields)
    if (field == name) return text;
  return "";
}

TEST(ExplainReference, EveryEntryIsFoundByItsNameAndHasASource) {
  const auto names = ReferenceNames();
  EXPECT_GT(names.size(), 250u);
  for (const std::string& name : names) {
    const auto e = ExplainReference(name);
    ASSERT_TRUE(e) << name;
    EXPECT_EQ(e->code, name);
    EXPECT_NE(e->title, "") << name;
    EXPECT_GT(FieldOf(*e, "source").size(), 10u) << name;
  }
}

TEST(ExplainReference, NamesAndNumbersAreGivenOnce) {
  std::set<std::string> seen;
  for (const std::string& name : ReferenceNames()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    const auto e = ExplainReference(name);
    const std::string number = FieldOf(*e, "number");
    if (number.empty()) continue;
    EXPECT_TRUE(seen.insert(e->kind + number).second) << name;
  }
}

TEST(ExplainReference, FilesAreValidYamlWithOneEntryPerName) {
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    if (!file.name.starts_with("reference/")) continue;
    const auto root = ParseYaml(file.text, std::string(file.name));
    ASSERT_TRUE(root.ok()) << root.error().ToString();
    const YamlNode* entries = root->Find("entries");
    ASSERT_NE(entries, nullptr) << file.name;
    for (const YamlNode& entry : entries->items) {
      ASSERT_NE(entry.Find("id"), nullptr) << file.name;
      EXPECT_TRUE(ExplainReference(entry.Find("id")->text)) << entry.Find("id")->text;
    }
  }
}

TEST(ExplainReference, OtherNamesAndNumbersAnswerToo) {
  for (const char* asked : {"DCGM_FI_DEV_GPU_UTIL", "gpu_util", "DCGM_FI_DEV_GPU_UTIL_RATIO",
                            "DCGM-FIELD-203", "dcgm-field-203"}) {
    const auto e = ExplainReference(asked);
    ASSERT_TRUE(e) << asked;
    EXPECT_EQ(e->code, "DCGM_FI_DEV_GPU_UTIL") << asked;
    EXPECT_THAT(FieldOf(*e, "trap"), HasSubstr("hung collective"));
  }
  EXPECT_EQ(ExplainReference("DCGM-ERROR-80")->code, "DCGM_FR_ROW_REMAP_FAILURE");
  EXPECT_EQ(ExplainReference("symbol_error")->code, "SymbolErrorCounter");
  EXPECT_EQ(ExplainReference("CLOCKS_EVENT_THERMAL")->code, "DCGM_FR_CLOCK_THROTTLE_THERMAL");
}

TEST(ExplainReference, WhatIsNotThereIsNotInvented) {
  for (const char* asked : {"", " ", "DCGM-FIELD-", "DCGM-FIELD-99999", "DCGM-ERROR-20x",
                            "NCCL_NO_SUCH_THING", "id", "- {id: "}) {
    EXPECT_FALSE(ExplainReference(asked)) << asked;
  }
}

TEST(ExplainReference, SkippedDiagnosticsAreNeverCalledAPass) {
  for (const char* name : {"DCGM_FR_TEST_DISABLED", "DCGM_FR_TEST_SKIPPED"}) {
    EXPECT_THAT(FieldOf(*ExplainReference(name), "action"), HasSubstr("never a pass")) << name;
  }
}

}  // namespace
}  // namespace muster
