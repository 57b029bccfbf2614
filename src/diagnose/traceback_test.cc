#include "diagnose/traceback.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace muster::diagnose {
namespace {

FactStore FactsOf(const std::string& text) {
  Tracebacks tracebacks;
  FactStore facts;
  size_t number = 0;
  for (const std::string_view line : Lines(text)) {
    const Place at{"log", ++number};
    if (tracebacks.open()) (void)tracebacks.Line(line, at, facts);
    if (Contains(line, "Exception ignored in")) tracebacks.Caught();
    tracebacks.Frame(line, at);
  }
  tracebacks.End(facts);
  return facts;
}

TEST(TracebacksOfALog, NameTheExceptionAndTheInnermostFrame) {
  const FactStore facts = FactsOf(
      "Traceback (most recent call last):\n"
      "  File \"/opt/a/train.py\", line 3, in <module>\n"
      "    main()\n"
      "  File \"/x/site-packages/torch/serialization.py\", line 640, in load\n"
      "    raise\n"
      "OSError: the end came early\n");
  const Fact* raised = facts.First("python.raised");
  ASSERT_NE(raised, nullptr);
  EXPECT_EQ(raised->Get("type"), "OSError");
  EXPECT_EQ(raised->Get("what"), "the end came early");
  EXPECT_EQ(raised->Get("where"), "torch/serialization.py:load");
  EXPECT_EQ(raised->at.line, 6u);
}

TEST(TracebacksOfALog, AreKeptApartByTheirPrefix) {
  const FactStore facts = FactsOf(
      "(A pid=7) ERROR 03-09 10:00:01 [core.py:7]   File \"/s/a.py\", line 1, in f\n"
      "(B pid=8) ERROR 03-09 10:00:02 [core.py:9]   File \"/s/b.py\", line 2, in g\n"
      "(A pid=7) ERROR 03-09 10:00:03 [core.py:11] KeyError: 'a'\n"
      "(B pid=8) ERROR 03-09 10:00:04 [core.py:12] ValueError: b\n");
  const auto raised = facts.Of("python.raised");
  ASSERT_EQ(raised.size(), 2u);
  EXPECT_EQ(raised[0]->Get("where"), "/s/a.py:f");
  EXPECT_EQ(raised[0]->Get("type"), "KeyError");
  EXPECT_EQ(raised[1]->Get("where"), "/s/b.py:g");
  EXPECT_EQ(raised[1]->Get("type"), "ValueError");
}

TEST(TracebacksOfALog, ThatWereCaughtAreNone) {
  EXPECT_EQ(FactsOf("Exception ignored in: <function f>\n"
                    "  File \"/a/b.py\", line 1, in f\n"
                    "TypeError: x\n")
                .size(),
            0u);
  EXPECT_EQ(FactsOf("WARNING:   File \"/a/b.py\", line 1, in f\n"
                    "WARNING: TypeError: x\n")
                .size(),
            0u);
}

TEST(TracebacksOfALog, ThatEndBeforeTheirExceptionStillNameThePlace) {
  const FactStore facts = FactsOf("  File \"/a/dist-packages/boto3/s3.py\", line 1, in put\n");
  const Fact* raised = facts.First("python.raised");
  ASSERT_NE(raised, nullptr);
  EXPECT_EQ(raised->Get("type"), "");
  EXPECT_EQ(raised->Get("where"), "boto3/s3.py:put");
}

TEST(TracebacksOfALog, ASentenceThatBeginsWithAWordIsNoException) {
  const FactStore facts = FactsOf(
      "  File \"/a/b.py\", line 1, in f\n"
      "During handling of the above exception, another exception occurred:\n"
      "Note: this is no exception either but a name with a colon\n");
  EXPECT_EQ(facts.First("python.raised")->Get("type"), "");
}

}  // namespace
}  // namespace muster::diagnose
