#include "app/sched_bench_load.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster {

namespace {
constexpr int kNodesPerLeaf = 32, kLeavesPerSpine = 8;
constexpr int64_t kMonthMs = 30ll * 24 * 3600 * 1000;
}  // namespace

std::string BenchNodes(int nodes, bool tree) {
  std::string text;
  if (tree) text = "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
  for (int i = 0; i < nodes; ++i) {
    const int leaf = i / kNodesPerLeaf;
    const std::string at =
        tree ? fmt::format("\"at\":[\"s{}\",\"l{}\"],", leaf / kLeavesPerSpine, leaf) : "";
    text += fmt::format(
        "{{\"t\":0,\"op\":\"node.add\",\"name\":\"n{}\",{}\"capacity\":{{"
        "\"cpu\":\"192\",\"memory\":\"2Ti\",\"nvidia.com/gpu\":\"8\",\"rdma/ib\":\"8\"}}}}\n",
        i, at);
  }
  return text;
}

std::string BenchGang(int64_t t, const std::string& name, int ranks, int gpus,
                      const std::string& more) {
  return fmt::format(
      "{{\"t\":{},\"op\":\"job.submit\",\"name\":\"{}\",\"tasks\":[{{\"name\":\"w\",\"count\":{},"
      "\"shape\":{{\"cpu\":\"{}\",\"nvidia.com/gpu\":\"{}\",\"rdma/ib\":\"{}\"}}}}]{}}}\n",
      t, name, ranks, gpus * 4, gpus, gpus, more);
}

std::string BenchPods(int pods, BenchDice& dice, std::vector<std::string>& gangs) {
  static constexpr const char* kCpus[] = {"500m", "1", "2", "4"};
  static constexpr const char* kMemory[] = {"1Gi", "2Gi", "4Gi", "8Gi"};
  static constexpr int kMilli[] = {100, 200, 250, 500};
  std::string text;
  int made = 0;
  const auto single = [&](const std::string& shape) {
    text += fmt::format(
        "{{\"t\":1,\"op\":\"job.submit\",\"name\":\"p{}\",\"tasks\":[{{\"name\":\"w\",\"count\":1,"
        "\"shape\":{{{}}}}}]}}\n",
        made++, shape);
  };
  while (made < pods * 15 / 100) {
    const int ranks = std::min(8 << dice.Below(6), pods * 15 / 100 - made);
    gangs.push_back(fmt::format("g{}", made));
    text += BenchGang(1, gangs.back(), ranks, dice.Below(12) == 0 ? 4 : 1);
    made += ranks;
  }
  while (made < pods * 40 / 100)
    single(fmt::format("\"cpu\":\"1\",\"gpu_milli\":\"{}\"", kMilli[dice.Below(4)]));
  while (made < pods)
    single(fmt::format("\"cpu\":\"{}\",\"memory\":\"{}\"", kCpus[dice.Below(4)],
                       kMemory[dice.Below(4)]));
  return text;
}

std::string BenchMonth(int jobs, int gpus, int load_percent, BenchDice& dice) {
  struct Size {
    int ranks, gpus_each;
  };
  std::vector<Size> sizes;
  int64_t gpus_asked = 0;
  std::vector<int64_t> weights;
  for (int i = 0; i < jobs; ++i) {
    // 2^0 to 2^12 GPUs, each size 0.72 as frequent as the one below.
    int power = 0;
    while (power < 12 && (2 << power) <= gpus && dice.Below(25) < 18) ++power;
    const int count = 1 << power;
    sizes.push_back({std::max(1, count / 8), std::min(count, 8)});
    weights.push_back(1 + dice.Below(100));
    gpus_asked += count * weights.back();
  }
  const int64_t budget = static_cast<int64_t>(gpus) * kMonthMs / 100 * load_percent;
  const int64_t unit = std::max<int64_t>(1, budget / std::max<int64_t>(1, gpus_asked));
  std::string text;
  std::vector<int64_t> arrivals;
  for (int i = 0; i < jobs; ++i)
    arrivals.push_back(int64_t{dice.Below(30 * 24 * 3600)} * 1000 + dice.Below(1000));
  std::sort(arrivals.begin(), arrivals.end());
  for (int i = 0; i < jobs; ++i) {
    const size_t at = static_cast<size_t>(i);
    const int64_t span = std::min<int64_t>(weights[at] * unit, 3 * kMonthMs / 30);
    text += BenchGang(arrivals[at], fmt::format("m{}", i), sizes[at].ranks, sizes[at].gpus_each,
                      fmt::format(",\"duration\":{},\"priority\":{}", span, dice.Below(3)));
  }
  return text;
}

}  // namespace muster
