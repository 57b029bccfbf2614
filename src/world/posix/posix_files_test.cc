// The real files of this machine.
#include <atomic>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "world/testing/posix_fixture.h"

namespace muster {
namespace {

using testing::PosixTest;

TEST_F(PosixTest, WrittenFileReadsBackAndLeavesNothingBeside) {
  const std::string bytes("a\0b\xff\n", 5);
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), bytes).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), bytes).ok());
  EXPECT_EQ(*w_.files.Read(Path("f")), bytes);
  EXPECT_EQ(w_.files.List(folder_)->size(), 1u);
}

TEST_F(PosixTest, MissingForbiddenAndTooLargeAreToldApart) {
  EXPECT_EQ(w_.files.Read(Path("absent")).error().code, Code::kNotFound);
  ASSERT_TRUE(w_.files.WriteAtomic(Path("f"), "12345").ok());
  EXPECT_EQ(w_.files.Read(Path("f"), 4).error().code, Code::kInvalid);
  EXPECT_EQ(*w_.files.Read(Path("f"), 5), "12345");
  EXPECT_EQ(w_.files.Read(folder_).error().code, Code::kInvalid);
  EXPECT_EQ(w_.files.Read(Path("f/g")).error().code, Code::kNotFound);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ::chmod(Path("f").c_str(), 0);
  EXPECT_EQ(w_.files.Read(Path("f")).error().code, Code::kPermission);
}

TEST_F(PosixTest, KernelFilesWhoseSizeIsALieAreReadWhole) {
  EXPECT_TRUE(Contains(*w_.files.Read("/proc/self/status"), "Pid:"));
}

TEST_F(PosixTest, KeyIsReadableByItsOwnerOnly) {
  ASSERT_TRUE(w_.files.WriteAtomic(Path("site.key"), "secret").ok());
  struct stat s{};
  ASSERT_EQ(::stat(Path("site.key").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0077, 0u);
}

TEST_F(PosixTest, AppendsAddUpAndCutShortens) {
  {
    auto file = w_.files.OpenAppend(Path("log"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append("one").ok());
    ASSERT_TRUE((*file)->Sync().ok());
  }
  auto again = w_.files.OpenAppend(Path("log"));
  ASSERT_TRUE((*again)->Append("two").ok());
  EXPECT_EQ(*w_.files.Read(Path("log")), "onetwo");
  ASSERT_TRUE(w_.files.Truncate(Path("log"), 3).ok());
  ASSERT_TRUE((*again)->Append("!").ok());
  EXPECT_EQ(*w_.files.Read(Path("log")), "one!");
}

TEST_F(PosixTest, ListIsSortedAndFollowsLinks) {
  ASSERT_TRUE(w_.files.MakeFolders(Path("b/inner")).ok());
  ASSERT_TRUE(w_.files.MakeFolders(Path("b/inner")).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("c"), "xyz").ok());
  ASSERT_EQ(::symlink("b", Path("a").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", Path("d").c_str()), 0);
  const auto list = w_.files.List(folder_);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 4u);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_TRUE((*list)[0].is_directory);
  EXPECT_EQ((*list)[2].size, 3u);
  EXPECT_FALSE((*list)[3].is_directory);
  EXPECT_EQ(w_.files.List(Path("absent")).error().code, Code::kNotFound);
}

TEST_F(PosixTest, RemoveTakesAFolderWithAllInItAndForgivesAbsence) {
  ASSERT_TRUE(w_.files.MakeFolders(Path("x/y")).ok());
  ASSERT_TRUE(w_.files.WriteAtomic(Path("x/y/f"), "1").ok());
  EXPECT_TRUE(w_.files.Remove(Path("x")).ok());
  EXPECT_TRUE(w_.files.Remove(Path("x")).ok());
  EXPECT_EQ(w_.files.Stat(Path("x")).error().code, Code::kNotFound);
}

TEST_F(PosixTest, RemoveTakesAFolderWhoseFilesVanishMeanwhile) {
  constexpr int kFiles = 500, kRemovers = 3;
  ASSERT_TRUE(w_.files.MakeFolders(Path("x")).ok());
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(w_.files.WriteAtomic(Path(fmt::format("x/{}", i)), "1").ok());
  }
  std::atomic<int> waiting = kRemovers;
  std::vector<std::thread> removers;
  for (int i = 0; i < kRemovers; ++i) {
    removers.emplace_back([&] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      const Status removed = w_.files.Remove(Path("x"));
      EXPECT_TRUE(removed.ok()) << removed.error().ToString();
      EXPECT_EQ(w_.files.Stat(Path("x")).error().code, Code::kNotFound);
    });
  }
  for (std::thread& remover : removers) remover.join();
}

TEST_F(PosixTest, SecondLockIsRefusedNamingTheFirst) {
  auto first = w_.files.Lock(Path("lock"), "run 17, pid 42");
  ASSERT_TRUE(first.ok());
  const auto second = w_.files.Lock(Path("lock"), "run 18");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_TRUE(Contains(second.error().message, "run 17, pid 42"));
  first->reset();
  EXPECT_TRUE(w_.files.Lock(Path("lock"), "run 18").ok());
}

TEST_F(PosixTest, LockOfADeadProcessIsFree) {
  const pid_t child = ::fork();
  if (child == 0) {
    PosixFiles files;
    const auto lock = files.Lock(Path("lock"), "child");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(w_.files.Lock(Path("lock"), "parent").ok());
}

TEST_F(PosixTest, FullDiskIsSaid) {
  auto full = w_.files.OpenAppend("/dev/full");
  if (!full.ok()) GTEST_SKIP() << "no /dev/full here";
  const Status put = (*full)->Append("x");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, Code::kUnavailable);
  EXPECT_TRUE(Contains(put.error().message, "No space left"));
}

}  // namespace
}  // namespace muster
