#include "app/sched_shapes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "manifest/quantity.h"
#include "sched/numa/node_lines.h"

namespace muster {
namespace {

void AppendResources(const Resources& resources, std::string& key) {
  for (const auto& [name, amount] : resources) key += fmt::format("{}={},", name, amount);
  key += ';';
}

// Two nodes with the same key are the same machine to their kubelets.
std::string ClassKey(const numa::NodeFacts& node) {
  std::string key =
      fmt::format("{};{};{};{};", node.policy, node.scope, node.cpu_manager, node.memory_manager);
  AppendResources(node.capacity, key);
  AppendResources(node.reserved, key);
  for (const numa::ZoneFacts& zone : node.zones) {
    AppendResources(zone.amounts, key);
    for (const auto& [name, ids] : zone.devices) {
      key += fmt::format("{}:{},", name, fmt::join(ids, "."));
    }
    key += '|';
  }
  return key;
}

Result<Resources> ReadPerUnit(const std::vector<std::string>& texts) {
  Resources resources;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Fail(Code::kInvalid,
                  fmt::format("\"{}\": expected RESOURCE=AMOUNT, such as rdma/ib=1", text));
    }
    const std::string name = text.substr(0, equals);
    auto amount = ParseResourceAmount(name, text.substr(equals + 1));
    if (!amount.ok()) return Fail(std::move(amount.error()).Context(text));
    constexpr int64_t kMost = int64_t{1} << 50;  // 64 times it stays within 64 bits
    if (*amount < 0 || *amount > kMost) {
      return Fail(Code::kInvalid, fmt::format("\"{}\": expected 0 to {}", text, kMost));
    }
    if (!resources.emplace(name, *amount).second) {
      return Fail(Code::kInvalid, fmt::format("{} is given twice", name));
    }
  }
  return resources;
}

NodeClassShapes JudgeClass(const numa::NodeFacts& node, const std::string& resource,
                           const Resources& per_unit) {
  NodeClassShapes shapes;
  const auto sheet = [&]() -> Result<numa::ShapeSheet> {
    TRY(numa::MachineSpec spec, numa::DescribeMachine(node));
    TRY(const numa::Machine machine, numa::BuildMachine(std::move(spec)));
    return numa::ValidShapes(machine, resource, per_unit);
  }();
  if (sheet.ok()) {
    shapes.sheet = *sheet;
  } else {
    shapes.sheet.resource = resource;
    shapes.unknown = sheet.error().message;
  }
  return shapes;
}

}  // namespace

Result<ShapesReport> NodeShapesOf(const std::vector<numa::NodeFacts>& nodes,
                                  const ShapesRequest& request) {
  TRY(const Resources per_unit, ReadPerUnit(request.per_unit));
  ShapesReport report;
  std::map<std::string, size_t> classes;  // by key and resource
  for (const numa::NodeFacts& node : nodes) {
    const std::string key = ClassKey(node);
    bool any = false;
    for (const auto& [name, count] : node.capacity) {
      if (request.resource.empty() ? !IsWholeGpuResource(name) : name != request.resource) continue;
      if (count == 0) continue;
      any = true;
      const auto [it, fresh] = classes.emplace(key + name, report.classes.size());
      if (fresh) report.classes.push_back(JudgeClass(node, name, per_unit));
      report.classes[it->second].nodes.push_back(node.name);
    }
    if (!any) report.without.push_back(node.name);
  }
  if (report.classes.empty()) {
    return Fail(Code::kNotFound,
                fmt::format("no node of the script has {}",
                            request.resource.empty() ? "a GPU resource" : request.resource));
  }
  std::stable_sort(report.classes.begin(), report.classes.end(),
                   [](const NodeClassShapes& a, const NodeClassShapes& b) {
                     return a.nodes.size() > b.nodes.size();
                   });
  return report;
}

Result<ShapesReport> NodeShapes(Files& files, const ShapesRequest& request) {
  TRY(const std::string text, files.Read(request.file));
  auto nodes = numa::ReadNodeLines(text);
  if (!nodes.ok()) return Fail(std::move(nodes.error()).Context("reading " + request.file));
  return NodeShapesOf(*nodes, request);
}

}  // namespace muster
