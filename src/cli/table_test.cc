#include "cli/table.h"

#include <sstream>

#include <gtest/gtest.h>

#include "app/testing/lab_site.h"

namespace muster::cli {
namespace {

class TableTest : public ::testing::Test {
 protected:
  muster::testing::TestMachine machine_;
  std::ostringstream out_, err_;
  Context context_{.world = machine_.world(), .out = out_, .err = err_};
};

TEST_F(TableTest, ColumnsArePaddedToTheWidestCellAndLinesEndWithoutBlanks) {
  Table table({"GATE", "", "VERDICT"});
  table.Row({"1", "facility", "PASS"});
  table.Row({"2", "x", ""});
  EXPECT_EQ(table.ToString(),
            "GATE            VERDICT\n"
            "1     facility  PASS\n"
            "2     x\n");
}

TEST_F(TableTest, IndentStandsBeforeEachLine) {
  Table table({});
  table.Row({"a", "b"});
  EXPECT_EQ(table.ToString(2), "  a  b\n");
}

TEST_F(TableTest, ColourTakesNoWidth) {
  context_.color = true;
  Table table({"VERDICT", "X"});
  table.Row({LevelWord(context_, Level::kFail), "1"});
  table.Row({LevelWord(context_, Level::kUnknown), "2"});
  const std::string text = table.ToString();
  EXPECT_EQ(text, "VERDICT  X\n\x1b[1;31mFAIL\x1b[0m     1\n\x1b[35mUNKNOWN\x1b[0m  2\n");
}

TEST_F(TableTest, WithoutColourThereIsNoEscape) {
  for (const Level level :
       {Level::kPass, Level::kWarn, Level::kFail, Level::kUnknown, Level::kNotApplicable}) {
    EXPECT_EQ(LevelWord(context_, level).find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(Bold(context_, "a"), "a");
  EXPECT_EQ(Dim(context_, "a"), "a");
}

TEST_F(TableTest, LettersOfSeveralBytesAreOneColumn) {
  EXPECT_EQ(DisplayWidth("h\xC3\xA4ll"), 4u);
  EXPECT_EQ(DisplayWidth("\x1b[1mab\x1b[0m"), 2u);
  EXPECT_EQ(DisplayWidth("\x1b[1"), 0u) << "an escape that never ends";
}

TEST_F(TableTest, RowsOfUnequalLengthAreFine) {
  Table table({"A"});
  table.Row({"1", "2", "3"});
  table.Row({});
  EXPECT_EQ(table.ToString(), "A\n1  2  3\n\n");
}

}  // namespace
}  // namespace muster::cli
