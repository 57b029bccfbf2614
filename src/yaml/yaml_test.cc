#include "yaml/yaml.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

YamlNode Good(std::string_view text) {
  auto parsed = ParseYaml(text, "t.yaml");
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? std::move(*parsed) : YamlNode{};
}
std::string Trouble(std::string_view text) {
  const auto parsed = ParseYaml(text, "t.yaml");
  if (parsed.ok()) return "";
  EXPECT_EQ(parsed.error().code, Code::kInvalid);
  return parsed.error().message;
}

TEST(Yaml, ATreeKnowsLineAndColumn) {
  const YamlNode root = Good("a: 1\nb:\n  - x\n  - {c: y}\n");
  ASSERT_EQ(root.kind, YamlNode::Kind::kMapping);
  EXPECT_EQ(root.Find("a")->text, "1");
  EXPECT_EQ(root.Find("a")->at, (YamlMark{1, 4}));
  const YamlNode& list = *root.Find("b");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[1].Find("c")->at, (YamlMark{4, 9}));
  EXPECT_EQ(root.entries[1].at, (YamlMark{2, 1}));
}

TEST(Yaml, QuotesMakeATextAndTildeMakesNothing) {
  const YamlNode root = Good("a: '12'\nb: 12\nc: ~\nd: 'null'\ne:\nf: null\n");
  EXPECT_TRUE(root.Find("a")->quoted);
  EXPECT_FALSE(root.Find("b")->quoted);
  EXPECT_TRUE(root.Find("c")->IsNull());
  EXPECT_FALSE(root.Find("d")->IsNull());
  EXPECT_TRUE(root.Find("e")->IsNull());
  EXPECT_TRUE(root.Find("f")->IsNull());
}

TEST(Yaml, AnEmptyTextIsANull) {
  EXPECT_TRUE(Good("").IsNull());
  EXPECT_TRUE(Good("# only a comment\n").IsNull());
}

TEST(Yaml, ADuplicateKeyIsRefusedWithBothPlaces) {
  EXPECT_EQ(Trouble("nodes: 1\nracks: 2\nnodes: 3\n"),
            "t.yaml:3:1: key nodes stands twice in one mapping, first on line 1");
  EXPECT_EQ(Trouble("a: {x: 1, x: 2}\n"),
            "t.yaml:1:11: key x stands twice in one mapping, first on line 1");
  EXPECT_EQ(Trouble("a: &m {x: 1}\nb: {<<: *m, <<: *m}\n"),
            "t.yaml:2:13: key << stands twice in one mapping");
}

TEST(Yaml, MergeKeysAreAppliedAndOwnKeysWin) {
  const YamlNode root = Good(
      "base: &b {x: 1, y: 2}\nmore: &m {y: 9, z: 3}\none: {<<: *b, y: 7}\nboth: {<<: [*b, "
      "*m]}\nlate: {y: 7, <<: *b}\n");
  EXPECT_EQ(root.Find("one")->Find("x")->text, "1");
  EXPECT_EQ(root.Find("one")->Find("y")->text, "7");
  EXPECT_EQ(root.Find("both")->Find("y")->text, "2");
  EXPECT_EQ(root.Find("both")->Find("z")->text, "3");
  EXPECT_EQ(root.Find("late")->Find("y")->text, "7");
  EXPECT_EQ(root.Find("one")->Find("<<"), nullptr);
  EXPECT_THAT(Trouble("a: {<<: 3}\n"), HasSubstr("<< wants a mapping"));
}

TEST(Yaml, AQuotedMergeKeyIsAnOrdinaryKey) {
  EXPECT_EQ(Good("a: {'<<': 3}\n").Find("a")->Find("<<")->text, "3");
}

