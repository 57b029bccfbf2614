#include "app/pool.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/document.h"
#include "sched/numa/describe.h"
#include "sched/numa/shapes.h"

namespace muster {

namespace {

constexpr const char* kGpuResource = "nvidia.com/gpu";

std::map<int, std::vector<int>> GpusByDomain(const Node& node) {
  std::map<int, std::vector<int>> domains;
  for (const Gpu& gpu : node.gpus) domains[gpu.numa].push_back(gpu.index);
  return domains;
}

std::string LayoutOf(const Node& node) {
  const auto domains = GpusByDomain(node);
  std::set<size_t> sizes;
  for (const auto& [domain, gpus] : domains) sizes.insert(gpus.size());
  if (sizes.size() == 1) return fmt::format("{}x{}", domains.size(), *sizes.begin());
  std::vector<std::string> parts;
  for (const auto& [domain, gpus] : domains) parts.push_back(std::to_string(gpus.size()));
  return Join(parts, "+");
}

std::string ClassOf(const Node& node) {
  if (node.gpus.empty()) return "no GPUs";
  const std::string& model = node.gpus.front().model;
  return fmt::format("{}, {}, {} adapter{}", model.empty() ? "GPU of any model" : model,
                     LayoutOf(node), node.nics.size(), node.nics.size() == 1 ? "" : "s");
}

// The adapters on the GPU's own domain; the inventory knows no PCIe switches.
PoolAnswer NearestAdapter(const Node& node) {
  PoolAnswer answer{"nearest adapter of each GPU", "", Level::kPass, ""};
  if (node.nics.empty())
    return {answer.question, "the inventory has no adapters", Level::kUnknown,
            "nvidia-smi topo -m; muster check --gate 3"};
  std::vector<std::string> far;
  std::map<int, std::vector<std::string>> by_domain;
  for (const Nic& nic : node.nics) by_domain[nic.numa].push_back(nic.device);
  for (const Gpu& gpu : node.gpus) {
    if (!by_domain.contains(gpu.numa)) far.push_back(fmt::format("gpu{}", gpu.index));
  }
  std::vector<std::string> parts;
  for (const auto& [domain, devices] : by_domain)
    parts.push_back(fmt::format("NUMA {}: {}", domain, Join(devices, " ")));
  answer.answer = Join(parts, "; ");
  if (!far.empty()) {
    answer.level = Level::kWarn;
    answer.answer += fmt::format("; none on the domain of {}", Join(far, " "));
  }
  return answer;
}

PoolAnswer PolicyAnswer(const Site& site, const std::optional<KubeletPolicy>& kubelet) {
  PoolAnswer answer{"policy that enforces it", "", Level::kUnknown, ""};
  if (!kubelet) {
    if (site.kind == SiteKind::kLab || site.kind == SiteKind::kHost)
      return {answer.question, "no kubelet on this site: Muster refuses the shape at submit",
              Level::kPass, ""};
    answer.answer = "not told";
    answer.who = "--kubelet-config FILE";
    return answer;
  }
  answer.answer =
      fmt::format("{} at scope {}, CPU manager {}, memory manager {} ({})", kubelet->policy,
                  kubelet->scope, kubelet->cpu_manager, kubelet->memory_manager, kubelet->source);
  answer.level = Level::kPass;
  if (kubelet->policy == "none" || kubelet->policy == "best-effort") {
    answer.level = Level::kWarn;
    answer.answer += ": it admits shapes that cross NUMA domains";
  } else if (kubelet->cpu_manager != "static") {
    answer.level = Level::kWarn;
    answer.answer += ": without the static CPU manager the CPUs are not aligned with the GPUs";
  }
  return answer;
}

PoolAnswer FragmentationAnswer(const NodeShapes& shapes, size_t gpus) {
  PoolAnswer answer{"fragmentation", "", Level::kPass, ""};
  std::vector<int> odd;
  for (const int count : shapes.valid) {
    if (gpus % static_cast<size_t>(count) != 0) odd.push_back(count);
  }
  answer.answer = odd.empty() ? "every valid shape divides the node"
                              : fmt::format(
                                    "shapes of {} leave GPUs that no shape of the same size "
                                    "can use; the scheduler keeps whole nodes for large "
                                    "shapes",
                                    numa::FormatCounts(odd));
  return answer;
}

}  // namespace

Result<KubeletPolicy> ReadKubeletPolicy(std::string text, const std::string& path) {
  TRY(const ManifestFile file, ParseManifestFile(std::move(text), path));
  for (const Document& doc : file.documents) {
    if (doc.kind != ManifestKind::kKubeletConfiguration) continue;
    KubeletPolicy policy;
    policy.source = path;
    const auto read = [&](const char* key, std::string& into) {
      const std::string& value = TextOf(Key(doc.root, key));
      if (!value.empty()) into = value;
    };
    read("topologyManagerPolicy", policy.policy);
    read("topologyManagerScope", policy.scope);
    read("cpuManagerPolicy", policy.cpu_manager);
    read("memoryManagerPolicy", policy.memory_manager);
    if (const auto known = numa::ParsePolicy(policy.policy); !known.ok())
      return Fail(Code::kInvalid,
                  fmt::format("{}: topologyManagerPolicy: {}", path, known.error().message));
    return policy;
  }
  return Fail(Code::kInvalid, fmt::format("{}: no KubeletConfiguration is in it", path));
}

Result<NodeShapes> ShapesOf(const Node& node, const KubeletPolicy& kubelet) {
  numa::NodeFacts facts;
  facts.name = node.name;
  facts.capacity[kGpuResource] = static_cast<int64_t>(node.gpus.size());
  std::map<int, numa::ZoneFacts> zones;
  for (int domain = 0; domain < node.numa_domains; ++domain) zones[domain];
  for (const auto& [domain, gpus] : GpusByDomain(node)) zones[domain].devices[kGpuResource] = gpus;
  for (auto& [domain, zone] : zones) {
    // The inventory has no CPUs. Devices alone are asked about, so any number of them does.
    zone.amounts["cpu"] = 64'000;
    facts.zones.push_back(zone);
  }
  facts.capacity["cpu"] = 64'000 * static_cast<int64_t>(facts.zones.size());
  facts.policy = kubelet.policy;
  facts.scope = kubelet.scope;
  TRY(numa::MachineSpec spec, numa::DescribeMachine(facts));
  TRY(const numa::Machine machine, numa::BuildMachine(std::move(spec)));
  TRY(const numa::ShapeSheet sheet, numa::ValidShapes(machine, kGpuResource));
  NodeShapes shapes;
  shapes.valid = sheet.valid;
  for (const numa::ShapeVerdict& verdict : sheet.verdicts) {
    if (!verdict.admitted) shapes.refused[verdict.count] = verdict.why;
  }
  return shapes;
}

std::vector<PoolSheet> PoolSheets(const Site& site, const std::optional<KubeletPolicy>& kubelet) {
  std::map<std::string, std::vector<const Node*>> classes;
  for (const Node& node : site.cluster.nodes) classes[ClassOf(node)].push_back(&node);
  std::vector<PoolSheet> sheets;
  for (const auto& [name, nodes] : classes) {
    PoolSheet sheet;
    sheet.name = name;
    for (const Node* node : nodes) sheet.nodes.push_back(node->name);
    const Node& node = *nodes.front();
    if (node.gpus.empty()) {
      sheets.push_back(std::move(sheet));
      continue;
    }
    sheet.answers.push_back({"GPUs of a NUMA domain",
                             fmt::format("{} ({} domain{})", LayoutOf(node), node.numa_domains,
                                         node.numa_domains == 1 ? "" : "s"),
                             Level::kPass, ""});
    sheet.answers.push_back(NearestAdapter(node));
    KubeletPolicy strict;
    strict.policy = "single-numa-node";
    const auto shapes = ShapesOf(node, kubelet.value_or(strict));
    if (shapes.ok()) {
      sheet.valid = shapes->valid;
      sheet.refused = shapes->refused;
      const int whole = static_cast<int>(node.gpus.size());
      if (!kubelet && sheet.refused.erase(whole) > 0) sheet.valid.push_back(whole);
      sheet.answers.push_back({"valid shapes", numa::FormatCounts(sheet.valid) + " GPUs a pod",
                               sheet.valid.empty() ? Level::kFail : Level::kPass, ""});
      std::vector<std::string> refused;
      for (const auto& [count, why] : sheet.refused)
        refused.push_back(fmt::format("{}: {}", count, why));
      sheet.answers.push_back(
          {"refused shapes", refused.empty() ? "none" : Join(refused, "; "), Level::kPass, ""});
      sheet.answers.push_back(FragmentationAnswer({sheet.valid, sheet.refused}, node.gpus.size()));
    } else {
      sheet.answers.push_back({"valid shapes", shapes.error().message, Level::kUnknown,
                               "an inventory with the GPUs of each NUMA domain"});
    }
    sheet.answers.push_back(PolicyAnswer(site, kubelet));
    sheet.answers.push_back({"hints that the device plugins expose", "not told", Level::kUnknown,
                             "the NodeResourceTopology or the podresources of a running kubelet"});
    sheet.answers.push_back({"reasons that a user sees",
                             "refused at submit with the valid shapes; `muster why` names the "
                             "constraint of a pending job",
                             Level::kPass, ""});
    sheets.push_back(std::move(sheet));
  }
  return sheets;
}

}  // namespace muster
