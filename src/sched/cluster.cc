#include "sched/cluster.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"
#include "sched/amount.h"

namespace muster::sched {

namespace {

constexpr int kMostFit = 1 << 20;
constexpr int kWholeGpu = 1000;

uint64_t AllDevices(int64_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}
int Count(uint64_t mask) { return std::popcount(mask); }

}  // namespace

Cluster::Cluster() { domains_.push_back(Domain{}); }

Status Cluster::SetLevels(const std::vector<std::string>& levels) {
  std::vector<std::string> outer(levels.begin(), levels.end() - 1);
  if (levels_set_ && outer == levels_) return {};
  if (node_count() > 0)
    return Fail(Code::kInvalid, "the levels of the topology stand before the first node");
  levels_ = std::move(outer);
  levels_set_ = true;
  by_level_.assign(levels_.size() + 1, {});
  return {};
}

int Cluster::LevelOf(std::string_view level) const {
  if (level == "node") return static_cast<int>(levels_.size());
  for (size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i] == level) return static_cast<int>(i);
  }
  return -1;
}

const std::vector<int>& Cluster::DomainsOf(int level) const {
  static const std::vector<int> kRoot = {0};
  if (level < 0) return kRoot;
  static const std::vector<int> kNone;
  return static_cast<size_t>(level) < by_level_.size() ? by_level_[static_cast<size_t>(level)]
                                                       : kNone;
}

int Cluster::DomainFor(const NodeAdd& node) {
  if (levels_.empty()) return 0;
  const auto add = [&](const std::string& name, int parent, int level, bool unnamed) {
    const int id = static_cast<int>(domains_.size());
    Domain domain;
    domain.name = name, domain.parent = parent, domain.level = level, domain.unnamed = unnamed;
    domains_.push_back(std::move(domain));
    domains_[static_cast<size_t>(parent)].children.push_back(id);
    return id;
  };
  const int deepest = static_cast<int>(levels_.size()) - 1;
  if (node.at.empty()) {
    if (unnamed_domain_ < 0) unnamed_domain_ = add("", 0, deepest, true);
    return unnamed_domain_;
  }
  int domain = 0;
  for (int level = 0; level <= deepest; ++level) {
    const std::string& name = node.at[static_cast<size_t>(level)];
    const auto [found, fresh] = domain_ids_.try_emplace({domain, name}, 0);
    if (fresh) {
      found->second = add(name, domain, level, false);
      by_level_[static_cast<size_t>(level)].push_back(found->second);
    }
    domain = found->second;
  }
  return domain;
}

int Cluster::AncestorAt(int domain, int level) const {
  if (level < 0) return 0;
  while (domain > 0 && domains_[static_cast<size_t>(domain)].level > level)
    domain = domains_[static_cast<size_t>(domain)].parent;
  const Domain& found = domains_[static_cast<size_t>(domain)];
  return found.level == level && !found.unnamed ? domain : -1;
}

std::string Cluster::PathOf(int domain) const {
  std::string path;
  for (; domain > 0; domain = domains_[static_cast<size_t>(domain)].parent) {
    const std::string& name = domains_[static_cast<size_t>(domain)].name;
    path = path.empty() ? name : name + "/" + path;
  }
  return path;
}

bool Cluster::BeforeInFabric(int node_a, int node_b) const {
  int a = LeafOf(node_a), b = LeafOf(node_b);
  if (a == b) return node_a < node_b;
  // Up to the children of the common ancestor; ids of siblings follow their first sight.
  const auto depth = [&](int d) {
    int steps = 0;
    for (; d > 0; d = domains_[static_cast<size_t>(d)].parent) ++steps;
    return steps;
  };
  int depth_a = depth(a), depth_b = depth(b);
  int at_a = a, at_b = b;
  while (depth_a > depth_b) at_a = domains_[static_cast<size_t>(at_a)].parent, --depth_a;
  while (depth_b > depth_a) at_b = domains_[static_cast<size_t>(at_b)].parent, --depth_b;
  while (at_a != at_b &&
         domains_[static_cast<size_t>(at_a)].parent != domains_[static_cast<size_t>(at_b)].parent) {
    at_a = domains_[static_cast<size_t>(at_a)].parent;
    at_b = domains_[static_cast<size_t>(at_b)].parent;
  }
  return at_a != at_b ? at_a < at_b : a < b;
}