TEST(Yaml, NestingHasALimit) {
  std::string fine, deep;
  for (int i = 0; i < kYamlMaxDepth; ++i) fine += '[';
  for (int i = 0; i < kYamlMaxDepth; ++i) fine += ']';
  deep = "[" + fine + "]";
  EXPECT_EQ(Trouble(fine), "");
  EXPECT_THAT(Trouble(deep), HasSubstr("nested deeper than 64 levels"));
  EXPECT_NE(Trouble(std::string(100'000, '[')), "");
  EXPECT_NE(Trouble(std::string(100'000, '-') + " x"), "never ends");
}

TEST(Yaml, AnAliasThatMultipliesIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format(
        "a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
        i - 1);
  }
  EXPECT_THAT(Trouble(bomb), HasSubstr("aliases filled in"));
  EXPECT_THAT(Trouble("a: &a [*a]\n"), HasSubstr("inside its anchor"));
  EXPECT_NE(Trouble("a: *nobody\n"), "");
}

TEST(Yaml, AliasesCountForTheDepth) {
  std::string text = "a: &a ";
  for (int i = 0; i < 40; ++i) text += '[';
  for (int i = 0; i < 40; ++i) text += ']';
  text += "\nb: ";
  for (int i = 0; i < 40; ++i) text += '[';
  text += "*a";
  for (int i = 0; i < 40; ++i) text += ']';
  EXPECT_THAT(Trouble(text), HasSubstr("nested deeper"));
}

TEST(Yaml, TagsKeysThatAreNoTextAndSecondDocumentsAreRefused) {
  EXPECT_THAT(Trouble("a: !!binary aGk=\n"), HasSubstr("is not supported"));
  EXPECT_THAT(Trouble("a: !mine 3\n"), HasSubstr("is not supported"));
  EXPECT_THAT(Trouble("? [a, b]\n: c\n"), HasSubstr("a key must be a plain text"));
  EXPECT_THAT(Trouble("~: c\n"), HasSubstr("a key must be a plain text"));
  EXPECT_THAT(Trouble("a: 1\n---\nb: 2\n"), HasSubstr("second document"));
  EXPECT_EQ(Trouble("---\na: 1\n...\n"), "");
}

TEST(Yaml, BytesThatAreNoTextAreRefusedWithTheirPlace) {
  EXPECT_EQ(Trouble(std::string_view("a: 1\nb: \0c\n", 11)),
            "t.yaml:2:4: byte 0x00 does not belong in a text file");
  EXPECT_THAT(Trouble("a: 1\nb: x\x04\nc: 2\n"), HasSubstr("t.yaml:2:5"));
  EXPECT_THAT(Trouble("\xff\xfe"
                      "a"),
              HasSubstr("byte 0xff"));
}

TEST(Yaml, AMistakeOfTheFormSaysWhere) {
  EXPECT_THAT(Trouble("a: [1, 2\nb: 3\n"), HasSubstr("t.yaml:"));
  EXPECT_THAT(Trouble("a: 1\n b: 2\n"), HasSubstr("t.yaml:2:"));
  EXPECT_THAT(Trouble("a:\n\t- b\n"), HasSubstr("t.yaml:2:"));
}

TEST(Yaml, AQuoteThatIsNeverClosedIsRefused) {
  for (const char* open :
       {"a: 'x", "a: 'x\n", "a: \"x\nb: 2\n", "- &n 'a''\n- b\n", "'\n", "a: \"x\\\"\n"})
    EXPECT_THAT(Trouble(open), HasSubstr("t.yaml:")) << open;
  for (const char* closed : {"a: 'x'\n", "a: 'it''s'\n", "a: \"x\\\"y\"\n",
                             "a: it's\nb: 'x'\nc: it's\n", "a: &n 'x'\nb: \"y\"  # it's\n"})
    EXPECT_EQ(Trouble(closed), "") << closed;
}

TEST(Yaml, AByteOrderMarkIsPassedOver) {
  EXPECT_EQ(Good("\xEF\xBB\xBF"
                 "a: 'x'\n")
                .Find("a")
                ->text,
            "x");
}

TEST(Yaml, TooManyBytesAreRefused) {
  EXPECT_THAT(Trouble(std::string(kYamlMaxBytes + 1, '#')), HasSubstr("at most"));
}

// Damage: a catalogue file cut at any line, or with any line doubled, is read or refused, never a
// crash; and what is read is a prefix's worth, never more keys than the whole had.
TEST(Yaml, ADamagedFileIsReadOrRefused) {
  std::ifstream file(MUSTER_SOURCE_DIR "/catalogue/criteria/fabric.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t refused = 0, read = 0, line = 0;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    if (++line % 5 != 0) continue;
    (ParseYaml(std::string_view(text).substr(0, at), "t") ? read : refused) += 1;
    const std::string doubled = text.substr(0, at + 1) + text.substr(text.rfind('\n', at - 1) + 1);
    (ParseYaml(doubled, "t") ? read : refused) += 1;
  }
  EXPECT_GT(read, 0u);
  EXPECT_GT(refused, 0u);
}

TEST(Yaml, DocumentsOfOneTextKeepTheirPlacesAndEmptyOnesAreLeftOut) {
  const auto all = ParseYamlDocuments("---\na: &x {v: 1}\n---\n# nothing\n---\nb: 2\n", "t.yaml");
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].entries[0].at, (YamlMark{2, 1}));
  EXPECT_EQ((*all)[1].entries[0].at, (YamlMark{6, 1}));
}

TEST(Yaml, AnAnchorEndsWithItsDocument) {
  EXPECT_FALSE(ParseYamlDocuments("a: &x 1\n---\nb: *x\n", "t.yaml").ok());
}

TEST(Yaml, TheSecondDocumentIsHeldToTheSameRules) {
  const auto twice = ParseYamlDocuments("a: 1\n---\nb: 1\nb: 2\n", "t.yaml");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message,
            "t.yaml:4:1: key b stands twice in one mapping, first on line 3");
}

TEST(Yaml, ACommaOutsideOfAnyListIsRefusedAndNotReadForEver) {
  for (const char* text : {",", "a: b\n---\n,", "---\n, ]\n"}) {
    const auto documents = ParseYamlDocuments(text, "f.yaml");
    ASSERT_FALSE(documents.ok()) << text;
    EXPECT_EQ(documents.error().message.rfind("f.yaml:", 0), 0u) << documents.error().message;
  }
}

TEST(Yaml, JsonIsReadAsItIs) {
  const YamlNode root = Good("{\n\t\"a\": [1, true, null, \"x\\u00e9\\/\"]\n}\n");
  ASSERT_EQ(root.Find("a")->items.size(), 4u);
  EXPECT_EQ(root.Find("a")->items[3].text, "x\xC3\xA9/");
}

TEST(YamlLaws, AnyBytesAreReadOrRefused) {
  EXPECT_TRUE(rc::check("never crashes, always says where", [] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::element<char>('a', ':', ' ', '\n', '-', '{', '}', '[', ']', '&', '*', '<', '"',
                               '\'', '#', '|', '>', '!', '?', '%', ',', '0', '\t', '\\', '~'));
    const auto parsed = ParseYaml(text, "t.yaml");
    if (!parsed.ok()) RC_ASSERT(parsed.error().message.starts_with("t.yaml"));
  }));
}

// Names and texts that were printed as YAML come back.
TEST(YamlLaws, AFlatMappingReadsBack) {
  EXPECT_TRUE(rc::check("print then parse is the identity", [] {
    const auto keys = *rc::gen::container<std::set<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
    std::string text;
    for (const auto& key : keys) text += fmt::format("'{}': \"{}\"\n", key, key);
    const YamlNode root = Good(text);
    RC_ASSERT(root.entries.size() == keys.size());
    for (const auto& key : keys) RC_ASSERT(root.Find(key)->text == key);
  }));
}

}  // namespace
}  // namespace muster
