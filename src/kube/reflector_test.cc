#include "kube/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "kube/core.h"
#include "kube/testing/fake_place.h"
#include "kube/testing/forbids.h"

namespace muster::kube {
namespace {

using testing::FakePlace;
using testing::Fault;
using ::testing::HasSubstr;

// Holds every change to the rule: an addition of what was not there, an update of what was, with
// the state that was; so no event is doubled, lost or out of order.
struct Mirror {
  std::map<std::string, std::pair<std::string, uint64_t>> known;  // key -> uid, version
  int added = 0, updated = 0, deleted = 0;
  std::string complaint;

  void On(const Change<Pod>& change) {
    const Pod& pod = change.after != nullptr ? *change.after : *change.before;
    const std::string key = pod.meta.Key();
    const auto found = known.find(key);
    const auto was_known_as = [&](const Pod& before) {
      return found != known.end() && found->second.first == before.meta.uid &&
             found->second.second == VersionNumber(before.meta.resource_version);
    };
    switch (change.kind) {
      case ChangeKind::kAdded:
        ++added;
        if (found != known.end()) complaint += "added twice: " + key + "; ";
        break;
      case ChangeKind::kUpdated:
        ++updated;
        if (!was_known_as(*change.before)) complaint += "updated from elsewhere: " + key + "; ";
        if (change.after->meta.resource_version == change.before->meta.resource_version) {
          complaint += "updated to the same: " + key + "; ";
        }
        break;
      case ChangeKind::kDeleted:
        ++deleted;
        if (!was_known_as(*change.before)) complaint += "deleted what was not there: " + key + "; ";
        known.erase(key);
        return;
    }
    known[key] = {pod.meta.uid, VersionNumber(pod.meta.resource_version)};
  }
  std::map<std::string, uint64_t> Versions() const {
    std::map<std::string, uint64_t> versions;
    for (const auto& [key, value] : known) versions[key] = value.second;
    return versions;
  }
};

struct Follower {
  Mirror mirror;
  std::vector<std::string> troubles;
  Reflector<Pod> reflector;
  Follower(FakePlace& place, Followed followed)
      : reflector(
            place.client, std::move(followed), DecodePod,
            [this](const Change<Pod>& change) { mirror.On(change); },
            [this](const Error& error, bool) { troubles.push_back(error.ToString()); }) {
    reflector.Start();
  }
};

Followed AllPods(ListMode mode, int page_size = 500) {
  Followed followed;
  followed.resource = kPods;
  followed.mode = mode;
  followed.page_size = page_size;
  return followed;
}

class ReflectorModes : public ::testing::TestWithParam<ListMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, ReflectorModes,
                         ::testing::Values(ListMode::kPages, ListMode::kStream),
                         [](const auto& mode) {
                           return mode.param == ListMode::kPages ? "pages" : "stream";
                         });

TEST_P(ReflectorModes, YieldsWhatIsThereAndThenEachChange) {
  FakePlace place;
  for (int i = 0; i < 25; ++i) place.api.Put(kPods, "a", "p" + std::to_string(i));
  Follower follower(place, AllPods(GetParam(), 10));
  ASSERT_TRUE(place.Until([&] { return follower.reflector.synced(); }));
  EXPECT_EQ(follower.mirror.added, 25);
  place.api.Put(kPods, "a", "p3", R"("spec":{"nodeName":"n"})");
  place.api.Remove(kPods, "a", "p4");
  place.api.Put(kPods, "b", "new");
  place.Run(50);
  EXPECT_EQ(follower.mirror.added, 26);
  EXPECT_EQ(follower.mirror.updated, 1);
  EXPECT_EQ(follower.mirror.deleted, 1);
  EXPECT_EQ(follower.mirror.complaint, "");
  EXPECT_EQ(follower.mirror.Versions(), place.api.Contents(kPods));
}

TEST_P(ReflectorModes, OneLookListsOnceAndNeedsNoRightToWatch) {
  FakePlace place;
  for (int i = 0; i < 25; ++i) place.api.Put(kPods, "a", "p" + std::to_string(i));
  Followed once = AllPods(GetParam(), 10);
  once.watch = false;
  Follower follower(place, once);
  ASSERT_TRUE(place.Until([&] { return follower.reflector.synced(); }));
  place.Run(50);
  EXPECT_TRUE(follower.reflector.stopped());
  EXPECT_EQ(follower.reflector.stats().watches, 0u);
  EXPECT_EQ(follower.mirror.added, 25);
  EXPECT_TRUE(follower.troubles.empty());
}

TEST_P(ReflectorModes, AfterACompactionTheDifferenceIsExact) {
  FakePlace place;
  for (int i = 0; i < 5; ++i) place.api.Put(kPods, "a", "p" + std::to_string(i));
  Follower follower(place, AllPods(GetParam()));
  ASSERT_TRUE(place.Until([&] { return follower.reflector.synced() && place.api.watches() == 1; }));
  place.api.EndWatches();
  place.api.Remove(kPods, "a", "p0");
  place.api.Put(kPods, "a", "p1", R"("spec":{"nodeName":"n"})");
  place.api.Remove(kPods, "a", "p2");
  place.api.Put(kPods, "a", "p2");  // a namesake
  place.api.Compact();
  ASSERT_TRUE(place.Until([&] { return follower.mirror.Versions() == place.api.Contents(kPods); }));
  EXPECT_EQ(follower.mirror.complaint, "");
  EXPECT_EQ(follower.mirror.deleted, 2);
  EXPECT_EQ(follower.mirror.updated, 1);
  EXPECT_EQ(follower.mirror.added, 6);
  EXPECT_GE(follower.reflector.stats().expired, 1u);
}

TEST(Reflector, AConnectionCutInsideAnEventGoesOnFromTheLastWholeOne) {
  FakePlace place;
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  for (int i = 0; i < 30; ++i) {
    place.api.Put(kPods, "a", "p" + std::to_string(i));
    if (i % 7 == 3) place.api.BreakWatches();
    place.Run(20);
  }
  ASSERT_TRUE(place.Until([&] { return follower.mirror.added == 30; }));
  EXPECT_EQ(follower.mirror.complaint, "");
  EXPECT_EQ(follower.reflector.stats().lists, 1u) << "nothing was listed again";
  EXPECT_GE(follower.reflector.stats().resumed, 4u);
}

TEST(Reflector, DuplicatesAreSilent) {
  FakePlace place;
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  place.api.Put(kPods, "a", "p");
  place.Run(10);
  place.api.SendTwice();
  place.Run(10);
  place.api.Remove(kPods, "a", "p");
  place.Run(10);
  place.api.SendTwice();
  place.Run(10);
  EXPECT_EQ(follower.mirror.added, 1);
  EXPECT_EQ(follower.mirror.deleted, 1);
  EXPECT_EQ(follower.mirror.complaint, "");
  EXPECT_EQ(follower.reflector.stats().lists, 1u);
}

TEST(Reflector, AnOlderEventThatCannotBePlacedIsListedAgain) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  place.api.SendRaw(
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"ghost\",\"namespace\":\"a\","
      "\"uid\":\"g\","
      "\"resourceVersion\":\"3\"}}}\n");
  ASSERT_TRUE(place.Until([&] { return follower.reflector.stats().lists == 2; }));
  place.Run(50);
  EXPECT_EQ(follower.reflector.stats().out_of_order, 1u);
  EXPECT_EQ(follower.mirror.Versions(), place.api.Contents(kPods));
  EXPECT_EQ(follower.mirror.complaint, "");
}

