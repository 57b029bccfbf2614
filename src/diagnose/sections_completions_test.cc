#include <gtest/gtest.h>

#include "diagnose/knowledge.h"
#include "diagnose/reader.h"

namespace muster::diagnose {
namespace {

FactStore FactsOfDump(const std::string& text) {
  Reader reader(**LoadKnowledge());
  reader.Begin("dump.txt");
  reader.Feed(text);
  reader.End();
  return reader.Take().facts;
}

std::string Dump(const std::string& fourth) {
  const std::string zeros = "00000000 00000000 00000000 00000000\n";
  return "mlx5: gn1: got completion with error:\n" + zeros + zeros + zeros + fourth;
}

TEST(CompletionDump, TheFourthRowSaysWhyARequestFailed) {
  const FactStore facts = FactsOfDump(Dump("00000000 00008115 08000321 0021c3d2\n"));
  const auto all = facts.Of("ib.completion");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]->Get("status"), "12");
  EXPECT_EQ(all[0]->Get("vendor"), "0x81");
  EXPECT_EQ(all[0]->at.line, 5u);
}

TEST(CompletionDump, BehindTheKernelsPrefixesItIsTheSame) {
  const std::string at = "[ 9211.204] ";
  std::string text = at + "infiniband mlx5_2: dump_cqe:272:(pid 41): dump error cqe\n";
  for (const char* offset : {"00000000", "00000010", "00000020"})
    text += at + offset + ": 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n";
  text += at + "00000030: 00 00 00 00 00 00 88 04 08 00 01 2a 00 11 7f d2\n";
  const FactStore facts = FactsOfDump(text);
  ASSERT_EQ(facts.Of("ib.completion").size(), 1u);
  EXPECT_EQ(facts.Of("ib.completion")[0]->Get("status"), "4");
}

TEST(CompletionDump, WithoutItsFourthRowItSaysNoReason) {
  const FactStore facts = FactsOfDump(Dump(""));
  EXPECT_TRUE(facts.Of("ib.completion").empty());
  EXPECT_EQ(facts.Of("damage").size(), 1u);
}

TEST(CompletionDump, ASyndromeThatNobodyKnowsIsNoReason) {
  EXPECT_TRUE(
      FactsOfDump(Dump("00000000 00008177 08000321 0021c3d2\n")).Of("ib.completion").empty());
}

}  // namespace
}  // namespace muster::diagnose
