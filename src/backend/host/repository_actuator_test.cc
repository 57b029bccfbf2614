// Commits that are taken back in real repositories, by the git of this machine.
#include "backend/host/repository_actuator.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/host/testing/played_hosts.h"
#include "backend/testing/honest_actuator.h"
#include "base/strings.h"

namespace muster::host {
namespace {

using ::testing::HasSubstr;

const std::string kA(40, 'a'), kB(40, 'b'), kC(40, 'c');

TEST(GitHistory, ARevertStandsUntilItIsRevertedItself) {
  const std::vector<GitCommit> once = {{kB, "Revert \"x\"\n\nThis reverts commit " + kA + ".\n"}};
  EXPECT_EQ(RevertOf(once, kA), kB);
  EXPECT_EQ(RevertOf(once, kC), std::nullopt);
  std::vector<GitCommit> twice = once;
  twice.insert(twice.begin(), {kC, "This reverts commit " + kB + ", reversing\nchanges made to x"});
  EXPECT_EQ(RevertOf(twice, kA), std::nullopt);
  EXPECT_EQ(RevertOf(twice, kB), kC);
}

TEST(GitHistory, ALogThatWasCutOffIsRefused) {
  const std::string whole = kA + "\x1f" + "one\n\x1e\n" + kB + "\x1f" + "two\x1e\n";
  ASSERT_EQ(ReadGitLog(whole)->size(), 2u);
  EXPECT_EQ((*ReadGitLog(whole))[1].message, "two");
  EXPECT_TRUE(ReadGitLog("")->empty());
  const std::string trimmed(Trim(whole));
  for (size_t n = 1; n < trimmed.size(); ++n) {
    const auto log = ReadGitLog(trimmed.substr(0, n));
    if (log.ok()) {
      EXPECT_LE(log->size(), 1u) << n;
    }
  }
}

TEST(GitHistory, OnlyACommitIsACommit) {
  EXPECT_TRUE(IsCommitName("abc1234"));
  for (const char* wrong : {"", "main", "HEAD", "abc123", "HEAD~1", "ABC1234", "--force-x"})
    EXPECT_FALSE(IsCommitName(wrong)) << wrong;
}

class Repositories : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!posix_.Run({{"git", "--version"}}).ok()) GTEST_SKIP() << "there is no git";
    std::string name = (fs::temp_directory_path() / "muster-git.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    Git("init", "-q", "-b", "main", Tree());
    In("config", "user.name", "A. Person");
    In("config", "user.email", "person@example");
    Commit("one\n", "the first");
    good_ = Commit("one\ntwo\n", "good");
    bad_ = Commit("one\ntwo\nbad\n", "bad");
    site_.repositories["config"] = {"config", "origin"};
    actuator_ = std::make_unique<RepositoryActuator>(
        site_, posix_, RepositoryOptions{folder_.string(), (folder_ / "state").string(), 20});
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string Tree() const { return (folder_ / "config").string(); }
  std::string Remote() const { return (folder_ / "remote.git").string(); }
  template <typename... More>
  std::string Git(More... words) {
    const auto ran = posix_.Run({{"git", words...}}).value();
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return std::string(Trim(ran.out));
  }
  template <typename... More>
  std::string In(More... words) {
    return Git("-C", Tree(), words...);
  }
  std::string Commit(const std::string& text, const std::string& message) {
    WriteText(folder_ / "config" / "conf", text);
    In("add", "conf");
    In("commit", "-q", "-m", message);
    return In("rev-parse", "HEAD");
  }
  void WithRemote() {
    Git("init", "-q", "--bare", "-b", "main", Remote());
    In("remote", "add", "origin", Remote());
    In("push", "-q", "origin", "main");
  }
  Order Make(const std::string& commit, const std::string& push = "") {
    Order order;
    order.action = {
        ActKind::kGitRevert, NodeSubject("n1"), {{"repository", "config"}, {"commit", commit}}};
    if (!push.empty()) order.action.params["push"] = push;
    order.run = "r-1";
    order.token = fmt::format("r-1/{}", ++orders_);
    order.fence = 10;
    order.timeout = std::chrono::minutes(1);
    return order;
  }
  Order Ready(const std::string& commit, const std::string& push = "") {
    return muster::testing::Prepared(*actuator_, Make(commit, push));
  }
  std::string Refused(const std::string& commit, const std::string& push = "") {
    const auto before = actuator_->Before(Make(commit, push).action);
    return before.ok() ? "it was not refused" : before.error().ToString();
  }
  // All that a person would see of the repository.
  std::string Seen() {
    return In("log", "--all", "--format=%H") + In("status", "--porcelain") + In("stash", "list") +
           In("worktree", "list") +
           muster::testing::ReadWhole(Tree() + "/conf").value_or("(no file)");
  }
  // The order was given and nothing came of it.
  void LeftAlone(const Order& order, const std::string& why) {
    const std::string before = Seen();
    const DidResult did = actuator_->Do(order);
    EXPECT_NE(did.did, Did::kAccepted);
    EXPECT_THAT(did.detail, HasSubstr(why));
    EXPECT_EQ(Seen(), before);
    EXPECT_EQ(actuator_->Probe(order).happened, Happened::kNo);
  }

  fs::path folder_;
  PosixProcesses posix_;
  Site site_;
  std::unique_ptr<RepositoryActuator> actuator_;
  std::string good_, bad_;
  int orders_ = 0;
};

TEST_F(Repositories, ACommitIsTakenBackByACommit) {
  const Order order = Ready(bad_.substr(0, 12));
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kNo);
  const DidResult did = actuator_->Do(order);
  ASSERT_EQ(did.did, Did::kAccepted) << did.detail;
  const ProbeResult probe = actuator_->Probe(order);
  EXPECT_EQ(probe.happened, Happened::kYes);
  EXPECT_THAT(probe.detail, HasSubstr("its tree is the one before"));
  EXPECT_EQ(muster::testing::ReadWhole(Tree() + "/conf"), "one\ntwo\n");
  const std::string message = In("log", "-1", "--format=%B");
  EXPECT_THAT(message, HasSubstr("This reverts commit " + bad_));
  EXPECT_THAT(message, HasSubstr("Muster-Run: r-1"));
  EXPECT_EQ(In("status", "--porcelain"), "");
  EXPECT_EQ(Lines(In("worktree", "list")).size(), 1u);
  // Once more, by this order and by another: nothing is reverted twice.
  const std::string head = In("rev-parse", "HEAD");
  EXPECT_EQ(actuator_->Do(order).did, Did::kAccepted);
  EXPECT_EQ(actuator_->Do(Ready(bad_)).did, Did::kAccepted);
  EXPECT_EQ(In("rev-parse", "HEAD"), head);
}