TEST(Reflector, AWatchCacheThatLagsIsAskedAgainAndNothingIsListedAnew) {
  FakePlace place;
  place.api.Put(kPods, "a", "p");
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  int lagging = 3;
  place.api.fault = [&](const Exchange& exchange) {
    Fault fault;
    if (exchange.path.find("watch=true") == std::string::npos || lagging-- <= 0) return fault;
    fault.kind = Fault::Kind::kRefuse;
    fault.status = 504;
    fault.body =
        R"({"kind":"Status","code":504,"reason":"Timeout","message":"Too large resource version",)"
        R"("details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}})";
    return fault;
  };
  place.api.EndWatches();
  place.api.Put(kPods, "a", "q");
  ASSERT_TRUE(place.Until([&] { return follower.mirror.Versions() == place.api.Contents(kPods); }));
  EXPECT_EQ(follower.reflector.stats().lists, 1u);
  EXPECT_EQ(follower.mirror.complaint, "");
}

TEST(Reflector, AWatchWhoseTokenExpiredGoesOnWithTheNext) {
  AuthConfig auth;
  auth.token_file = "/token";
  FakePlace place(1, auth);
  ASSERT_TRUE(place.files.WriteAtomic("/token", "old").has_value());
  place.api.Put(kPods, "a", "p");
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  place.api.fault = [&](const Exchange& exchange) {
    Fault fault;
    if (exchange.headers.at("Authorization") != "Bearer old") return fault;
    EXPECT_TRUE(place.files.WriteAtomic("/token", "new").has_value());
    fault.kind = Fault::Kind::kRefuse;
    fault.status = 401;
    fault.body = R"({"kind":"Status","message":"Unauthorized"})";
    return fault;
  };
  place.api.EndWatches();
  place.api.Put(kPods, "a", "q");
  ASSERT_TRUE(place.Until([&] { return follower.mirror.Versions() == place.api.Contents(kPods); }));
  EXPECT_EQ(follower.reflector.stats().lists, 1u);
  EXPECT_FALSE(follower.reflector.stopped());
}

