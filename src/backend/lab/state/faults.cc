// Putting faults into a lab and taking them out, and what would be right to suspect.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lab/state/index.h"
#include "backend/lab/state/lab_state.h"
#include "base/strings.h"
#include "world/random.h"

namespace muster::lab {

namespace {

std::vector<Subject> All(const LabState& state, SubjectKind on) {
  const Cluster& cluster = state.cluster;
  std::vector<Subject> all;
  switch (on) {
    case SubjectKind::kSite:
      return {SiteSubject(kLabSite)};
    case SubjectKind::kEndpoint:
      return {{SubjectKind::kEndpoint, std::string(kLabEndpoint)}};
    case SubjectKind::kFabric:
      if (!cluster.links.empty()) all.push_back({SubjectKind::kFabric, std::string(kLabFabric)});
      return all;
    case SubjectKind::kBudget:
      for (const std::string& name : LabBudgets()) all.push_back({SubjectKind::kBudget, name});
      return all;
    case SubjectKind::kPdu:
      for (const std::string& name : LabPdus(state)) all.push_back({SubjectKind::kPdu, name});
      return all;
    case SubjectKind::kLink:
      return IndexOf(state)->link_subjects;
    case SubjectKind::kNode:
      for (const Node& node : cluster.nodes) all.push_back(NodeSubject(node.name));
      return all;
    case SubjectKind::kGpu:
      for (const Node& node : cluster.nodes) {
        for (const Gpu& gpu : node.gpus) all.push_back(GpuSubject(node.name, gpu.index));
      }
      return all;
    case SubjectKind::kHca:
      for (const Node& node : cluster.nodes) {
        for (const Nic& nic : node.nics) all.push_back(HcaSubject(node.name, nic.device));
      }
      return all;
    case SubjectKind::kRail:
      for (int r = 0; r < cluster.RailCount() && cluster.nodes.size() > 1; ++r)
        all.push_back(RailSubject(r));
      return all;
    case SubjectKind::kPair:
      // Neighbours in the ring; with two nodes there is one pair.
      for (size_t n = 0; n + 1 < cluster.nodes.size() && cluster.RailCount() > 0; ++n) {
        all.push_back(PairSubject(cluster.nodes[n].name, cluster.nodes[n + 1].name));
      }
      return all;
    case SubjectKind::kSwitch:
    case SubjectKind::kPort:
    case SubjectKind::kScope:
    case SubjectKind::kGang:
    case SubjectKind::kRank:
      return all;
  }
  return all;
}

// A kind of fault needs more than its subject: NVLink faults need NVLinks, TCP fallback needs a
// second node.
bool Fits(const LabState& state, const FaultKind& kind) {
  static const std::set<std::string_view> multi_node = {"tcp_fallback"};
  static const std::set<std::string_view> gpu_tools = {"tool_garbage",
                                                       "tool_truncated",
                                                       "tool_denied",
                                                       "dcgm_hang",
                                                       "driver_mismatch",
                                                       "fabric_manager_down",
                                                       "fabric_manager_mismatch",
                                                       "peermem_missing",
                                                       "module_mismatch",
                                                       "exporter_silent",
                                                       "kernel_module_missing",
                                                       "gpus_not_registered",
                                                       "time_slicing_left_on",
                                                       "mps_left_on",
                                                       "scrape_too_slow"};
  static const std::set<std::string_view> nvlink = {"nvlink_down", "xid_74", "fabric_manager_down",
                                                    "fabric_manager_mismatch"};
  if (multi_node.contains(kind.name))
    return state.cluster.nodes.size() > 1 && state.cluster.RailCount() > 0;
  if (nvlink.contains(kind.name) && state.spec.gpus < 2) return false;
  if (gpu_tools.contains(kind.name)) return state.spec.gpus > 0;
  if (kind.name == "peermem_missing") return state.cluster.RailCount() > 0;
  if (kind.name == "port_stuck_init") return !state.cluster.links.empty();
  return true;
}

void AddLinkEnds(const LabState& state, const Subject& link, std::vector<Subject>& suspects) {
  const auto index = IndexOf(state);
  const auto it = std::find(index->link_subjects.begin(), index->link_subjects.end(), link);
  if (it == index->link_subjects.end()) return;
  const Link& found = state.cluster.links[static_cast<size_t>(it - index->link_subjects.begin())];
  for (const PortRef* end : {&found.a, &found.b}) {
    suspects.push_back({SubjectKind::kPort, end->ToString()});
    if (Contains(end->device, "/")) suspects.push_back({SubjectKind::kHca, end->device});
  }
}

void AddLinkOfHca(const LabState& state, const Subject& hca, std::vector<Subject>& suspects) {
  const auto index = IndexOf(state);
  const auto it = index->link_of_port.find(hca.id + "/1");
  if (it == index->link_of_port.end()) return;
  suspects.push_back(index->link_subjects[it->second]);
  AddLinkEnds(state, index->link_subjects[it->second], suspects);
}

}  // namespace

const FaultKind* FindFaultKind(std::string_view name) {
  const auto& table = FaultTable();
  const auto it =
      std::find_if(table.begin(), table.end(), [&](const FaultKind& k) { return k.name == name; });
  return it == table.end() ? nullptr : &*it;
}

double Setting(const Fault& fault, std::string_view name) {
  const std::string key(name);
  if (const auto it = fault.with.find(key); it != fault.with.end()) return it->second;
  const FaultKind* kind = FindFaultKind(fault.kind);
  if (kind == nullptr) return 0;
  const auto it = kind->defaults.find(key);
  return it == kind->defaults.end() ? 0 : it->second;
}

std::vector<Subject> PossibleSubjects(const LabState& state, const FaultKind& kind) {
  return Fits(state, kind) ? All(state, kind.on) : std::vector<Subject>{};
}

std::vector<Subject> RightSuspects(const LabState& state, const Fault& fault) {
  std::vector<Subject> suspects{fault.on};
  // What only shows in the figures of the whole gang is the gang's: the sum of gradients does not
  // say whose was NaN.
  if (const FaultKind* kind = FindFaultKind(fault.kind);
      kind != nullptr && kind->suspect == SubjectKind::kGang) {
    suspects.push_back({SubjectKind::kGang, std::string(kLabGang)});
  }
  // A gang's proof does not say which node kept it from starting.
  if (const FaultKind* kind = FindFaultKind(fault.kind);
      kind != nullptr && kind->suspect == SubjectKind::kSite && fault.on.kind == SubjectKind::kNode)
    suspects.push_back(SiteSubject(kLabSite));
  switch (fault.on.kind) {
    case SubjectKind::kLink:
      AddLinkEnds(state, fault.on, suspects);
      break;
    case SubjectKind::kHca:
      AddLinkOfHca(state, fault.on, suspects);
      break;
    case SubjectKind::kSite:
      // One document speaks for all budgets, and for the PDUs it attests.
      if (StartsWith(fault.kind, "signoff")) {
        for (const std::string& name : LabBudgets())
          suspects.push_back({SubjectKind::kBudget, name});
        for (const std::string& name : LabPdus(state))
          suspects.push_back({SubjectKind::kPdu, name});
      }
      if (fault.kind == "alert_route_broken")
        suspects.push_back({SubjectKind::kEndpoint, "alertmanager"});
      break;
    case SubjectKind::kFabric:
      // Which of two masters is the wrong one nobody can see; without any, the host that should run
      // it is as good an answer.
      for (size_t n = 0; n < std::min<size_t>(2, state.cluster.nodes.size()); ++n) {
        suspects.push_back(NodeSubject(state.cluster.nodes[n].name));
      }
      break;
    case SubjectKind::kPair:
      // Each end is in the pair; where there are but two nodes, the pair is all there is.
      if (state.cluster.nodes.size() == 2) {
        for (const Node& node : state.cluster.nodes) suspects.push_back(NodeSubject(node.name));
      }
      break;
    case SubjectKind::kNode:
      // With two nodes a slow or silent one cannot be told from the path between them.
      if (state.cluster.nodes.size() == 2) {
        suspects.push_back(PairSubject(state.cluster.nodes[0].name, state.cluster.nodes[1].name));
      }
      break;
    default:
      break;
  }
  return suspects;
}

bool IsRightSuspect(const LabState& state, const Fault& fault, const Subject& named) {
  const bool only_one = named.kind == SubjectKind::kSite || named.kind == SubjectKind::kFabric ||
                        named.kind == SubjectKind::kGang;
  for (const Subject& right : RightSuspects(state, fault)) {
    if (right == named || (only_one && right.kind == named.kind)) return true;
  }
  return false;
}

Subject SampleSubject(const LabState& state, const FaultKind& kind, uint64_t seed) {
  const auto possible = PossibleSubjects(state, kind);
  if (possible.empty()) return {kind.on, ""};
  SeededRandom random(seed);
  return possible[random.Below(possible.size())];
}

Status Inject(LabState& state, std::string_view kind_name, std::string_view subject_id,
              TimePoint now, const std::map<std::string, double>& with) {
  const FaultKind* kind = FindFaultKind(kind_name);
  if (kind == nullptr) {
    std::vector<std::string> names;
    for (const FaultKind& known : FaultTable()) names.emplace_back(known.name);
    const auto near = Nearest(kind_name, names);
    return Fail(Code::kInvalid, fmt::format("unknown fault \"{}\"{}", Printable(kind_name),
                                            near ? fmt::format(", did you mean \"{}\"?", *near)
                                                 : "; `muster lab faults` lists them"));
  }
  const auto possible = PossibleSubjects(state, *kind);
  if (possible.empty()) {
    return Fail(Code::kInvalid,
                fmt::format("this lab has nothing that {} could be put on", kind->name));
  }
  auto it = std::find_if(possible.begin(), possible.end(), [&](const Subject& s) {
    return s.id == subject_id || s.ToString() == subject_id;
  });
  if (it == possible.end() && subject_id.empty() && possible.size() == 1) it = possible.begin();
  if (it == possible.end()) {
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min<size_t>(8, possible.size()); ++i)
      shown.push_back(possible[i].id);
    return Fail(
        Code::kInvalid,
        fmt::format("{} goes on a {}, and \"{}\" is none of this lab's: {}{}", kind->name,
                    ToString(kind->on), Printable(subject_id), fmt::join(shown, ", "),
                    possible.size() > 8 ? fmt::format(", ... ({} in all)", possible.size()) : ""));
  }
  for (const auto& [name, value] : with) {
    if (!kind->defaults.contains(name)) {
      std::vector<std::string> names;
      for (const auto& known : kind->defaults) names.push_back(known.first);
      return Fail(Code::kInvalid,
                  fmt::format("{} has no setting \"{}\"; it has {}", kind->name, Printable(name),
                              names.empty() ? "none" : Join(names, ", ")));
    }
    if (!std::isfinite(value))
      return Fail(Code::kInvalid, fmt::format("{}: {} must be a number", kind->name, name));
  }
  std::erase_if(state.faults, [&](const Fault& f) { return f.kind == kind->name && f.on == *it; });
  // The lab's file keeps milliseconds.
  state.faults.push_back(
      {std::string(kind->name), *it, std::chrono::floor<std::chrono::milliseconds>(now), with});
  return {};
}

Result<int> Heal(LabState& state, std::string_view kind, std::string_view subject_id) {
  const auto removed = std::erase_if(state.faults, [&](const Fault& f) {
    return (kind.empty() || f.kind == kind) &&
           (subject_id.empty() || f.on.id == subject_id || f.on.ToString() == subject_id);
  });
  if (removed > 0) return static_cast<int>(removed);
  std::vector<std::string> there;
  for (const Fault& fault : state.faults)
    there.push_back(fmt::format("{} on {}", fault.kind, fault.on.id));
  return Fail(Code::kNotFound, there.empty() ? "there is no fault in this lab"
                                             : "no such fault; there is " + Join(there, ", "));
}

}  // namespace muster::lab
