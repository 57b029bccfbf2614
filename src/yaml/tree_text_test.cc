#include "yaml/tree_text.h"

#include <random>

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kText =
    "# a comment\n"
    "name: \"12\"\n"
    "count: 12\n"
    "none: ~\n"
    "list: [a, 'b: c', {deep: [1, 2]}]\n"
    "text: |\n"
    "  two\n"
    "  lines: with a colon\n"
    "empty: []\n";

void ExpectSame(const YamlNode& a, const YamlNode& b) {
  ASSERT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.quoted, b.quoted);
  ASSERT_EQ(a.items.size(), b.items.size());
  for (size_t i = 0; i < a.items.size(); ++i) ExpectSame(a.items[i], b.items[i]);
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].key, b.entries[i].key);
    EXPECT_EQ(a.entries[i].at, b.entries[i].at);
    ExpectSame(a.entries[i].value, b.entries[i].value);
  }
}

TEST(TreeText, KeepsValuesQuotesAndPlaces) {
  const auto tree = ParseYaml(kText, "x.yaml");
  ASSERT_TRUE(tree.ok());
  const auto back = ReadTree(WriteTree(*tree));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ExpectSame(*tree, *back);
}

TEST(TreeText, AnEmptyFileIsANullNode) {
  const auto back = ReadTree(WriteTree(YamlNode()));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->IsNull());
}

// Whatever the damage: an error or a tree, and never more memory than the text suggests.
TEST(TreeText, DamageIsRefusedOrHarmless) {
  const std::string whole = WriteTree(*ParseYaml(kText, "x.yaml"));
  for (size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(ReadTree(std::string_view(whole).substr(0, cut)).ok()) << cut;
  std::mt19937 random(20261123);
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = "0123456789smtqn: "[random() % 17];
    const auto back = ReadTree(text);
    if (!back.ok()) {
      EXPECT_EQ(back.error().code, Code::kCorrupt);
    }
  }
}

}  // namespace
}  // namespace muster
