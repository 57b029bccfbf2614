#include "catalogue/expectation.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr std::array kKnown = {
    ExpectationName{"gpus_per_node", FactType::kInt, Unit::kCount},
    ExpectationName{"hcas_per_node", FactType::kInt, Unit::kCount},
    ExpectationName{"driver_version", FactType::kText, Unit::kNone},
    ExpectationName{"gpu_model", FactType::kText, Unit::kNone},
    ExpectationName{"gpu_uuid", FactType::kText, Unit::kNone},
    ExpectationName{"gpu_pci_bus_id", FactType::kText, Unit::kNone},
    ExpectationName{"gpu_numa", FactType::kInt, Unit::kCount},
    ExpectationName{"nvlinks", FactType::kInt, Unit::kCount},
    ExpectationName{"pcie_gen", FactType::kInt, Unit::kCount},
    ExpectationName{"pcie_width", FactType::kInt, Unit::kCount},
    ExpectationName{"fabric_state", FactType::kText, Unit::kNone},
    ExpectationName{"link_rate", FactType::kReal, Unit::kGbitPerSec},
    ExpectationName{"link_width", FactType::kInt, Unit::kCount},
    ExpectationName{"hca_rate", FactType::kReal, Unit::kGbitPerSec},
    ExpectationName{"pair_rate_min", FactType::kReal, Unit::kGbitPerSec},
    ExpectationName{"pair_rate_warn", FactType::kReal, Unit::kGbitPerSec},
};

using Answer = std::optional<Value>;

Answer TextIfAny(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return Value(text);
}
Answer IntIfAny(int value) {
  if (value <= 0) return std::nullopt;
  return Value(int64_t{value});
}
Answer RealIfAny(double value) {
  if (value <= 0) return std::nullopt;
  return Value(value);
}

// The site and what is looked up in it often. Made once, shared by all copies of the function.
class SiteExpectation {
 public:
  SiteExpectation(const Site& site, const Catalogue& catalogue)
      : site_(site), catalogue_(catalogue) {
    for (const Link& link : site.cluster.links) links_.emplace(link.Id().id, &link);
    for (const Setting& setting : catalogue.settings) settings_[setting.name] = SettingOf(setting);
  }

  Answer operator()(const Subject& subject, std::string_view name) const {
    if (const auto it = settings_.find(name); it != settings_.end()) return Value(it->second);
    switch (subject.kind) {
      case SubjectKind::kNode:
        return OfNode(subject, name);
      case SubjectKind::kGpu:
        return OfGpu(subject, name);
      case SubjectKind::kHca:
        return OfHca(subject, name);
      case SubjectKind::kLink:
        return OfLink(subject, name);
      case SubjectKind::kPair:
        return OfPair(subject, name);
      default:
        return std::nullopt;
    }
  }

 private:
  // The site's word first: its list of thresholds, then its targets; else the default.
  double SettingOf(const Setting& setting) const {
    const auto it = site_.thresholds.find(setting.name);
    if (it != site_.thresholds.end()) {
      // A bare 1.1 for a ratio is meant as it is written.
      const bool bare = setting.value.unit == Unit::kRatio && it->second.unit == Unit::kCount;
      if (it->second.unit == setting.value.unit || bare) return it->second.value;
    }
    if (setting.name == "mfu_target") return site_.training.mfu_min;
    if (setting.name == "step_spread_max") return site_.training.step_spread_max;
    if (setting.name == "rank_lag_max") return site_.training.rank_lag_max;
    if (setting.name == "ttft_p99") return Seconds(site_.inference.ttft_p99);
    if (setting.name == "tpot_p99") return Seconds(site_.inference.tpot_p99);
    if (setting.name == "goodput_min") return site_.inference.goodput_min;
    return setting.value.value;
  }

  Answer OfNode(const Subject& subject, std::string_view name) const {
    const Node* node = site_.cluster.FindNode(subject.id);
    if (node == nullptr) return std::nullopt;
    if (name == "gpus_per_node") return Value(static_cast<int64_t>(node->gpus.size()));
    if (name == "hcas_per_node") return Value(static_cast<int64_t>(node->nics.size()));
    if (name == "driver_version") return TextIfAny(site_.driver_version);
    return std::nullopt;
  }

