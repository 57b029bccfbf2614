#include "diagnose/beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> TextsBeside(const std::string& text) {
  const Diagnosis d = testing::DiagnoseText(text);
  std::vector<std::string> texts;
  if (!d.findings.empty())
    for (const NearLine& line : d.findings.front().beside) texts.push_back(line.text);
  return texts;
}

TEST(BesideASign, StandsTheReasonThatNoRuleKnows) {
  EXPECT_THAT(TextsBeside("A process or daemon was unable to complete a TCP connection\n"
                          "to another process:\n  Local host:    gpu07\n  Remote host:   gpu08\n"
                          "This is usually caused by a firewall on the remote host.\n"),
              ElementsAre(HasSubstr("caused by a firewall")));
}

TEST(BesideASign, StandsWhatFollowsItsColon) {
  EXPECT_THAT(TextsBeside("XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: "
                          "PjRT_Client_Connect. Timed out task names:\n"
                          "/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:6\n"
                          "/job:jax_worker/replica:0/task:7\n"),
              ElementsAre(HasSubstr("task:1")))
      << "lines that differ in figures alone are one";
}

TEST(BesideASign, NothingStandsThatNeitherComplainsNorExplains) {
  EXPECT_THAT(TextsBeside("step 10 | loss 2.31\n"
                          "[  9.1] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
                          "step 11 | loss 2.30\n----- errors -----\n"),
              IsEmpty());
}

NearLine At(size_t line, const char* text) { return {{"log", line}, text}; }

TEST(MostTelling, KeepsTheOrderOfTheInput) {
  const NearLine sign = At(5, "connection refused");
  EXPECT_THAT(
      MostTelling({At(4, "host is down, because its link failed"), At(6, "a fine line"),
                   At(7, "please check the firewall")},
                  sign, 2),
      ElementsAre(Field(&NearLine::at, Place{"log", 4}), Field(&NearLine::at, Place{"log", 7})));
  EXPECT_THAT(
      MostTelling({At(4, "it failed"), At(7, "it did so because the link failed")}, sign, 1),
      ElementsAre(Field(&NearLine::at, Place{"log", 7})));
}

TEST(BesideOf, KeepsLinesNearSignsOnlyAndForgetsThemWithTheFile) {
  Beside beside;
  beside.Begin();
  for (size_t n = 1; n <= 20; ++n) {
    if (n == 10) beside.Sign({"log", n});
    beside.Unread("line", {"log", n});
  }
  const auto& near = beside.Of({"log", 10});
  ASSERT_EQ(near.size(), Beside::kBefore + Beside::kAfter);
  EXPECT_EQ(near.front().at.line, 10 - Beside::kBefore);
  EXPECT_EQ(near.back().at.line, 10 + Beside::kAfter);
  beside.Begin();
  beside.Sign({"other", 1});
  EXPECT_THAT(beside.Of({"other", 1}), IsEmpty());
  EXPECT_THAT(beside.Of({"other", 9}), IsEmpty());
}

TEST(BesideOf, IsBoundedWhateverTheInput) {
  Beside beside;
  beside.Begin();
  for (size_t n = 1; n <= 10'000; ++n) {
    beside.Sign({"log", n});
    beside.Unread(std::string(5000, 'x'), {"log", n});
  }
  EXPECT_THAT(beside.Of({"log", 9'000}), IsEmpty());
  EXPECT_EQ(beside.Of({"log", 100}).front().text.size(), kTextBytes);
}

}  // namespace
}  // namespace muster::diagnose
