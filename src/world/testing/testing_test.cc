// The fakes themselves: a test that trusts a fake trusts these.
#include <gtest/gtest.h>

#include "world/testing/fake_clock.h"
#include "world/testing/faulty.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_http.h"
#include "world/testing/scripted_processes.h"

namespace muster::testing {
namespace {

TEST(FakeClockTest, SleepMovesBothClocksAndJumpOnlyTheWall) {
  FakeClock clock;
  const TimePoint wall = clock.Now();
  clock.SleepFor(std::chrono::seconds(5));
  EXPECT_EQ(clock.Now() - wall, std::chrono::seconds(5));
  EXPECT_EQ(clock.Monotonic(), std::chrono::seconds(5));
  clock.Jump(std::chrono::hours(-1));
  EXPECT_LT(clock.Now(), wall);
  EXPECT_EQ(clock.Monotonic(), std::chrono::seconds(5));
}

TEST(MemoryFilesTest, PowerCutDropsWhatWasNotSynced) {
  MemoryFiles files;
  auto file = *files.OpenAppend("/d/log");
  ASSERT_TRUE(file->Append("kept").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append("lost").ok());
  EXPECT_EQ(*files.Read("/d/log"), "keptlost");
  files.Crash(2);
  EXPECT_EQ(*files.Read("/d/log"), "keptlo");
  EXPECT_FALSE(file->Append("x").ok());
  EXPECT_FALSE(file->Sync().ok());
}

TEST(MemoryFilesTest, AtomicWriteSurvivesThePowerCut) {
  MemoryFiles files;
  ASSERT_TRUE(files.WriteAtomic("/f", "old").ok());
  ASSERT_TRUE(files.WriteAtomic("/f", "new").ok());
  files.Crash();
  EXPECT_EQ(*files.Read("/f"), "new");
}

TEST(MemoryFilesTest, FullDiskTakesWhatFitsAndKeepsTheOldFile) {
  MemoryFiles files;
  files.SetCapacity(6);
  ASSERT_TRUE(files.WriteAtomic("/f", "1234").ok());
  auto file = *files.OpenAppend("/g");
  const Status put = file->Append("5678");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, Code::kUnavailable);
  EXPECT_EQ(*files.Read("/g"), "56");
  EXPECT_FALSE(files.WriteAtomic("/f", "9").ok());
  EXPECT_EQ(*files.Read("/f"), "1234");
}

TEST(MemoryFilesTest, FoldersListTheirOwnEntriesSorted) {
  MemoryFiles files;
  files.Put("/a/z", "1");
  files.Put("/a/b/c", "22");
  const auto list = files.List("/a/");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].name, "b");
  EXPECT_TRUE((*list)[0].is_directory);
  EXPECT_EQ((*list)[1].name, "z");
  EXPECT_EQ(files.List("/none").error().code, Code::kNotFound);
  ASSERT_TRUE(files.Remove("/a/b").ok());
  EXPECT_EQ(files.Paths(), std::vector<std::string>{"/a/z"});
}

TEST(MemoryFilesTest, LockNamesItsHolderAndEndsWithIt) {
  MemoryFiles files;
  auto lock = files.Lock("/lock", "first");
  ASSERT_TRUE(lock.ok());
  const auto second = files.Lock("/lock", "second");
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_NE(second.error().message.find("first"), std::string::npos);
  lock->reset();
  EXPECT_TRUE(files.Lock("/lock", "second").ok());
}

TEST(ScriptedProcessesTest, AnswersComeInOrderAndTheLastStays) {
  ScriptedProcesses processes;
  processes.Prints("a b", "1");
  processes.Prints("a b", "2");
  EXPECT_EQ(processes.Run({{"a", "b"}})->out, "1");
  EXPECT_EQ(processes.Run({{"a", "b"}})->out, "2");
  EXPECT_EQ(processes.Run({{"a", "b"}})->out, "2");
  EXPECT_EQ(processes.Run({{"other"}}).error().code, Code::kNotFound);
  EXPECT_EQ(processes.asked().size(), 4u);
}

TEST(ScriptedHttpTest, PiecesComeOneByOneUntilTheCallerStops) {
  ScriptedHttp http;
  http.ServesPieces("POST http://m/chat", {"a", "b", "c"});
  HttpRequest request;
  request.method = "POST";
  request.url = "http://m/chat";
  std::string got;
  Duration sent{};
  const auto response = http.Stream(
      request,
      [&](std::string_view bytes, Duration at) {
        EXPECT_GT(at, sent);
        got += bytes;
        return got.size() < 2;
      },
      sent);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(got, "ab");
  request.method = "GET";
  EXPECT_EQ(http.Do(request).error().code, Code::kUnavailable);
}

TEST(FaultyTest, OnlyTheNthCallBreaks) {
  MemoryFiles inner;
  FaultPlan plan(FaultKind::kFail, 2);
  FaultyFiles files(inner, plan);
  EXPECT_TRUE(files.WriteAtomic("/f", "1").ok());
  EXPECT_FALSE(files.WriteAtomic("/f", "2").ok());
  EXPECT_EQ(*files.Read("/f"), "1");
  EXPECT_TRUE(plan.reached());
}

TEST(FaultyTest, GarbledAppendArrivesHalfAndLateOneArrivesWhole) {
  for (const auto& [kind, expected] :
       {std::pair{FaultKind::kGarble, "12"}, std::pair{FaultKind::kLate, "1234"},
        std::pair{FaultKind::kFail, ""}, std::pair{FaultKind::kHang, ""}}) {
    MemoryFiles inner;
    FaultPlan plan(kind, 2);
    FaultyFiles files(inner, plan);
    auto file = *files.OpenAppend("/f");
    EXPECT_FALSE(file->Append("1234").ok());
    EXPECT_EQ(*inner.Read("/f"), expected);
  }
}

TEST(FaultyTest, HangingCommandSaysSoAndLosesHalfItsOutput) {
  ScriptedProcesses inner;
  inner.Prints("tool", "1234");
  FaultPlan plan(FaultKind::kHang, 1);
  FaultyProcesses processes(inner, plan);
  const auto result = processes.Run({{"tool"}});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->out, "12");
}

TEST(FaultyTest, HangingStreamGivesOnePieceAndThenATimeout) {
  ScriptedHttp inner;
  inner.ServesPieces("http://m/", {"a", "b"});
  FaultPlan plan(FaultKind::kHang, 1);
  FaultyHttp http(inner, plan);
  HttpRequest request;
  request.url = "http://m/";
  std::string got;
  Duration sent{};
  const auto response = http.Stream(
      request,
      [&](std::string_view bytes, Duration) {
        got += bytes;
        return true;
      },
      sent);
  EXPECT_EQ(response.error().code, Code::kTimeout);
  EXPECT_EQ(got, "a");
}

}  // namespace
}  // namespace muster::testing