void Cluster::Column(int resource) {
  while (static_cast<int>(free_.size()) <= resource) {
    const int id = static_cast<int>(free_.size());
    const bool device = IsDevice(resources_[id]);
    is_device_.push_back(device ? 1 : 0);
    free_.emplace_back(device ? 0 : usable_.size(), 0);
    capacity_.emplace_back(usable_.size(), 0);
    devices_.emplace_back(device ? usable_.size() : 0, 0);
    total_.push_back(0);
  }
}

int Cluster::NewRow() {
  const int node = static_cast<int>(usable_.size());
  present_.push_back(1), usable_.push_back(1), cordoned_.push_back(0), failed_.push_back(0);
  health_.push_back(Health::kAccepted);
  leaf_of_.push_back(0), gpu_resource_.push_back(-1), kubelet_.push_back(-1);
  specs_.emplace_back(), zones_.emplace_back(), shared_.push_back(0), milli_begin_.push_back(0);
  for (size_t r = 0; r < free_.size(); ++r) {
    capacity_[r].push_back(0);
    if (is_device_[r] != 0) {
      devices_[r].push_back(0);
    } else {
      free_[r].push_back(0);
    }
  }
  return node;
}

Status Cluster::AddNode(const NodeAdd& node) {
  const int old = FindNode(node.name);
  if (old >= 0 && !failed(old))
    return Fail(Code::kInvalid, fmt::format("node {} is there already", Printable(node.name)));
  if (!node.at.empty() && node.at.size() != levels_.size())
    return Fail(Code::kInvalid,
                fmt::format("node {}: \"at\" needs {} names, one a level above node, found {}",
                            Printable(node.name), levels_.size(), node.at.size()));
  int kubelet = -1;
  if (Kubelets::Aligns(node)) {
    auto added = kubelets_.Add(node);
    if (!added.ok()) return Fail(std::move(added).error());
    kubelet = *added;
  }
  if (old >= 0) RemoveNode(old);  // it comes back, perhaps as another machine
  for (const auto& [name, amount] : node.capacity) Column(resources_.Id(name));
  const int id = NewRow();
  const size_t at = static_cast<size_t>(id);
  node_ids_[node.name] = id;
  kubelet_[at] = kubelet;
  specs_[at] = std::make_shared<const NodeAdd>(node);
  milli_begin_[at] = static_cast<int>(milli_used_.size());
  for (const auto& [name, amount] : node.capacity) {
    const int resource = resources_.Find(name);
    const size_t r = static_cast<size_t>(resource);
    const auto reserved = node.topology_manager.reserved.find(name);
    const int64_t kept = reserved == node.topology_manager.reserved.end() ? 0 : reserved->second;
    const int64_t given = std::max<int64_t>(0, amount - kept);
    capacity_[r][at] = given;
    total_[r] += given;
    if (is_device_[r] != 0) {
      devices_[r][at] = AllDevices(given);
    } else {
      free_[r][at] = given;
    }
    if (IsGpu(name)) {
      gpu_resource_[at] = resource;
      milli_used_.resize(milli_used_.size() + static_cast<size_t>(given), 0);
    }
  }
  Zones zones;
  for (size_t z = 0; z < node.numa.size(); ++z) {
    for (const auto& [name, ids] : node.numa[z].devices) {
      auto& masks = zones[resources_.Id(name)];
      masks.resize(node.numa.size(), 0);
      for (const int device : ids) masks[z] |= uint64_t{1} << device;
    }
  }
  for (auto& [resource, masks] : zones) Column(resource);
  if (last_zones_ == nullptr || *last_zones_ != zones)
    last_zones_ = std::make_shared<const Zones>(std::move(zones));
  zones_[at] = last_zones_;
  for (const Taint& taint : node.taints) prefers_ = prefers_ || taint.effect == "PreferNoSchedule";
  leaf_of_[at] = DomainFor(node);
  domains_[static_cast<size_t>(leaf_of_[at])].nodes.push_back(id);
  Refresh(id);
  return {};
}

int Cluster::FindNode(std::string_view name) const {
  const auto found = node_ids_.find(name);
  return found == node_ids_.end() ? -1 : found->second;
}

void Cluster::RemoveNode(int node) {
  const size_t at = static_cast<size_t>(node);
  node_ids_.erase(specs_[at]->name);
  present_[at] = 0;
  for (size_t r = 0; r < capacity_.size(); ++r) total_[r] -= capacity_[r][at];
  auto& nodes = domains_[static_cast<size_t>(leaf_of_[at])].nodes;
  nodes.erase(std::find(nodes.begin(), nodes.end(), node));
  Refresh(node);
}

void Cluster::Refresh(int node) {
  const size_t at = static_cast<size_t>(node);
  usable_[at] = present_[at] != 0 && cordoned_[at] == 0 && failed_[at] == 0 &&
                        health_[at] == Health::kAccepted
                    ? 1
                    : 0;
  ++standing_;
  Changed(node);
}
void Cluster::SetCordoned(int node, bool cordoned) {
  cordoned_[static_cast<size_t>(node)] = cordoned ? 1 : 0;
  Refresh(node);
}
void Cluster::SetFailed(int node, bool failed) {
  failed_[static_cast<size_t>(node)] = failed ? 1 : 0;
  Refresh(node);
}
void Cluster::SetHealth(int node, Health health) {
  health_[static_cast<size_t>(node)] = health;
  Refresh(node);
}

void Cluster::TrialUsable(int node, bool usable) {
  usable_[static_cast<size_t>(node)] = usable ? 1 : 0;
  Changed(node);
}

void Cluster::Changed(int node) {
  if (!log_.empty() && log_.back() == node) {
    // The last entry stands for this change too, unless somebody has read it already.
    if (log_read_ < log_end()) return;
  }
  const size_t most = 4096 + 2 * usable_.size();
  if (log_.size() >= most) {
    log_begin_ += static_cast<int64_t>(log_.size());
    log_.clear();
  }
  log_.push_back(node);
}

int64_t Cluster::Free(int resource, int node) const {
  const size_t r = static_cast<size_t>(resource), n = static_cast<size_t>(node);
  if (r >= free_.size()) return 0;
  return is_device_[r] != 0 ? Count(devices_[r][n]) : free_[r][n];
}
int64_t Cluster::Capacity(int resource, int node) const {
  const size_t r = static_cast<size_t>(resource);
  return r < capacity_.size() ? capacity_[r][static_cast<size_t>(node)] : 0;
}
uint64_t Cluster::FreeDevices(int resource, int node) const {
  const size_t r = static_cast<size_t>(resource);
  return r < devices_.size() && is_device_[r] != 0 ? devices_[r][static_cast<size_t>(node)] : 0;
}
int64_t Cluster::TotalOf(const std::string& resource) const {
  if (resource == kGpuMilli) {
    int64_t gpus = 0;
    for (size_t r = 0; r < total_.size(); ++r)
      gpus += IsGpu(resources_[static_cast<int>(r)]) ? total_[r] : 0;
    return gpus * kWholeGpu;
  }
  const int id = resources_.Find(resource);
  return id >= 0 && static_cast<size_t>(id) < total_.size() ? total_[static_cast<size_t>(id)] : 0;
}
int Cluster::GpuCount(int node) const {
  const int gpu = gpu_resource(node);
  return gpu < 0 ? 0 : static_cast<int>(Capacity(gpu, node));
}
int Cluster::MilliFree(int node, int device) const {
  const size_t n = static_cast<size_t>(node);
  if ((FreeDevices(gpu_resource_[n], node) >> device & 1) != 0) return kWholeGpu;
  if ((shared_[n] >> device & 1) == 0) return 0;
  return kWholeGpu -
         milli_used_[static_cast<size_t>(milli_begin_[n]) + static_cast<size_t>(device)];
}
int Cluster::zone_count(int node) const { return static_cast<int>(Spec(node).numa.size()); }

Shape Cluster::ToShape(const Resources& resources) {
  Shape shape;
  for (const auto& [name, amount] : resources) {
    if (amount <= 0) continue;
    if (name == kGpuMilli) {
      shape.gpu_milli = static_cast<int>(amount);
      continue;
    }
    const int id = resources_.Id(name);
    Column(id);
    (is_device_[static_cast<size_t>(id)] != 0 ? shape.devices : shape.sums).push_back({id, amount});
  }
  const auto by_id = [](const Shape::Ask& a, const Shape::Ask& b) {
    return a.resource < b.resource;
  };
  std::sort(shape.sums.begin(), shape.sums.end(), by_id);
  std::sort(shape.devices.begin(), shape.devices.end(), by_id);
  return shape;
}

Resources Cluster::FromShape(const Shape& shape) const {
  Resources resources;
  for (const auto& ask : shape.sums) resources[resources_[ask.resource]] = ask.amount;
  for (const auto& ask : shape.devices) resources[resources_[ask.resource]] = ask.amount;
  if (shape.gpu_milli > 0) resources[std::string(kGpuMilli)] = shape.gpu_milli;
  return resources;
}

int Cluster::FitShares(const Shape& shape, int node) const {
  const size_t n = static_cast<size_t>(node);
  const int gpu = gpu_resource_[n];
  if (gpu < 0) return 0;
  int fit = Count(devices_[static_cast<size_t>(gpu)][n]) * (kWholeGpu / shape.gpu_milli);
  for (uint64_t rest = shared_[n]; rest != 0; rest &= rest - 1)
    fit += MilliFree(node, std::countr_zero(rest)) / shape.gpu_milli;
  return fit;
}

int Cluster::Fit(const Shape& shape, int node) {
  const size_t n = static_cast<size_t>(node);
  int64_t fit = kMostFit;
  for (const auto& ask : shape.devices)
    fit = std::min(fit, Count(devices_[static_cast<size_t>(ask.resource)][n]) / ask.amount);
  if (fit == 0) return 0;
  for (const auto& ask : shape.sums)
    fit = std::min(fit, free_[static_cast<size_t>(ask.resource)][n] / ask.amount);
  if (shape.gpu_milli > 0) fit = std::min<int64_t>(fit, FitShares(shape, node));
  if (fit > 0 && kubelet_[n] >= 0)
    fit = kubelets_.Fit(kubelet_[n], shape, resources_, static_cast<int>(fit));
  return static_cast<int>(fit);
}

int Cluster::FitEmpty(const Shape& shape, int node) {
  const size_t n = static_cast<size_t>(node);
  int64_t fit = kMostFit;
  for (const auto& ask : shape.devices)
    fit = std::min(fit, Capacity(ask.resource, node) / ask.amount);
  for (const auto& ask : shape.sums) fit = std::min(fit, Capacity(ask.resource, node) / ask.amount);
  if (shape.gpu_milli > 0)
    fit = std::min<int64_t>(fit, int64_t{GpuCount(node)} * (kWholeGpu / shape.gpu_milli));
  if (fit > 0 && kubelet_[n] >= 0)
    fit = kubelets_.FitEmpty(kubelet_[n], shape, resources_, static_cast<int>(fit));
  return static_cast<int>(fit);
}

bool Cluster::Take(const Shape& shape, int node, Slot& slot) {
  const size_t n = static_cast<size_t>(node);
  for (const auto& ask : shape.devices) {
    if (Count(devices_[static_cast<size_t>(ask.resource)][n]) < ask.amount) return false;
  }
  for (const auto& ask : shape.sums) {
    if (free_[static_cast<size_t>(ask.resource)][n] < ask.amount) return false;
  }
  Slot taken;
  taken.node = node;
  if (shape.gpu_milli > 0) {
    taken.milli_device = gpu_resource_[n] < 0 ? -1 : ChooseShare(shape, node);
    if (taken.milli_device < 0) return false;
  }
  if (kubelet_[n] >= 0) {
    if (!kubelets_.Admit(kubelet_[n], shape, resources_, taken)) return false;
  } else {
    ChooseDevices(shape, node, taken);
  }
  Apply(shape, taken, true);
  slot = taken;
  return true;
}

void Cluster::Give(const Shape& shape, const Slot& slot) {
  if (slot.grant >= 0) kubelets_.Release(kubelet_[static_cast<size_t>(slot.node)], slot);
  Apply(shape, slot, false);
}
void Cluster::TakeAgain(const Shape& shape, const Slot& slot) {
  if (slot.grant >= 0) kubelets_.AdmitAgain(kubelet_[static_cast<size_t>(slot.node)], slot);
  Apply(shape, slot, true);
}
void Cluster::Forget(const Slot& slot) {
  if (slot.grant >= 0) kubelets_.Forget(slot);
}

std::vector<int> Cluster::ZonesOf(const Shape& shape, const Slot& slot) const {
  if (slot.grant >= 0) return kubelets_.Zones(kubelet_[static_cast<size_t>(slot.node)], slot);
  std::vector<int> in;
  const size_t n = static_cast<size_t>(slot.node);
  const Zones& zones = *zones_[n];
  for (int z = 0; z < zone_count(slot.node); ++z) {
    bool touched = false;
    for (size_t k = 0; k < shape.devices.size(); ++k) {
      const auto masks = zones.find(shape.devices[k].resource);
      if (masks != zones.end())
        touched |= (masks->second[static_cast<size_t>(z)] & slot.devices[k]) != 0;
    }
    if (slot.milli_device >= 0) {
      const auto masks = zones.find(gpu_resource_[n]);
      if (masks != zones.end())
        touched |= (masks->second[static_cast<size_t>(z)] >> slot.milli_device & 1) != 0;
    }
    if (touched) in.push_back(z);
  }
  return in;
}

}  // namespace muster::sched
