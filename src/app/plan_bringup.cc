// What a run would do, told before anything is done.
#include <algorithm>

#include <fmt/format.h>

#include "app/bringup.h"
#include "app/words.h"
#include "base/strings.h"
#include "catalogue/expectation.h"

namespace muster {

namespace {

std::vector<std::string> ReadsOf(const Site& site, int gate,
                                 const std::vector<std::string>& nodes) {
  // One line a probe: "nvidia_smi.query on 4 nodes".
  std::vector<std::pair<std::string, std::vector<std::string>>> by_probe;
  for (const PlannedRead& read : PlanReads(site, gate, nodes)) {
    const std::string id = fmt::format("{}{}", read.probe->id, read.twice ? " (twice)" : "");
    if (by_probe.empty() || by_probe.back().first != id) by_probe.push_back({id, {}});
    by_probe.back().second.push_back(read.host);
  }
  std::vector<std::string> lines;
  for (const auto& [id, hosts] : by_probe) {
    lines.push_back(hosts.size() == 1 ? fmt::format("{} on {}", id, hosts.front())
                                      : fmt::format("{} on {} nodes: {} .. {}", id, hosts.size(),
                                                    hosts.front(), hosts.back()));
  }
  return lines;
}

// What makes the nodes' tools run where nobody logs in is a change of its own, for the time of the
// look: it is told before.
void AddProbePods(const Site& site, GatePlan& gate, const std::vector<std::string>& nodes) {
  if (!site.NodesByPods()) return;
  bool on_nodes = gate.gate == 2 && !gate.proofs.empty();
  for (const PlannedRead& read : PlanReads(site, gate.gate, nodes)) {
    const bool by_pod = read.host == "fabric" || site.cluster.FindNode(read.host) != nullptr;
    on_nodes = on_nodes || (by_pod && !StartsWith(read.probe->id, "kubernetes."));
  }
  if (!on_nodes) return;
  const ProbePods& pods = *site.kubernetes->probe_pods;
  gate.reads.push_back(fmt::format(
      "these by probe pods: on each node that is asked, past the scheduler and all "
      "taints, a privileged pod with the node's process and network namespaces (root on "
      "the node), image {}, namespace {}; removed and looked for afterwards",
      pods.image, pods.ns));
}

std::vector<std::string> ProofsOf(const Site& site, int gate,
                                  const std::vector<std::string>& names) {
  const size_t nodes = names.size();
  const std::set<std::string> features = site.Features();
  switch (gate) {
    case 2:
      if (features.contains("rdma") && features.contains("multi_node"))
        return {fmt::format("ib_write_bw between neighbours, {}",
                            Counted(SubjectsOf(site, SubjectKind::kPair, names).size(), "pair"))};
      return {};
    case 4:
      return {fmt::format("a gang over {} that must start whole", Counted(nodes, "node")),
              "a gang one GPU too large that must not start one rank"};
    case 5:
      if (features.contains("alertmanager"))
        return {"a synthetic alert that must reach Alertmanager, and resolve"};
      return {};
    case 6:
      return {fmt::format("all_reduce_perf over {}, sizes to 8 GiB, with NCCL's own log",
                          Counted(nodes, "node"))};
    case 7:
      return {
          fmt::format("a training gang of {}, {} steps, with a sharded checkpoint",
                      Counted(nodes * static_cast<size_t>(site.training.ranks_per_node), "rank"),
                      site.training.steps)};
    case 8:
      return {fmt::format("{} chat requests at {:g}/s, open loop, unique prompts",
                          site.inference.requests, site.inference.requests_per_s)};
    default:
      return {};
  }
}

}  // namespace

Result<std::vector<GatePlan>> PlanBringup(const SiteContext& context,
                                          const BringupOptions& options) {
  TRY(const SiteStatus status, StatusOf(context));
  std::vector<std::string> nodes = options.nodes;
  for (const std::string& name : nodes) {
    if (context.site().cluster.FindNode(name) == nullptr)
      return Fail(Code::kInvalid, fmt::format("site {} has no node {}", context.site().name, name));
  }
  if (nodes.empty()) {
    auto scoped = context.site().ScopeNodes(options.scope);
    if (!scoped)
      return Fail(Code::kInvalid,
                  fmt::format("site {} has no scope {}", context.site().name, options.scope));
    nodes = *scoped;
  }
  std::vector<GatePlan> plan;
  for (const GateInfo& info : context.catalogue->gates) {
    if (info.id < options.from || info.id > options.to) continue;
    GatePlan gate;
    gate.gate = info.id;
    gate.name = info.name;
    for (const Act& act : context.site().acts) {
      if (act.gate == info.id) gate.acts.push_back(act);
    }
    gate.reads = ReadsOf(context.site(), info.id, nodes);
    const Applicability applicable = Applicable(*context.catalogue, context.site(), info.id, nodes);
    gate.criteria = applicable.criteria.size();
    for (const auto& skipped : applicable.not_applicable)
      gate.not_applicable.push_back(
          {skipped.criterion->code, skipped.criterion->title, skipped.reason});
    if (gate.criteria > 0) gate.proofs = ProofsOf(context.site(), info.id, nodes);
    AddProbePods(context.site(), gate, nodes);
    for (const GateStatus& s : status.gates) {
      if (s.gate == info.id) gate.already_open = s.open;
    }
    plan.push_back(std::move(gate));
  }
  return plan;
}

}  // namespace muster