  Answer OfGpu(const Subject& subject, std::string_view name) const {
    const Node* node = site_.cluster.FindNode(subject.Host());
    if (node == nullptr) return std::nullopt;
    const auto gpu = std::find_if(node->gpus.begin(), node->gpus.end(), [&](const Gpu& g) {
      return GpuSubject(node->name, g.index) == subject;
    });
    if (gpu == node->gpus.end()) return std::nullopt;
    if (name == "gpu_model") return TextIfAny(gpu->model);
    if (name == "gpu_uuid") return TextIfAny(gpu->uuid);
    if (name == "gpu_pci_bus_id") return TextIfAny(gpu->pci_bus_id);
    if (name == "gpu_numa") {
      if (node->numa_domains < 2) return std::nullopt;
      return Value(int64_t{gpu->numa});
    }
    const GpuModel* model = catalogue_.ModelOf(gpu->model);
    if (model == nullptr) return std::nullopt;
    if (name == "nvlinks") return IntIfAny(model->nvlinks);
    if (name == "pcie_gen") return IntIfAny(model->pcie_gen);
    if (name == "pcie_width") return IntIfAny(model->pcie_width);
    if (name == "fabric_state") return TextIfAny(model->fabric_state);
    return std::nullopt;
  }

  Answer OfHca(const Subject& subject, std::string_view name) const {
    const Node* node = site_.cluster.FindNode(subject.Host());
    if (node == nullptr || name != "hca_rate") return std::nullopt;
    for (const Nic& nic : node->nics) {
      if (HcaSubject(node->name, nic.device) == subject) return RealIfAny(nic.rate_gbit_per_s);
    }
    return std::nullopt;
  }

  Answer OfLink(const Subject& subject, std::string_view name) const {
    const auto it = links_.find(subject.id);
    if (it == links_.end()) return std::nullopt;
    if (name == "link_rate") return RealIfAny(it->second->rate_gbit_per_s);
    if (name == "link_width") return IntIfAny(it->second->width);
    return std::nullopt;
  }

  Answer OfPair(const Subject& subject, std::string_view name) const {
    if (name != "pair_rate_min" && name != "pair_rate_warn") return std::nullopt;
    const size_t at = subject.id.find("--");
    if (at == std::string::npos) return std::nullopt;
    const Node* a = site_.cluster.FindNode(std::string_view(subject.id).substr(0, at));
    const Node* b = site_.cluster.FindNode(std::string_view(subject.id).substr(at + 2));
    if (a == nullptr || b == nullptr) return std::nullopt;
    // A rail runs at the slower of its two ends; the pair is as good as its slowest rail.
    std::optional<double> slowest;
    for (const Nic& x : a->nics) {
      for (const Nic& y : b->nics) {
        if (x.rail != y.rail) continue;
        const double rate = std::min(x.rate_gbit_per_s, y.rate_gbit_per_s);
        if (!slowest || rate < *slowest) slowest = rate;
      }
    }
    if (!slowest) return std::nullopt;
    const auto ratio =
        settings_.find(name == "pair_rate_min" ? "rdma_pair_ratio" : "rdma_pair_warn");
    if (ratio == settings_.end()) return std::nullopt;
    return RealIfAny(*slowest * ratio->second);
  }

  const Site& site_;
  const Catalogue& catalogue_;
  std::unordered_map<std::string, const Link*> links_;
  std::map<std::string, double, std::less<>> settings_;
};

std::set<std::string> ScopeSet(const Site& site, std::span<const std::string> scope_nodes) {
  std::set<std::string> names(scope_nodes.begin(), scope_nodes.end());
  if (names.empty()) {
    for (const Node& node : site.cluster.nodes) names.insert(node.name);
  }
  return names;
}

std::vector<const Node*> NodesOf(const Site& site, std::span<const std::string> scope_nodes) {
  const auto names = ScopeSet(site, scope_nodes);
  std::vector<const Node*> nodes;
  for (const Node& node : site.cluster.nodes) {
    if (names.contains(node.name)) nodes.push_back(&node);
  }
  return nodes;
}

