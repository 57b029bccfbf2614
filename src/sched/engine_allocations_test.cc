// What changes nothing costs nothing: no allocation while the state stays as it is.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

// Sanitizers count and check allocations themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MUSTER_OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MUSTER_OWN_ALLOCATOR 0
#endif
#endif
#ifndef MUSTER_OWN_ALLOCATOR
#define MUSTER_OWN_ALLOCATOR 1
#endif

namespace {
std::atomic<int64_t> allocations{0};
}

#if MUSTER_OWN_ALLOCATOR
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new[](size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace muster::sched {
namespace {

using testing::ClusterLines;
using testing::JobLine;

TEST(EngineAllocations, EventsThatChangeNothingAllocateNothing) {
  if (MUSTER_OWN_ALLOCATOR == 0) GTEST_SKIP() << "a sanitizer has the allocator";
  std::string script = ClusterLines(64);
  for (int i = 0; i < 40; ++i) script += JobLine(1, "runs" + std::to_string(i), 1, 8);
  for (int i = 0; i < 30; ++i) script += JobLine(2, "waits" + std::to_string(i), 30 + i, 8);
  Engine engine;
  std::vector<Decision> out;
  const auto events = ReadScript(script);
  ASSERT_TRUE(events.ok());
  for (const Event& event : *events) ASSERT_TRUE(engine.Take(event, out).ok());
  engine.Settle(out);
  ASSERT_EQ(engine.running_jobs(), 40);
  ASSERT_EQ(engine.pending_jobs(), 30);

  std::vector<Event> beats;  // as a live watch repeats them
  for (int i = 0; i < 64; ++i) {
    const std::string node = "n" + std::to_string(i);
    beats.push_back({10 + i, NodeHealth{node, Health::kAccepted}});
    beats.push_back({10 + i, NodeChange{node, NodeVerb::kUncordon}});
    beats.push_back({10 + i, JobEnd{"waits3", JobVerb::kFinish}});
  }
  const size_t said = out.size();
  const int64_t before = allocations;
  bool good = true;
  for (const Event& event : beats) good = engine.Take(event, out).ok() && good;
  for (int i = 0; i < 1000; ++i) engine.Settle(out);
  engine.Run(5000, out);
  const int64_t after = allocations;
  EXPECT_TRUE(good);
  EXPECT_EQ(after - before, 0);
  EXPECT_EQ(out.size(), said);
}

// Allocations of one more arrival where `waiting` others of its kind wait.
int64_t OneMoreBehind(int waiting) {
  std::string script = ClusterLines(4);
  for (int i = 0; i < waiting; ++i) script += JobLine(1, "waits" + std::to_string(i), 5, 8);
  const auto events = ReadScript(script + JobLine(2, "first", 5, 8) + JobLine(3, "last", 5, 8));
  if (!events.ok()) return -1;
  Engine engine = Engine().Fork();  // says no changes that would help: those are copies
  std::vector<Decision> out;
  int64_t before = 0;
  for (const Event& event : *events) {
    before = allocations;
    if (!engine.Take(event, out).ok()) return -1;
  }
  engine.Settle(out);
  return allocations - before;
}

TEST(EngineAllocations, ThousandsWhoWaitAlikeAreExplainedOnce) {
  if (MUSTER_OWN_ALLOCATOR == 0) GTEST_SKIP() << "a sanitizer has the allocator";
  const int64_t few = OneMoreBehind(100), many = OneMoreBehind(3000);
  ASSERT_GT(few, 0);
  EXPECT_LE(many, few + 30) << "lists of them grow, and nothing else";
}

}  // namespace
}  // namespace muster::sched