TEST(Reflector, NonsenseInAWatchIsNoEvent) {
  const std::vector<std::string> nonsense = {"null\n",
                                             "{}\n",
                                             "{\"type\":\"ADDED\"}\n",
                                             std::string("\0\xff\n", 3),
                                             "<html>\n",
                                             "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"};
  for (const std::string& bytes : nonsense) {
    FakePlace place;
    place.api.Put(kPods, "a", "p");
    Follower follower(place, AllPods(ListMode::kPages));
    ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
    place.api.SendRaw(bytes);
    place.Run(20);
    place.api.Put(kPods, "a", "q");
    ASSERT_TRUE(place.Until([&] { return follower.mirror.added == 2; })) << bytes;
    EXPECT_EQ(follower.mirror.complaint, "") << bytes;
    EXPECT_FALSE(follower.troubles.empty()) << bytes;
  }
}

TEST(Reflector, SaysSinceWhenChangesMayHaveBeenMissed) {
  for (const ListMode mode : {ListMode::kPages, ListMode::kStream}) {
    FakePlace place;
    Follower follower(place, AllPods(mode));
    EXPECT_FALSE(follower.reflector.lost_since()) << "nothing is known yet";
    ASSERT_TRUE(place.Until([&] { return follower.reflector.synced(); }));
    ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
    EXPECT_FALSE(follower.reflector.lost_since());
    bool down = true;
    place.api.fault = [&](const Exchange&) {
      return down ? Fault{Fault::Kind::kRefuse, 503} : Fault{};
    };
    place.api.BreakWatches();
    ASSERT_TRUE(place.Until([&] { return follower.reflector.lost_since().has_value(); }));
    const Duration since = *follower.reflector.lost_since();
    place.Run(200);
    EXPECT_EQ(follower.reflector.lost_since(), since) << "further failures do not begin it anew";
    down = false;
    ASSERT_TRUE(place.Until([&] { return !follower.reflector.lost_since(); }));
    EXPECT_EQ(place.api.watches(), 1u);
  }
}

TEST(Reflector, ASilentServerIsLeft) {
  FakePlace place;
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  const uint64_t watches = follower.reflector.stats().watches;
  place.clock.Advance(std::chrono::seconds(151));
  ASSERT_TRUE(place.Until([&] { return follower.reflector.stats().watches > watches; }));
  EXPECT_THAT(follower.troubles.back(), HasSubstr("no byte for"));
}

