#include "diagnose/lint/edit.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster {
namespace {

YamlNode Tree(const std::string& text) {
  auto tree = ParseYaml(text, "f");
  EXPECT_TRUE(tree.ok()) << (tree.ok() ? "" : tree.error().message);
  return tree.ok() ? std::move(*tree) : YamlNode{};
}
std::string Apply(const std::string& text, std::vector<TextEdit> edits) {
  return ApplyEdits("f", text, std::move(edits));
}

TEST(Edit, AScalarIsReplacedWhateverItsQuotes) {
  const std::string text = "a: 'it''s'\nb: \"x\\\"y\"\nc: plain # note\n";
  const YamlNode tree = Tree(text);
  EXPECT_EQ(Apply(text, ReplaceScalar("f", text, *tree.Find("a"), "1")),
            "a: 1\nb: \"x\\\"y\"\nc: plain # note\n");
  EXPECT_EQ(Apply(text, ReplaceScalar("f", text, *tree.Find("b"), "1")),
            "a: 'it''s'\nb: 1\nc: plain # note\n");
  EXPECT_EQ(Apply(text, ReplaceScalar("f", text, *tree.Find("c"), "1")),
            "a: 'it''s'\nb: \"x\\\"y\"\nc: 1 # note\n");
}

TEST(Edit, AnEntryGoesIntoBlockFlowAndListItems) {
  const std::string text = "a:\n  b: 1\nl:\n  - x: 1\nf: {k: v}\ne: {}\n";
  const YamlNode tree = Tree(text);
  EXPECT_EQ(Apply(text, InsertEntry("f", text, *tree.Find("a"), "n:\n  - 2")),
            "a:\n  n:\n    - 2\n  b: 1\nl:\n  - x: 1\nf: {k: v}\ne: {}\n");
  EXPECT_EQ(Apply(text, InsertEntry("f", text, tree.Find("l")->items[0], "n: 2")),
            "a:\n  b: 1\nl:\n  - n: 2\n    x: 1\nf: {k: v}\ne: {}\n");
  EXPECT_EQ(Apply(text, InsertEntry("f", text, *tree.Find("f"), "n: 2")),
            "a:\n  b: 1\nl:\n  - x: 1\nf: {n: 2, k: v}\ne: {}\n");
  EXPECT_EQ(Apply(text, InsertEntry("f", text, *tree.Find("e"), "n: 2")),
            "a:\n  b: 1\nl:\n  - x: 1\nf: {k: v}\ne: {n: 2}\n");
}

TEST(Edit, AnAliasIsRepairedAtItsAnchor) {
  const std::string text = "a: &x\n  k: 1\nb: *x\n";
  const YamlNode tree = Tree(text);
  EXPECT_EQ(Apply(text, InsertEntry("f", text, *tree.Find("b"), "n: 2")),
            "a: &x\n  n: 2\n  k: 1\nb: *x\n");
}

TEST(Edit, LinesOfAnItemAreRemovedWhole) {
  const std::string text = "env:\n  - name: A\n    value: 1\n\n  - {name: B}\nz: 1\n";
  const YamlNode tree = Tree(text);
  EXPECT_EQ(Apply(text, RemoveLines("f", text, tree.Find("env")->items[0].at)),
            "env:\n\n  - {name: B}\nz: 1\n");
  EXPECT_EQ(Apply(text, RemoveLines("f", text, tree.Find("env")->items[1].at)),
            "env:\n  - name: A\n    value: 1\n\nz: 1\n");
}

TEST(Edit, TheSameRepairTwiceIsMadeOnce) {
  const std::string text = "a: 1\n";
  const TextEdit one{"f", 0, 0, "x: 2\n"}, two{"f", 0, 0, "y: 3\n"};
  EXPECT_EQ(Apply(text, {one, two, one, two}), "x: 2\ny: 3\na: 1\n");
}

// Any two texts: the patch, applied by patch(1), turns one into the other.
TEST(EditLaws, ADiffAppliesToWhatItWasMadeOf) {
  if (std::system("command -v patch >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no patch on this machine";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("muster_edit_{}", getpid());
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(rc::check("patch(before, diff(before, after)) is after", [&] {
    const auto lines = rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4));
    const auto text = [](const std::vector<int>& numbers) {
      std::string all = "head\n";
      for (const int n : numbers) all += fmt::format("line {}\n", n);
      return all + "tail\n";
    };
    const std::string before = text(*lines), after = text(*lines);
    std::ofstream(folder / "f") << before;
    std::ofstream(folder / "p") << UnifiedDiff("f", before, after);
    RC_ASSERT(before == after ||
              std::system(fmt::format("cd {} && patch -s -p0 < p", folder.string()).c_str()) == 0);
    std::ifstream in(folder / "f");
    RC_ASSERT(std::string(std::istreambuf_iterator<char>(in), {}) == after);
  }));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster
