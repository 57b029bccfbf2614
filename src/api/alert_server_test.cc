// The server with everything that it does at once: webhooks on several connections, lists that are
// asked for meanwhile, episodes that are worked on side by side.
#include "api/alert_server.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>

#include "app/testing/lab_site.h"
#include "base/strings.h"

namespace muster::testing {
namespace {

using Stage = AlertEpisode::Stage;

const OpenOptions kServedOpen{"", true};

// The lab's own is for one thread.
class SharedRandom final : public Random {
 public:
  uint64_t Next() override {
    const std::lock_guard lock(mutex_);
    return seeded_.Next();
  }

 private:
  std::mutex mutex_;
  SeededRandom seeded_{7};
};

// The server's own pause between rounds takes no time of the lab's: else an idle server would be
// hours ahead of the alerts that it is about to hear.
class RoundsAreShort final : public Clock {
 public:
  explicit RoundsAreShort(Clock& lab) : lab_(lab) {}
  TimePoint Now() const override { return lab_.Now(); }
  Duration Monotonic() const override { return lab_.Monotonic(); }
  void SleepFor(Duration d) override {
    const bool round = d == std::chrono::milliseconds(200);
    lab_.SleepFor(round ? std::chrono::microseconds(1) : d);
    std::this_thread::yield();
  }

 private:
  Clock& lab_;
};

class AlertServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.files.Put(kTestSite, lab_.Text() + "\nalerts:\n  alone: [R6]\n");
    // A fault of which the runbook makes a GPU well, on one GPU of each node.
    lab_.Inject("xid_119", "node000/gpu1");
    lab_.Inject("xid_119", "node001/gpu0");
    ASSERT_EQ(lab_.problem, "");
    auto desk = AlertDesk::Open(kTestSite, world_, kServedOpen);
    ASSERT_TRUE(desk.ok()) << desk.error().ToString();
    desk_ = std::move(*desk);
    options_.token = "a-token-of-sixteen";
    options_.pause = std::chrono::milliseconds(1);
    options_.stopped = [this] { return stopped_.load(); };
    options_.say = [this](const std::string&) { ++said_; };
    auto server = MakeAlertServer(*desk_, world_, options_);
    ASSERT_TRUE(server.ok()) << server.error().ToString();
    server_ = std::move(*server);
    serving_ = std::thread([this] { server_->Serve(); });
  }
  void TearDown() override {
    stopped_ = true;
    if (serving_.joinable()) serving_.join();
  }
  std::string Body(const std::string& node, int gpu) {
    return fmt::format(
        R"({{"version":"4","alerts":[{{"status":"firing","fingerprint":"{:016x}","startsAt":"{}",)"
        R"("labels":{{"alertname":"GpuXidFatal","gpu":"{}","instance":"{}:9400"}}}}]}})",
        std::hash<std::string>()(node), FormatTime(begun_), gpu, node);
  }
  int Post(const std::string& body, const std::string& token) {
    httplib::Client client("127.0.0.1", server_->port());
    const auto answer =
        client.Post("/alerts", {{"Authorization", "Bearer " + token}}, body, "application/json");
    return answer ? answer->status : 0;
  }
  int List() {
    httplib::Client client("127.0.0.1", server_->port());
    const auto answer = client.Get("/alerts", {{"Authorization", "Bearer a-token-of-sixteen"}});
    return answer ? answer->status : 0;
  }

  LabSite lab_;
  SharedRandom random_;
  RoundsAreShort clock_{lab_.clock};
  World world_{clock_, lab_.files, lab_.processes, lab_.http, random_};
  TimePoint begun_ = lab_.clock.Now();
  std::atomic<bool> stopped_ = false;
  std::atomic<int> said_ = 0;
  AlertServerOptions options_;
  std::unique_ptr<AlertDesk> desk_;
  std::unique_ptr<AlertServer> server_;
  std::thread serving_;
};

TEST_F(AlertServerTest, ManyAtOnceAreOneRunForEachMatter) {
  std::atomic<int> taken = 0, refused = 0, listed = 0;
  {
    std::vector<std::jthread> senders;
    for (int sender = 0; sender < 6; ++sender) {
      senders.emplace_back([&, sender] {
        for (int n = 0; n < 4; ++n) {
          const bool second = (sender + n) % 2 == 1;
          taken += Post(Body(second ? "node001" : "node000", second ? 0 : 1),
                        "a-token-of-sixteen") == 200;
          refused += Post("{}", "another-token-...") == 401;
          listed += List() == 200;
        }
      });
    }
  }
  EXPECT_EQ(taken, 24);
  EXPECT_EQ(refused, 24);
  EXPECT_EQ(listed, 24);
  // Worked on in threads of the server; a list is asked for until both are over.
  AlertBook book;
  for (int n = 0; n < 200'000; ++n) {
    book = desk_->Snapshot();
    if (book.open() == 0) break;
    std::this_thread::yield();
  }
  ASSERT_EQ(book.episodes().size(), 2u);
  // Both nodes are in one rack, of which one at a time may be worked on: the other run may have
  // waited longer for it than a rehearsal does.
  size_t done = 0;
  for (const AlertEpisode& episode : book.episodes()) {
    done += episode.end == "done";
    EXPECT_TRUE(episode.end == "done" || episode.end == "not started")
        << episode.id << " " << episode.end << " " << episode.why;
  }
  EXPECT_GE(done, 1u);
  EXPECT_GT(said_, 0);
  const auto runs = ListRunbookRuns(lab_.files, RunbookPaths(lab_.paths()));
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs->size(), 2u);
}

TEST_F(AlertServerTest, WhatIsNoWebhookIsRefusedAndTheServerGoesOn) {
  EXPECT_EQ(Post("{", "a-token-of-sixteen"), 400);
  // Refused by its length, perhaps before the sender has sent it all.
  const int large = Post(std::string((1u << 20) + 1, ' '), "a-token-of-sixteen");
  EXPECT_TRUE(large == 413 || large == 0) << large;
  EXPECT_EQ(List(), 200);
  EXPECT_TRUE(desk_->Snapshot().episodes().empty());
}

}  // namespace
}  // namespace muster::testing
