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

std::string ScopeName(const Site& site, std::span<const std::string> scope_nodes) {
  const auto names = ScopeSet(site, scope_nodes);
  if (names.size() == site.cluster.nodes.size()) return "all";
  for (const Scope& scope : site.scopes) {
    if (std::set<std::string>(scope.nodes.begin(), scope.nodes.end()) == names) return scope.name;
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

bool Answers(const Site& site, const Expectation& expect, SubjectKind kind, std::string_view name,
             std::span<const std::string> scope_nodes) {
  const auto subjects = SubjectsOf(site, kind, scope_nodes);
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const Subject& s) { return expect(s, name).has_value(); });
}

std::string_view Plural(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::kBudget:
      return "facility budget";
    case SubjectKind::kPdu:
      return "PDU";
    case SubjectKind::kHca:
    case SubjectKind::kRail:
      return "network adapter";
    case SubjectKind::kGpu:
      return "GPU";
    case SubjectKind::kPair:
      return "second node";
    case SubjectKind::kPort:
      return "link";
    default:
      return ToString(kind);
  }
}

// How this site reaches a host, as the beginning of a command line.
std::string AtHost(const Site* site, std::string_view host) {
  if (site == nullptr) return fmt::format("ssh {}", host);
  if (site->kind == SiteKind::kLab) return fmt::format("muster lab exec {} --", host);
  std::string name(host);
  if (name == "fabric") name = site->fabric_host;
  if (name.empty() && !site->cluster.nodes.empty()) name = site->cluster.nodes.front().name;
  const Node* node = site->cluster.FindNode(name);
  const std::string address = node != nullptr && !node->address.empty() ? node->address : name;
  if (address == "localhost" || address == "127.0.0.1") return "";
  const auto user = site->ssh.find("user");
  return user == site->ssh.end() ? fmt::format("ssh {}", address)
                                 : fmt::format("ssh {}@{}", user->second, address);
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
      return {{kind, ScopeName(site, scope_nodes)}};
    case SubjectKind::kGang:
      return {{kind, "train"}};
    case SubjectKind::kEndpoint:
      return {{kind, "openai"}};
    case SubjectKind::kRank:
      return subjects;
  }
  return subjects;
}

std::vector<Subject> SubjectsFor(const Criterion& criterion, const Site& site,
                                 std::span<const std::string> scope_nodes,
                                 const ObservationIndex& index) {
  std::vector<Subject> expected = SubjectsOf(site, criterion.subject, scope_nodes);
  if (!criterion.when_observed) return expected;
  const std::vector<Subject> seen = index.SubjectsWith(criterion.subject, criterion.fact);
  std::vector<Subject> subjects;
  if (criterion.subject == SubjectKind::kPair) {
    const auto names = ScopeSet(site, scope_nodes);
    for (const Subject& pair : seen) {
      const size_t at = pair.id.find("--");
      if (at != std::string::npos && names.contains(pair.id.substr(0, at)) &&
          names.contains(pair.id.substr(at + 2)))
        subjects.push_back(pair);
    }
    return subjects;
  }
  for (Subject& subject : expected) {
    if (std::binary_search(seen.begin(), seen.end(), subject))
      subjects.push_back(std::move(subject));
  }
  return subjects;
}

