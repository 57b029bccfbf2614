#include "render/yaml_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster::render {
namespace {

using Json = nlohmann::ordered_json;

TEST(YamlText, PlainWordsHaveNoQuotesAndEverythingElseHas) {
  EXPECT_EQ(ToYamlText({{"a", "word"}, {"b", "yes"}, {"c", "1"}, {"d", ""}, {"e", 1}, {"f", true}}),
            "a: word\nb: \"yes\"\nc: \"1\"\nd: \"\"\ne: 1\nf: true\n");
}

TEST(YamlText, ListsOfWordsStandOnOneLineAndObjectsBesideTheirDash) {
  EXPECT_EQ(
      ToYamlText({{"list", {"a", "b"}}, {"of", Json::array({{{"x", 1}, {"w", {{"z", 2}}}}})}}),
      "list: [a, b]\nof:\n  - x: 1\n    w:\n      z: 2\n");
}

TEST(YamlText, AScriptIsABlock) {
  EXPECT_EQ(ToYamlText({{"run", "set -e\n\n  echo hi\n"}}), "run: |\n  set -e\n\n    echo hi\n");
}

TEST(YamlText, ATextThatABlockWouldChangeIsQuoted) {
  EXPECT_EQ(ToYamlText({{"run", "a\nb"}}), "run: \"a\\nb\"\n");
  EXPECT_EQ(ToYamlText({{"run", " a\nb\n"}}), "run: \" a\\nb\\n\"\n");
}

TEST(YamlText, EmptyThingsKeepTheirKind) {
  EXPECT_EQ(ToYamlText({{"a", Json::object()}, {"b", Json::array()}, {"c", nullptr}}),
            "a: {}\nb: []\nc: null\n");
}

}  // namespace
}  // namespace muster::render
