// What changes nothing costs nothing: no allocation while the state stays as it is.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

namespace {
std::atomic<int64_t> allocations{0};
}

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

namespace muster::sched {
namespace {

using testing::ClusterLines;
using testing::JobLine;

TEST(EngineAllocations, EventsThatChangeNothingAllocateNothing) {
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

}  // namespace
}  // namespace muster::sched
