// Nodes of eight GPUs and gangs of pods on an API server in memory: what tests of the live cluster
// begin with.
#pragma once

#include <string>

#include <fmt/format.h>

#include "kube/testing/fake_place.h"

namespace muster::testing {

struct GangCluster {
  explicit GangCluster(int nodes = 2) {
    for (int i = 0; i < nodes; ++i)
      place.api.Put(kube::kNodes, "", fmt::format("n{}", i),
                    R"("status":{"allocatable":{"cpu":"96","pods":"110","nvidia.com/gpu":"8"},)"
                    R"("conditions":[{"type":"Ready","status":"True"}]})");
  }
  // A pod with those labels; on `node`, where one is named.
  void Pod(const std::string& ns, const std::string& name, const std::string& labels, int gpus,
           const std::string& node = "") {
    place.api.Put(
        kube::kPods, ns, name,
        fmt::format(
            R"("metadata":{{"labels":{{{0}}}}},"spec":{{{1}"schedulerName":"muster","containers":)"
            R"([{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"{2}"}},"requests":)"
            R"({{"nvidia.com/gpu":"{2}"}}}}}}]}},"status":{{"phase":"{3}"}})",
            labels, node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node), gpus,
            node.empty() ? "Pending" : "Running"));
  }
  void Gang(const std::string& ns, const std::string& name, int size, int gpus,
            const std::string& node = "") {
    for (int i = 0; i < size; ++i)
      Pod(ns, fmt::format("{}-{}", name, i),
          fmt::format(R"("muster.dev/gang":"{}","muster.dev/gang-size":"{}")", name, size), gpus,
          node);
  }
  kube::testing::FakePlace place;
};

}  // namespace muster::testing
