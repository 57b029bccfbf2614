#include "app/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

using ::testing::HasSubstr;

std::vector<Advice> All() { return EmbeddedAdvice().value(); }

std::string First(std::string_view asked) {
  const auto fits = Advise(All(), asked);
  return fits.empty() ? "" : fits.front().id;
}

TEST(Advise, SituationsInAPersonsWordsFindTheirControl) {
  const std::pair<const char*, const char*> kAsked[] = {
      {"half of my ranks are pending and the rest is idle", "partial-gang"},
      {"TopologyAffinityError from the kubelet", "numa-shape"},
      {"torchrun cannot resolve MASTER_ADDR", "rendezvous"},
      {"NCCL says NET/Socket although the pod has mlx5, wrong HCA filter", "rdma-not-used"},
      {"all-reduce busbw is slow", "slow-collective"},
      {"watchdog timeout, hang in a collective", "hang"},
      {"vllm preemption, KV cache too small", "kv-cache"},
      {"should I use KEDA for inference", "inference-scaling"},
      {"a bad node with Xid 79 again", "bad-node"},
      {"lost six hours of work, last checkpoint was old", "lost-work"},
  };
  for (const auto& [asked, id] : kAsked) EXPECT_EQ(First(asked), id) << asked;
}

TEST(Advise, OfTwoThatFitAlikeTheEarlierControlComesFirst) {
  std::vector<Advice> all(2);
  all[0] = {"late", "", "", "", "", "", "", "", {"storm"}, 6, 0};
  all[1] = {"early", "", "", "", "", "", "", "", {"storm"}, 2, 0};
  const auto fits = Advise(all, "storm");
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].id, "early");
}

TEST(Advise, NothingKnownGivesNothing) {
  EXPECT_TRUE(Advise(All(), "zyzzyva").empty());
  EXPECT_TRUE(Advise(All(), "why is my job not").empty());
}

TEST(Advise, NothingAskedListsAllInTheOrderInWhichTheyAct) {
  const auto all = Advise(All(), "");
  EXPECT_EQ(all.size(), All().size());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].acts, all[i].acts);
}

TEST(Advise, EveryEntrySaysWhatItDoesNotDoAndHowToProveIt) {
  for (const Advice& a : All()) {
    EXPECT_GT(a.does_not.size(), 10u) << a.id;
    EXPECT_GT(a.validate.size(), 10u) << a.id;
    EXPECT_GT(a.source.size(), 10u) << a.id;
    EXPECT_EQ(First(a.id), a.id);
  }
}

TEST(Advise, MistakesOfTheDataSayWhere) {
  const auto bad =
      ParseAdvice("sources: {s: x}\nentries:\n- {id: a, acts: 9, surprise: 1}\n", "a.yaml");
  ASSERT_FALSE(bad.ok());
  for (const char* part : {"a.yaml:3:", "surprise", "expected 1 to 7"})
    EXPECT_THAT(bad.error().message, HasSubstr(part));
}

RC_GTEST_PROP(Advise, AnyQuestionIsAnswered, (const std::string& asked)) {
  for (const Advice& a : Advise(All(), asked)) RC_ASSERT(!a.id.empty());
}

}  // namespace
}  // namespace muster