TEST(Reflector, BookmarksKeepAnIdleWatchFromA410) {
  FakePlace place;
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  for (int i = 0; i < 10; ++i) place.api.Put(kNodes, "", "n" + std::to_string(i));
  place.api.Bookmark();
  place.Run(10);
  place.api.Compact();
  place.api.EndWatches();
  ASSERT_TRUE(place.Until([&] { return place.api.watches() == 1; }));
  EXPECT_EQ(follower.reflector.stats().lists, 1u);
}

TEST(Reflector, AServerWithoutStreamedListsGetsPages) {
  FakePlace place;
  place.api.serves_watch_list = false;
  place.api.Put(kPods, "a", "p");
  Follower follower(place, AllPods(ListMode::kStream));
  ASSERT_TRUE(place.Until([&] { return follower.reflector.synced(); }));
  EXPECT_EQ(follower.mirror.added, 1);
}

TEST(Reflector, AForbiddenListStopsAndSaysSo) {
  FakePlace place;
  place.api.fault = testing::Forbids("/pods");
  Follower follower(place, AllPods(ListMode::kPages));
  ASSERT_TRUE(place.Until([&] { return follower.reflector.stopped(); }));
  EXPECT_FALSE(follower.reflector.synced());
  EXPECT_THAT(follower.troubles.back(), HasSubstr("/pods is forbidden"));
}

TEST(Reflector, AServerThatEndsEveryWatchAtOnceIsNotStormed) {
  FakePlace place;
  Follower follower(place, AllPods(ListMode::kPages));
  const Duration began = place.clock.Monotonic();
  while (place.clock.Monotonic() - began < std::chrono::minutes(5)) {
    place.api.EndWatches();
    place.client.Poll(std::chrono::seconds(1));
  }
  EXPECT_LT(follower.reflector.stats().watches, 40u);
}

// Whatever breaks, and however the steps interleave: the mirror ends as the server is, and no event
// on the way was doubled, lost or impossible.
RC_GTEST_PROP(ReflectorProperty, EndsWithTheServersStateWhateverBreaks, (uint64_t seed)) {
  FakePlace place(seed);
  place.api.bytes_per_step = 1 + static_cast<int>(seed % 400);
  SeededRandom chance(seed + 1);
  const auto name = [&] { return "p" + std::to_string(chance.Below(12)); };
  for (int i = 0; i < 6; ++i) place.api.Put(kPods, "a", name());
  int faults = 12;
  place.api.fault = [&](const Exchange&) {
    Fault fault;
    if (faults <= 0 || chance.Below(4) != 0) return fault;
    --faults;
    fault.kind = chance.Below(2) == 0 ? Fault::Kind::kBreak : Fault::Kind::kRefuse;
    fault.bytes = chance.Below(900);
    fault.status = chance.Below(2) == 0 ? 500 : 429;
    return fault;
  };
  Follower follower(place, AllPods(chance.Below(2) == 0 ? ListMode::kPages : ListMode::kStream,
                                   1 + static_cast<int>(chance.Below(8))));
  for (int i = 0; i < 150; ++i) {
    switch (chance.Below(10)) {
      case 0:
      case 1:
      case 2:
        place.api.Put(kPods, "a", name(), "\"spec\":{\"priority\":" + std::to_string(i) + "}");
        break;
      case 3:
        place.api.Remove(kPods, "a", name());
        break;
      case 4:
        place.api.BreakWatches();
        break;
      case 5:
        place.api.Compact();
        break;
      case 6:
        place.api.Bookmark();
        break;
      case 7:
        place.api.EndWatches();
        break;
      default:
        place.Run(static_cast<int>(chance.Below(40)));
    }
  }
  faults = 0;
  RC_ASSERT(place.Until([&] {
    return follower.reflector.synced() && follower.mirror.Versions() == place.api.Contents(kPods);
  }));
  RC_ASSERT(follower.mirror.complaint == "");
  for (const auto& [key, entry] : follower.reflector.known().all()) {
    RC_ASSERT(follower.mirror.known.at(key).second == entry.version);
  }
}

}  // namespace
}  // namespace muster::kube
