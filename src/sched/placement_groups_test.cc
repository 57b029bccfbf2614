// Gangs of several task groups against an enumeration of every division over the nodes.
#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sched/testing/run_script.h"

namespace muster::sched {
namespace {

using testing::JobLine;
using testing::NodeLine;
using testing::RunScript;

struct Group {
  int count, gpus, cpus;
};
struct Room {
  int leaf, gpus, cpus;
};

// Whether some division of all ranks over the nodes fits: group by group, node by node.
bool Exists(std::vector<Room> nodes, const std::vector<Group>& groups) {
  const std::function<bool(size_t, size_t, int)> place = [&](size_t g, size_t n, int left) {
    if (left == 0) return g + 1 == groups.size() || place(g + 1, 0, groups[g + 1].count);
    if (n == nodes.size()) return false;
    const Group& group = groups[g];
    for (int here = 0; here <= left; ++here) {
      if (here * group.gpus > nodes[n].gpus || here * group.cpus > nodes[n].cpus) break;
      nodes[n].gpus -= here * group.gpus, nodes[n].cpus -= here * group.cpus;
      const bool found = place(g, n + 1, left - here);
      nodes[n].gpus += here * group.gpus, nodes[n].cpus += here * group.cpus;
      if (found) return true;
    }
    return false;
  };
  return place(0, 0, groups[0].count);
}

RC_GTEST_PROP(PlacementGroups, AGangStartsExactlyWhenADivisionExists, ()) {
  std::string script = "{\"t\":0,\"op\":\"topology\",\"levels\":[\"spine\",\"leaf\",\"node\"]}\n";
  std::vector<Room> nodes;
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    nodes.push_back({i / 3, 8, 96});
    script += NodeLine(i, 0, i / 3);
    const int held = *rc::gen::inRange(0, 8), cpus = *rc::gen::inRange(1, 12) * 8;
    nodes.back().gpus -= held, nodes.back().cpus -= cpus;
    script += "{\"t\":0,\"op\":\"job.adopt\",\"name\":\"h" + std::to_string(i) +
              "\",\"tasks\":[{\"name\":\"w\",\"count\":1,\"shape\":{\"nvidia.com/gpu\":\"" +
              std::to_string(held) + "\",\"cpu\":\"" + std::to_string(cpus) +
              R"("}}],"seats":[{"task":"w","rank":0,"node":"n)" + std::to_string(i) + "\"}]}\n";
  }
  std::vector<Group> groups;
  const int kinds = *rc::gen::inRange(2, 4);
  std::string tasks;
  for (int g = 0; g < kinds; ++g) {
    groups.push_back(
        {*rc::gen::inRange(1, 5), *rc::gen::inRange(0, 6), *rc::gen::inRange(1, 5) * 8});
    tasks += std::string(g > 0 ? "," : "") + "{\"name\":\"t" + std::to_string(g) +
             "\",\"count\":" + std::to_string(groups[static_cast<size_t>(g)].count) +
             ",\"shape\":{\"nvidia.com/gpu\":\"" +
             std::to_string(groups[static_cast<size_t>(g)].gpus) + "\",\"cpu\":\"" +
             std::to_string(groups[static_cast<size_t>(g)].cpus) + "\"}}";
  }
  const bool leaf = *rc::gen::arbitrary<bool>();
  script += "{\"t\":1,\"op\":\"job.submit\",\"name\":\"gang\",\"tasks\":[" + tasks + "]" +
            (leaf ? R"(,"topology":{"required":"leaf"})" : "") + "}\n";
  bool exists = false;
  for (int l = leaf ? 0 : -1; l < (leaf ? 2 : 0); ++l) {
    std::vector<Room> inside;
    for (const Room& room : nodes)
      if (l < 0 || room.leaf == l) inside.push_back(room);
    exists = exists || (!inside.empty() && Exists(inside, groups));
  }
  const auto run = RunScript(script + R"({"t":9,"op":"end"})");
  RC_ASSERT(run.error.empty());
  RC_ASSERT((run.Count({"bind", "\"gang\""}) > 0) == exists);
}

}  // namespace
}  // namespace muster::sched