TEST_F(Repositories, ARevertThatWasRevertedIsNoRevert) {
  const Order order = Ready(bad_);
  ASSERT_EQ(actuator_->Do(order).did, Did::kAccepted);
  In("revert", "--no-edit", "HEAD");
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kNo);
}

TEST_F(Repositories, AConflictLeavesEverythingAsItWas) {
  Commit("one\nother\nbad\n", "the same line");
  LeftAlone(Ready(good_), "newer commits changed the same lines of: conf");
}

TEST_F(Repositories, AMergeIsTakenBackAgainstItsFirstParent) {
  In("checkout", "-q", "-b", "side", good_);
  WriteText(folder_ / "config" / "more", "more\n");
  In("add", "more");
  In("commit", "-q", "-m", "more");
  In("checkout", "-q", "main");
  In("merge", "-q", "--no-ff", "-m", "merged", "side");
  const Order order = Ready(In("rev-parse", "HEAD"));
  ASSERT_EQ(actuator_->Do(order).did, Did::kAccepted);
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kYes);
  EXPECT_FALSE(fs::exists(folder_ / "config" / "more"));
}

TEST_F(Repositories, WhatCannotBeMeantIsSaid) {
  EXPECT_THAT(Refused("HEAD~1"), HasSubstr("hexadecimal"));
  EXPECT_THAT(Refused("1234567"), HasSubstr("there is no commit 1234567"));
  In("checkout", "-q", "-b", "side");
  const std::string other = Commit("x\n", "elsewhere");
  In("checkout", "-q", "main");
  EXPECT_THAT(Refused(other), HasSubstr("is not on the branch"));
  Order order = Make(bad_);
  order.action.params["repository"] = "nosuch";
  EXPECT_THAT(actuator_->Before(order.action).error().ToString(),
              HasSubstr("the site names no repository nosuch"));
  order.action.params = {{"repository", "config"}, {"commit", bad_}, {"push", "force"}};
  EXPECT_THAT(actuator_->CheckAct(order.action).error().message,
              HasSubstr("expected true or false"));
  In("checkout", "-q", "--detach");
  EXPECT_THAT(Refused(bad_), HasSubstr("no branch is checked out"));
}

