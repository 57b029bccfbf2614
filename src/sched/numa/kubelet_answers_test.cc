// What Kubernetes v1.37.1's own managers answered to some hundred decisions (testing/
// kubelet_answers.jsonl, made by tests/kubernetes/oracle), so that the plain unit tests need no Go.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "sched/numa/testing/cases.h"

namespace muster::numa {
namespace {

TEST(KubeletAnswers, AreOurs) {
  std::ifstream file(MUSTER_SOURCE_DIR "/src/sched/numa/testing/kubelet_answers.jsonl");
  Comparer comparer;
  std::string test, answer;
  while (std::getline(file, test) && std::getline(file, answer)) {
    ASSERT_TRUE(comparer.Sequence(test, answer)) << test;
  }
  const Tally& tally = comparer.tally();
  EXPECT_GE(tally.decisions, 400);
  EXPECT_GE(tally.admitted, 100);
  EXPECT_GE(tally.refused, 100);
  EXPECT_EQ(tally.by_chance, 0);
  EXPECT_EQ(comparer.differences(), 0) << (comparer.shown().empty() ? "" : comparer.shown()[0]);
}

// The comparison itself must be able to fail.
TEST(KubeletAnswers, AWrongAnswerIsNoticed) {
  std::ifstream file(MUSTER_SOURCE_DIR "/src/sched/numa/testing/kubelet_answers.jsonl");
  std::string test, answer;
  ASSERT_TRUE(std::getline(file, test) && std::getline(file, answer));
  const std::string admitted = "\"admit\":true", refused = "\"admit\":false";
  const size_t at = std::min(answer.find(admitted), answer.find(refused));
  ASSERT_NE(at, std::string::npos);
  const bool was = answer.compare(at, admitted.size(), admitted) == 0;
  answer.replace(at, (was ? admitted : refused).size(), was ? refused : admitted);
  Comparer comparer;
  ASSERT_TRUE(comparer.Sequence(test, answer));
  EXPECT_GE(comparer.differences(), 1);
  EXPECT_FALSE(comparer.Sequence(test, "{\"name\":\"another\"}"));
}

}  // namespace
}  // namespace muster::numa
