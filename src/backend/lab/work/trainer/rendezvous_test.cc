#include "backend/lab/work/trainer/rendezvous.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world/posix/free_port.h"
#include "world/posix/posix_clock.h"

namespace muster::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Met = Result<std::vector<std::string>>;

// All of `ranks` come, each on a thread of its own.
std::vector<Met> Gather(const std::vector<int>& ranks, int world, Duration timeout) {
  PosixClock clock;
  const int port = FreeLoopbackPort().value();
  std::vector<Met> met(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < ranks.size(); ++i) {
      threads.emplace_back([&, i] {
        const Meeting meeting{ranks[i], world, "127.0.0.1", port, timeout};
        met[i] = Meet(meeting, "from " + std::to_string(ranks[i]), clock);
      });
    }
  }
  return met;
}

TEST(Rendezvous, EveryRankGetsWhatAllBrought) {
  for (const Met& met : Gather({0, 1, 2, 3}, 4, std::chrono::seconds(20))) {
    ASSERT_TRUE(met.ok()) << met.error().ToString();
    EXPECT_THAT(*met, ElementsAre("from 0", "from 1", "from 2", "from 3"));
  }
}

TEST(Rendezvous, AWorldOfOneMeetsItself) {
  EXPECT_THAT(*Gather({0}, 1, std::chrono::seconds(1))[0], ElementsAre("from 0"));
}

TEST(Rendezvous, WhoIsMissingIsNamedOnEveryRankThatCame) {
  for (const Met& met : Gather({0, 1, 3}, 5, std::chrono::milliseconds(400))) {
    ASSERT_FALSE(met.ok());
    EXPECT_EQ(met.error().code, Code::kTimeout);
    EXPECT_THAT(met.error().message, HasSubstr("missing rank 2, 4"));
  }
}

TEST(Rendezvous, WithoutRankZeroTheOthersSayThatItIsMissing) {
  for (const Met& met : Gather({1, 2}, 3, std::chrono::milliseconds(200))) {
    ASSERT_FALSE(met.ok());
    EXPECT_THAT(met.error().message, HasSubstr("missing rank 0"));
  }
}

TEST(Rendezvous, TwoProcessesOfOneRankAreAConflict) {
  const auto met = Gather({0, 1, 1}, 3, std::chrono::seconds(20));
  EXPECT_EQ(met[0].error().code, Code::kConflict);
  EXPECT_THAT(met[0].error().message, HasSubstr("two processes came as rank 1"));
}

TEST(Rendezvous, ARankOutsideItsWorldIsRefused) {
  PosixClock clock;
  EXPECT_EQ(Meet({4, 4, "127.0.0.1", 1, {}}, "", clock).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace muster::lab