TEST_F(Repositories, ADirtyTreeIsNobodysToRevertIn) {
  const Order order = Ready(bad_);
  WriteText(folder_ / "config" / "conf", "half an edit\n");
  EXPECT_THAT(Refused(bad_), HasSubstr("changes that are in no commit"));
  LeftAlone(order, "changes that are in no commit");
}

TEST_F(Repositories, ABranchThatMovedSinceTheIntentIsLookedAtAnew) {
  const Order order = Ready(bad_);
  Commit("zero\none\ntwo\nbad\n", "somebody was quicker");
  LeftAlone(order, "main has moved");
  EXPECT_EQ(actuator_->Do(Ready(bad_)).did, Did::kAccepted);
}

TEST_F(Repositories, NothingIsPushedUnlessItIsAskedFor) {
  WithRemote();
  const std::string was = Git("-C", Remote(), "rev-parse", "main");
  ASSERT_EQ(actuator_->Do(Ready(bad_)).did, Did::kAccepted);
  EXPECT_EQ(Git("-C", Remote(), "rev-parse", "main"), was);
}

TEST_F(Repositories, APushedRevertStandsAtTheRemote) {
  WithRemote();
  const Order order = Ready(bad_, "true");
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kNo);
  ASSERT_EQ(actuator_->Do(order).did, Did::kAccepted);
  EXPECT_EQ(Git("-C", Remote(), "rev-parse", "main"), In("rev-parse", "HEAD"));
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kYes);
  // Somebody goes on from there, elsewhere: it still stands.
  Git("clone", "-q", Remote(), (folder_ / "clone").string());
  const std::string clone = (folder_ / "clone").string();
  WriteText(folder_ / "clone" / "conf", "next\n");
  Git("-C", clone, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qam", "next");
  Git("-C", clone, "push", "-q");
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kYes);
  // Then the two differ, and what one has not seen does not go along.
  EXPECT_THAT(Refused(good_, "true"), HasSubstr("pull or push it first"));
}

TEST_F(Repositories, ARemoteThatRefusesLeavesTheTreeAsItWas) {
  WithRemote();
  const Order order = Ready(bad_, "true");
  WriteText(folder_ / "remote.git" / "hooks" / "pre-receive", "#!/bin/sh\nexit 1\n");
  fs::permissions(folder_ / "remote.git" / "hooks" / "pre-receive", fs::perms::owner_all);
  LeftAlone(order, "does not take it");
  fs::remove_all(folder_ / "remote.git");
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kUnknown);
}

TEST_F(Repositories, AnEngineThatSleptIsShutOut) {
  ASSERT_EQ(actuator_->Do(Ready(bad_)).did, Did::kAccepted);
  Order older = Ready(good_);
  older.fence = 9;
  EXPECT_THAT(actuator_->Do(older).detail, HasSubstr("fence 9 is older than 10"));
}

TEST_F(Repositories, WhatACrashLeftIsNoWorktreeOfAnyones) {
  // Killed in the middle: the worktree is there, the branch has not moved.
  const Order order = Ready(bad_);
  const std::string left = (folder_ / "state/config/n1/worktree").string();
  fs::create_directories(folder_ / "state/config/n1");
  In("worktree", "add", "-q", "--detach", left, "HEAD");
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kNo);
  EXPECT_EQ(actuator_->Do(order).did, Did::kAccepted);
  EXPECT_EQ(actuator_->Probe(order).happened, Happened::kYes);
  EXPECT_EQ(Lines(In("worktree", "list")).size(), 1u);
}

TEST_F(Repositories, WhoeverFailsAtTheNthCallNeverInventsASuccess) {
  muster::testing::NeverInventsASuccess(30, [&](FaultPlan& plan) {
    const std::string bad = Commit(fmt::format("one\n{}\n", orders_), "bad again");
    const Order order = Ready(bad);
    FaultyProcesses faulty(posix_, plan);
    RepositoryActuator actuator(
        site_, faulty, RepositoryOptions{folder_.string(), (folder_ / "state").string(), 20});
    const DidResult did = actuator.Do(order);
    const ProbeResult probe = actuator.Probe(order);
    return muster::testing::Told{
        did, probe, Contains(In("log", "-1", "--format=%B"), "This reverts commit " + bad)};
  });
}

}  // namespace
}  // namespace muster::host