// Links with an end on a node of the scope, and all links of the switches that carry those.
std::vector<const Link*> LinksOf(const Site& site, std::span<const std::string> scope_nodes) {
  std::vector<const Link*> links;
  const bool all = scope_nodes.empty() || scope_nodes.size() == site.cluster.nodes.size();
  const auto names = ScopeSet(site, scope_nodes);
  const auto host = [](const PortRef& port) {
    return port.device.substr(0, port.device.find('/'));
  };
  const auto in_scope = [&](const PortRef& port) { return names.contains(host(port)); };
  std::set<std::string> leaves;
  for (const Link& link : site.cluster.links) {
    if (in_scope(link.a)) leaves.insert(host(link.b));
    if (in_scope(link.b)) leaves.insert(host(link.a));
  }
  for (const Link& link : site.cluster.links) {
    const bool node_link = site.cluster.FindSwitch(link.a.device) == nullptr ||
                           site.cluster.FindSwitch(link.b.device) == nullptr;
    const bool serves = node_link
                            ? in_scope(link.a) || in_scope(link.b)
                            : leaves.contains(link.a.device) || leaves.contains(link.b.device);
    if (all || serves) links.push_back(&link);
  }
  return links;
}

}  // namespace

std::span<const ExpectationName> KnownExpectations() { return kKnown; }

Expectation MakeExpectation(const Site& site, const Catalogue& catalogue) {
  auto shared = std::make_shared<const SiteExpectation>(site, catalogue);
  return
      [shared](const Subject& subject, std::string_view name) { return (*shared)(subject, name); };
}

Expectation MakeExpectation(const Site& site) {
  const auto catalogue = LoadEmbedded();
  // A broken built-in catalogue is found by the tests; here it means that nothing is expected, so
  // everything is unknown.
  static const Catalogue kNothing;
  return MakeExpectation(site, catalogue.ok() ? **catalogue : kNothing);
}

std::vector<Subject> SubjectsOf(const Site& site, SubjectKind kind,
                                std::span<const std::string> scope_nodes) {
  std::vector<Subject> subjects;
  switch (kind) {
    case SubjectKind::kSite:
      return {SiteSubject(site.name)};
    case SubjectKind::kBudget:
      for (const Budget& budget : site.budgets) subjects.push_back({kind, budget.name});
      return subjects;
    case SubjectKind::kPdu:
      for (const Pdu& pdu : site.pdus) subjects.push_back({kind, pdu.name});
      return subjects;
    case SubjectKind::kFabric:
      return {{kind, "fabric"}};
    case SubjectKind::kSwitch:
      for (const Switch& s : site.cluster.switches) subjects.push_back({kind, s.name});
      return subjects;
    case SubjectKind::kPort:
      for (const Link* link : LinksOf(site, scope_nodes)) {
        subjects.push_back(PortSubject(link->a.device, link->a.port));
        subjects.push_back(PortSubject(link->b.device, link->b.port));
      }
      return subjects;
    case SubjectKind::kLink:
      for (const Link* link : LinksOf(site, scope_nodes)) subjects.push_back(link->Id());
      return subjects;
    case SubjectKind::kNode:
      for (const Node* node : NodesOf(site, scope_nodes))
        subjects.push_back(NodeSubject(node->name));
      return subjects;
    case SubjectKind::kGpu:
      for (const Node* node : NodesOf(site, scope_nodes)) {
        for (const Gpu& gpu : node->gpus) subjects.push_back(GpuSubject(node->name, gpu.index));
      }
      return subjects;
    case SubjectKind::kHca:
      for (const Node* node : NodesOf(site, scope_nodes)) {
        for (const Nic& nic : node->nics) subjects.push_back(HcaSubject(node->name, nic.device));
      }
      return subjects;
    case SubjectKind::kRail: {
      std::set<int> rails;
      for (const Node* node : NodesOf(site, scope_nodes)) {
        for (const Nic& nic : node->nics) rails.insert(nic.rail);
      }
      for (const int rail : rails) subjects.push_back(RailSubject(rail));
      return subjects;
    }
    case SubjectKind::kPair: {
      const auto nodes = NodesOf(site, scope_nodes);
      for (size_t i = 0; i + 1 < nodes.size(); ++i)
        subjects.push_back(PairSubject(nodes[i]->name, nodes[i + 1]->name));
      if (nodes.size() > 2)
        subjects.push_back(PairSubject(nodes.back()->name, nodes.front()->name));
      return subjects;
    }
    case SubjectKind::kScope:
      return {{kind, "all"}};
    case SubjectKind::kGang:
      return {{kind, "train"}};
    case SubjectKind::kEndpoint:
      return {{kind, "openai"}};
    case SubjectKind::kRank:
      return subjects;
  }
  return subjects;
}

}  // namespace muster
