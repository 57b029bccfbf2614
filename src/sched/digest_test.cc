// The same decisions, byte for byte, from every compiler and on every machine: the digest of forty
// synthetic runs is a constant. A change of what is decided changes it; then it is set anew,
// knowingly.
#include "base/digest.h"

#include <gtest/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::At;
using testing::ClusterLines;
using testing::JobLine;
using testing::RunScript;

// Knuth's MMIX generator, high bits; one draw a statement, so that no compiler may reorder them.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  int Below(int bound) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

std::string Script(uint64_t seed) {
  Draws draws(seed);
  const int nodes = 4 + draws.Below(9);
  std::string script = ClusterLines(nodes);
  script += At(0, R"("op":"flavor.add","name":"f")") + At(0, R"("op":"queue.add","name":"root")");
  for (const char* name : {"x", "y"}) {
    const int nominal = draws.Below(60);
    script += At(
        0,
        R"("op":"queue.add","name":")" + std::string(name) +
            R"(","parent":"root","order":"fair","preempt":{"within":"lower-priority","reclaim":"any"},)" +
            R"("quota":[{"flavor":"f","resource":"nvidia.com/gpu","nominal":")" +
            std::to_string(nominal) + "\"}]");
  }
  int64_t t = 1;
  for (int i = 0; i < 40; ++i) {
    t += draws.Below(40);
    const int ranks = 1 + draws.Below(6), gpus = 1 << draws.Below(4), span = 1 + draws.Below(200);
    const int priority = draws.Below(3), kind = draws.Below(8), share = 100 * (1 + draws.Below(9));
    std::string more = draws.Below(2) == 0 ? R"(,"queue":"x")" : R"(,"queue":"y")";
    more += ",\"priority\":" + std::to_string(priority);
    if (kind < 6) more += ",\"duration\":" + std::to_string(span);
    if (kind == 1) more += R"(,"topology":{"required":"leaf"})";
    if (kind == 2) more += ",\"max_wait\":" + std::to_string(span);
    std::string line = JobLine(t, "j" + std::to_string(i), ranks, gpus, more);
    if (kind == 3)
      line = At(t, R"("op":"job.submit","name":"j)" + std::to_string(i) +
                       R"(","tasks":[{"name":"w","count":1,"shape":{"cpu":"2","gpu_milli":")" +
                       std::to_string(share) + "\"}}]" + more);
    script += line;
    const int fails = draws.Below(12), node = draws.Below(nodes);
    if (fails == 0) script += At(t, R"("op":"node.fail","name":"n)" + std::to_string(node) + "\"");
    if (fails == 1)
      script += At(t, R"("op":"node.uncordon","name":"n)" + std::to_string(node) + "\"");
  }
  return script + R"({"t":9000,"op":"end"})";
}

TEST(Digest, IsTheSameOnEveryMachine) {
  std::string all;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto run = RunScript(Script(seed));
    ASSERT_EQ(run.error, "");
    for (const std::string& line : run.lines) all += line + "\n";
  }
  EXPECT_EQ(Sha256Hex(all), "fea390b68bb6d0bedd097c17d9f3aa479711ff199f9d1e921a46d45db301c0e3");
}

}  // namespace
}  // namespace muster::sched
