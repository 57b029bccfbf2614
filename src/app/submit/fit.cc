#include "app/submit/fit.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace muster::submit {

namespace {

Status TooMany(const Asked& asked, int64_t room) {
  return Fail(Code::kInvalid, fmt::format("{} pods of {} {}: the whole inventory takes {} of them",
                                          asked.pods, asked.gpus, asked.resource, room));
}

}  // namespace

Status FitsNodes(const ShapesReport& report, const Asked& asked) {
  if (asked.gpus == 0) return {};
  int64_t room = 0;
  bool admitted = false, unknown = false;
  std::string refusals;
  for (const NodeClassShapes& shapes : report.classes) {
    if (shapes.sheet.resource != asked.resource) continue;
    if (!shapes.unknown.empty()) {
      unknown = true;
      continue;
    }
    for (const numa::ShapeVerdict& verdict : shapes.sheet.verdicts) {
      if (verdict.count != asked.gpus || !verdict.admitted) continue;
      admitted = true;
      room += static_cast<int64_t>(verdict.per_node) * static_cast<int64_t>(shapes.nodes.size());
    }
    refusals += fmt::format("\n  {} node(s) like {}: {}", shapes.nodes.size(), shapes.nodes.front(),
                            numa::RefusalAtSubmit(shapes.sheet, asked.gpus));
  }
  if (unknown) return {};  // what cannot be judged is not refused; the kubelets will say
  if (!admitted) {
    return Fail(Code::kInvalid, fmt::format("no node takes a pod of {} {}{}", asked.gpus,
                                            asked.resource, refusals));
  }
  return room < asked.pods ? TooMany(asked, room) : Status();
}

Status FitsSite(const Cluster& cluster, const Asked& asked) {
  if (asked.gpus == 0) return {};
  int64_t room = 0;
  std::set<int> valid;
  std::string layouts;
  std::map<std::pair<int, int>, int> kinds;  // domains and GPUs of one, and how many nodes
  for (const Node& node : cluster.nodes) {
    const int all = static_cast<int>(node.gpus.size());
    const bool nvidia = node.family == GpuFamily::kNvidia;
    if (all == 0 || nvidia != (asked.resource == "nvidia.com/gpu")) continue;
    std::map<int, int> by_domain;
    for (const Gpu& gpu : node.gpus) ++by_domain[gpu.numa];
    int largest = 0, here = 0;
    for (const auto& [domain, count] : by_domain) {
      largest = std::max(largest, count);
      here += count / asked.gpus;
    }
    ++kinds[{static_cast<int>(by_domain.size()), largest}];
    for (int n = 1; n <= largest; ++n) valid.insert(n);
    valid.insert(all);
    room += asked.gpus == all ? 1 : here;
  }
  if (kinds.empty())
    return Fail(Code::kInvalid, fmt::format("no node of the site has {}", asked.resource));
  for (const auto& [kind, nodes] : kinds)
    layouts += fmt::format("{}{} x ({} domains of {})", layouts.empty() ? "" : ", ", nodes,
                           kind.first, kind.second);
  if (valid.count(asked.gpus) == 0) {
    return Fail(Code::kInvalid,
                fmt::format("{} {} in a pod on {}: it spans NUMA domains and leaves GPUs that no "
                            "equal shape takes; valid {}",
                            asked.gpus, asked.resource, layouts,
                            numa::FormatCounts({valid.begin(), valid.end()})));
  }
  return room < asked.pods ? TooMany(asked, room) : Status();
}

}  // namespace muster::submit
