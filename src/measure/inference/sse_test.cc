#include "measure/inference/sse.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster::inference {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Messages(const std::vector<std::string>& pieces) {
  SseParser parser;
  std::vector<std::string> messages;
  for (const std::string& piece : pieces)
    parser.Feed(piece, [&](std::string_view data) { messages.emplace_back(data); });
  return messages;
}

TEST(Sse, MessagesEndWithAnEmptyLine) {
  EXPECT_THAT(Messages({"data: a\n\ndata:b\n\n"}), ElementsAre("a", "b"));
}

TEST(Sse, LinesEndInAnyOfTheThreeWays) {
  EXPECT_THAT(Messages({"data: a\r\n\r\ndata: b\r\rdata: c\n\n"}), ElementsAre("a", "b", "c"));
}

TEST(Sse, ACarriageReturnAndItsLineFeedMayComeApart) {
  EXPECT_THAT(Messages({"data: a\r", "\n\r", "\n"}), ElementsAre("a"));
}

TEST(Sse, CommentsAndOtherFieldsAreNoData) {
  EXPECT_THAT(Messages({": ping\n\nevent: x\nid: 7\nretry: 10\n\ndata: a\n: more\ndata: b\n\n"}),
              ElementsAre("a\nb"));
}

TEST(Sse, AByteOrderMarkAtTheBeginningIsSkipped) {
  EXPECT_THAT(Messages({"\xEF\xBB\xBF"
                        "data: a\n\n"}),
              ElementsAre("a"));
}

TEST(Sse, AMessageWithoutItsEmptyLineIsNone) {
  SseParser parser;
  parser.Feed("data: a\n", [](std::string_view) { FAIL(); });
  EXPECT_TRUE(parser.Pending());
}

TEST(Sse, AMessageWithoutEndIsDamageAndBounded) {
  SseParser parser(100);
  parser.Feed("data: " + std::string(1000, 'x') + "\n\n", [](std::string_view) { FAIL(); });
  EXPECT_TRUE(parser.damaged());
}

TEST(Sse, CutsDoNotMatter) {
  EXPECT_TRUE(rc::check("the same messages however the bytes are cut", [] {
    const auto lines = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("data: a", "data: {\"x\":1}", "", ":c", "data:", "data"));
    std::string whole;
    for (const std::string& line : lines)
      whole += line + *rc::gen::element<std::string>("\n", "\r\n", "\r");
    std::vector<std::string> pieces;
    for (size_t at = 0; at < whole.size();) {
      const size_t n = *rc::gen::inRange<size_t>(1, 5);
      pieces.push_back(whole.substr(at, n));
      at += n;
    }
    RC_ASSERT(Messages(pieces) == Messages({whole}));
  }));
}

}  // namespace
}  // namespace muster::inference
