#include "kube/lease.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/testing/fake_place.h"

namespace muster::kube {
namespace {

using testing::FakePlace;
using testing::Fault;

LeaseOptions Named(const std::string& identity) {
  LeaseOptions options;
  options.ns = "kube-system";
  options.name = "muster";
  options.identity = identity;
  return options;
}

struct Candidate {
  LeaderElector elector;
  int gained = 0, lost = 0;
  Candidate(FakePlace& place, const std::string& identity)
      : elector(place.client, Named(identity),
                [this](bool leading) { ++(leading ? gained : lost); }) {
    elector.Start();
  }
};

TEST(LeaderElector, OneOfTwoLeads) {
  FakePlace place;
  Candidate a(place, "a"), b(place, "b");
  ASSERT_TRUE(place.Until([&] { return a.gained + b.gained > 0; }));
  place.Run(5000);
  EXPECT_EQ(a.gained + b.gained, 1);
  EXPECT_NE(a.elector.Leading(), b.elector.Leading());
  EXPECT_EQ(a.elector.holder(), b.elector.holder());
}

TEST(LeaderElector, AHandOverIsQuick) {
  FakePlace place;
  Candidate a(place, "a");
  ASSERT_TRUE(place.Until([&] { return a.elector.Leading(); }));
  Candidate b(place, "b");
  place.Run(300);
  bool released = false;
  const Duration began = place.clock.Monotonic();
  a.elector.Release([&] { released = true; });
  EXPECT_FALSE(a.elector.Leading());
  ASSERT_TRUE(place.Until([&] { return b.elector.Leading(); }));
  EXPECT_TRUE(released);
  EXPECT_LT(place.clock.Monotonic() - began, std::chrono::seconds(5));
  EXPECT_GT(b.elector.term(), 0);
}

TEST(LeaderElector, ADeadLeaderIsFollowedAfterItsDurationAndNotBefore) {
  FakePlace place;
  auto a = std::make_unique<Candidate>(place, "a");
  ASSERT_TRUE(place.Until([&] { return a->elector.Leading(); }));
  Candidate b(place, "b");
  place.Run(300);
  a.reset();  // kill -9
  const Duration began = place.clock.Monotonic();
  ASSERT_TRUE(place.Until([&] { return b.elector.Leading(); }));
  const Duration took = place.clock.Monotonic() - began;
  EXPECT_GT(took, std::chrono::seconds(10));
  EXPECT_LT(took, std::chrono::seconds(20));
}

TEST(LeaderElector, AHolderThatIsKnownToHaveEndedIsNotWaitedFor) {
  FakePlace place;
  auto a = std::make_unique<Candidate>(place, "a");
  ASSERT_TRUE(place.Until([&] { return a->elector.Leading(); }));
  a.reset();
  LeaseOptions options = Named("b");
  options.has_ended = [](const std::string& holder) { return holder == "a"; };
  LeaderElector b(place.client, options, {});
  const Duration began = place.clock.Monotonic();
  b.Start();
  ASSERT_TRUE(place.Until([&] { return b.Leading(); }));
  EXPECT_LT(place.clock.Monotonic() - began, options.duration / 2);
}

TEST(LeaderElector, ALeaderThatWasAwayDoesNotLeadAndCannotRenew) {
  FakePlace place;
  Candidate a(place, "a");
  ASSERT_TRUE(place.Until([&] { return a.elector.Leading(); }));
  // It is stopped (SIGSTOP); another process takes the lease over meanwhile.
  place.clock.Advance(std::chrono::seconds(11));
  EXPECT_FALSE(a.elector.Leading()) << "before any Poll";
  place.api.Put(kLeases, "kube-system", "muster",
                R"("spec":{"holderIdentity":"b","leaseDurationSeconds":15,"leaseTransitions":1})");
  place.Run(100);
  EXPECT_FALSE(a.elector.Leading());
  EXPECT_EQ(a.lost, 1);
  EXPECT_EQ(a.elector.holder(), "b");
}

TEST(LeaderElector, WithoutAServerItStopsLeadingInTime) {
  FakePlace place;
  Candidate a(place, "a");
  ASSERT_TRUE(place.Until([&] { return a.elector.Leading(); }));
  place.api.fault = [](const Exchange&) {
    Fault fault;
    fault.kind = Fault::Kind::kBreak;
    return fault;
  };
  const Duration began = place.clock.Monotonic();
  ASSERT_TRUE(place.Until([&] { return a.lost == 1; }));
  EXPECT_LE(place.clock.Monotonic() - began, std::chrono::seconds(13));
  place.api.fault = {};
  ASSERT_TRUE(place.Until([&] { return a.elector.Leading(); }));
}

// Two candidates, a server that breaks at random: never do two lead at once.
RC_GTEST_PROP(LeaderElectorProperty, NeverDoTwoLeadAtOnce, (uint64_t seed)) {
  FakePlace place(seed);
  SeededRandom chance(seed);
  Candidate a(place, "a"), b(place, "b");
  place.api.fault = [&](const Exchange&) {
    Fault fault;
    const uint64_t die = chance.Below(6);
    if (die == 0) fault.kind = Fault::Kind::kBreak;
    if (die == 1) {
      fault.kind = Fault::Kind::kRefuse;
      fault.status = 500;
    }
    return fault;
  };
  for (int i = 0; i < 3000; ++i) {
    place.client.Poll(std::chrono::milliseconds(1 + chance.Below(900)));
    RC_ASSERT(!(a.elector.Leading() && b.elector.Leading()));
  }
  RC_ASSERT(a.gained + b.gained > 0);
}

}  // namespace
}  // namespace muster::kube
