#include "app/glossary.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "app/explain.h"
#include "base/strings.h"
#include "world/testing/captures.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Glossary, EveryWayOfNamingATermIsRead) {
  const auto terms = ParseGlossary(
      "# Glossary\n\n## Fabric\n- **HCA** (host channel adapter): the adapter,\n  of a node.\n"
      "- **bus bandwidth (busbw)**: a rate.\n- **LID, GUID**: two.\n"
      "- **rank**: one process. **World size**: how many `ranks`.\n- no term at all\n- **open\n");
  ASSERT_THAT(terms, SizeIs(5));
  EXPECT_THAT(terms[0].names, ElementsAre("HCA", "host channel adapter"));
  EXPECT_EQ(terms[0].meaning, "the adapter, of a node.");
  EXPECT_EQ(terms[0].section, "Fabric");
  EXPECT_THAT(terms[1].names, ElementsAre("bus bandwidth", "busbw"));
  EXPECT_THAT(terms[2].names, ElementsAre("LID", "GUID"));
  EXPECT_EQ(terms[4].name, "World size");
  EXPECT_EQ(terms[4].meaning, "how many ranks.");
}

TEST(Glossary, EveryBoldTermOfTheDocumentIsExplained) {
  const std::string text =
      testing::ReadWhole(std::string(MUSTER_SOURCE_DIR) + "/docs/glossary.md").value();
  size_t entries = 0;
  for (const std::string_view line : Lines(text)) {
    if (!StartsWith(line, "- **")) continue;
    ++entries;
    const std::string_view bold = line.substr(4, line.find("**", 4) - 4);
    const std::string first(Trim(bold.substr(0, bold.find_first_of(",("))));
    EXPECT_TRUE(FindTerm(first).has_value()) << first;
  }
  EXPECT_GT(entries, 40u);
}

TEST(Glossary, WordsOfTheFieldAreExplained) {
  for (const char* word : {"busbw", "gang", "rail", "Xid", "ttft", "TPOT", "world size", "SHARP",
                           "plateau", "GDR", "act", "stale gate"}) {
    const auto found = Explain(word);
    ASSERT_TRUE(found.ok()) << word;
    EXPECT_EQ(found->kind, "term") << word;
    EXPECT_FALSE(found->title.empty()) << word;
  }
  EXPECT_FALSE(FindTerm("nonsense").has_value());
}

RC_GTEST_PROP(Glossary, AnyTextIsRead, (const std::string& text)) {
  for (const GlossaryTerm& term : ParseGlossary("- **" + text)) RC_ASSERT(!term.names.empty());
}

}  // namespace
}  // namespace muster