Applicability Applicable(const Catalogue& catalogue, const Site& site, int gate,
                         std::span<const std::string> scope_nodes) {
  Applicability result;
  std::set<std::string> features = site.Features();
  const size_t nodes = scope_nodes.empty() ? site.cluster.nodes.size() : scope_nodes.size();
  if (nodes == 2) features.insert("two_nodes");
  if (!scope_nodes.empty() && nodes < 2) features.erase("multi_node");
  const Expectation expect = MakeExpectation(site, catalogue);
  for (const Criterion& criterion : catalogue.criteria) {
    if (gate != 0 && criterion.gate != gate) continue;
    const auto holds = [&](std::string_view name) {
      const bool negated = name.starts_with('!');
      if (negated) name.remove_prefix(1);
      const auto expects = After(name, "expects.");
      const bool there = expects ? Answers(site, expect, criterion.subject, *expects, scope_nodes)
                                 : features.contains(std::string(name));
      return there != negated;
    };
    const bool applies = std::all_of(criterion.applies_when.begin(), criterion.applies_when.end(),
                                     [&](const std::string& term) {
                                       const auto names = Split(term, '|');
                                       return std::any_of(names.begin(), names.end(), holds);
                                     });
    if (!applies) {
      result.not_applicable.push_back({&criterion, criterion.otherwise});
      continue;
    }
    if (SubjectsOf(site, criterion.subject, scope_nodes).empty()) {
      result.not_applicable.push_back(
          {&criterion, fmt::format("the site has no {}", Plural(criterion.subject))});
      continue;
    }
    Criterion ours = criterion;
    const auto replace = [&](const std::string& key, Threshold& threshold) {
      const auto it = site.thresholds.find(key);
      if (it == site.thresholds.end()) return false;
      const Quantity& q = it->second;
      const bool bare = threshold.unit == Unit::kRatio && q.unit == Unit::kCount;
      if (q.unit != threshold.unit && !bare) return false;  // CheckThresholds has said so
      threshold.values = {Value(q.value)};
      threshold.expect.clear();
      return true;
    };
    replace(ours.code, ours.pass);
    Threshold warn = ours.pass;
    if (replace(ours.code + ".warn", warn)) ours.warn = warn;
    result.criteria.push_back(std::move(ours));
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> CheckThresholds(const Catalogue& catalogue,
                                                                 const Site& site) {
  std::vector<std::pair<std::string, std::string>> problems;
  std::vector<std::string> known;
  for (const Setting& setting : catalogue.settings) known.push_back(setting.name);
  for (const Criterion& criterion : catalogue.criteria) known.push_back(criterion.code);
  for (const auto& [key, quantity] : site.thresholds) {
    std::string_view name = key;
    if (name.ends_with(".warn")) name.remove_suffix(5);
    const Criterion* criterion = catalogue.Find(name);
    const Setting* setting = catalogue.FindSetting(key);
    if (criterion == nullptr && setting == nullptr) {
      std::string what = fmt::format("{} is neither a criterion nor a setting", key);
      if (const auto near = Nearest(name, known)) what += fmt::format(", did you mean {}", *near);
      problems.emplace_back(key, std::move(what));
      continue;
    }
    const Unit unit = setting != nullptr ? setting->value.unit : criterion->pass.unit;
    if (criterion != nullptr && unit == Unit::kNone) {
      problems.emplace_back(key, fmt::format("{} is not held to a number", key));
    } else if (quantity.unit != unit && !(unit == Unit::kRatio && quantity.unit == Unit::kCount)) {
      problems.emplace_back(
          key, fmt::format("{} is in {}, found {}", key,
                           unit == Unit::kCount ? "bare numbers" : std::string(ToString(unit)),
                           FormatQuantity(quantity)));
    }
  }
  return problems;
}

std::string RenderNext(std::string_view next, const Subject* subject, const Site* site) {
  std::map<std::string, std::string, std::less<>> words = {
      {"host", "HOST"}, {"gpu", "N"}, {"device", "DEVICE"}, {"port", "PORT"},      {"a", "A"},
      {"b", "B"},       {"id", "ID"}, {"fabric", "fabric"}, {"monitor", "monitor"}};
  if (subject != nullptr) {
    words["id"] = subject->id;
    words["host"] = subject->Host();
    const size_t ends = subject->id.find("--");
    if (ends != std::string::npos) {
      const std::string a = subject->id.substr(0, ends), b = subject->id.substr(ends + 2);
      words["a"] = a.substr(0, a.find('/'));
      words["b"] = b.substr(0, b.find('/'));
    }
    const auto parts = Split(subject->id, '/');
    if (subject->kind == SubjectKind::kGpu && parts.size() == 2)
      words["gpu"] = After(parts[1], "gpu").value_or("N");
    if (subject->kind == SubjectKind::kHca && parts.size() == 2) words["device"] = parts[1];
    if (subject->kind == SubjectKind::kPort && parts.size() >= 2) {
      words["port"] = parts.back();
      words["device"] = parts[parts.size() - 2];
    }
  }
  std::string text;
  while (!next.empty()) {
    const size_t open = next.find('{');
    const size_t close = open == std::string_view::npos ? open : next.find('}', open);
    if (close == std::string_view::npos) break;
    text += next.substr(0, open);
    const std::string_view word = next.substr(open + 1, close - open - 1);
    const auto at = After(word, "at ");
    const auto it = words.find(at ? *at : word);
    if (it == words.end()) {
      text += next.substr(open, close - open + 1);  // a brace of the command's own
    } else {
      text += at ? AtHost(site, it->second) : it->second;
    }
    next.remove_prefix(close + 1);
    // A command on this machine has no way to it, and no blank after it either.
    if (at && text.empty() && next.starts_with(' ')) next.remove_prefix(1);
  }
  return text + std::string(next);
}

std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const Catalogue& catalogue,
                                  const Site& site) {
  std::unordered_map<std::string_view, const Criterion*> by_code;
  for (const Criterion& criterion : catalogue.criteria) by_code.emplace(criterion.code, &criterion);
  const SuspectRules rules{site.cluster, site.name,
                           [&](std::string_view code) -> const Criterion* {
                             const auto it = by_code.find(code);
                             return it == by_code.end() ? nullptr : it->second;
                           },
                           [&](const Criterion& criterion, const Subject& subject) {
                             return RenderNext(criterion.next, &subject, &site);
                           }};
  return FindSuspects(verdicts, rules);
}

}  // namespace muster
