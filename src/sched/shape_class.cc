#include "sched/shape_class.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::sched {

namespace {

// Everything that tells two classes apart, with lengths so that no two read the same.
std::string KeyOf(const Shape& shape, const LabelPairs& select,
                  const std::vector<Toleration>& tolerate) {
  std::string key = fmt::format("{};", shape.gpu_milli);
  for (const auto& ask : shape.sums) key += fmt::format("{}={},", ask.resource, ask.amount);
  key += ';';
  for (const auto& ask : shape.devices) key += fmt::format("{}={},", ask.resource, ask.amount);
  const auto add = [&](const std::string& text) { key += fmt::format("{}:{}", text.size(), text); };
  for (const auto& [name, value] : select) key += '|', add(name), add(value);
  for (const Toleration& t : tolerate)
    key += '~', add(t.key), add(t.op), add(t.value), add(t.effect);
  return key;
}

}  // namespace

bool Tolerates(const Toleration& t, const Taint& taint) {
  if (!t.effect.empty() && t.effect != taint.effect) return false;
  if (t.key.empty()) return t.op == "Exists";
  if (t.key != taint.key) return false;
  return t.op == "Exists" || t.value == taint.value;
}

bool Matches(const NodeAdd& node, const LabelPairs& select) {
  for (const auto& [key, value] : select) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  return true;
}

const Taint* Untolerated(const NodeAdd& node, const std::vector<Toleration>& tolerate, bool calm) {
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" && !calm) continue;
    if (std::none_of(tolerate.begin(), tolerate.end(),
                     [&](const Toleration& t) { return Tolerates(t, taint); }))
      return &taint;
  }
  return nullptr;
}

int ShapeClasses::IdOf(const Shape& shape, LabelPairs select, std::vector<Toleration> tolerate,
                       bool calm) {
  std::sort(select.begin(), select.end());
  const auto [found, fresh] = ids_.try_emplace(KeyOf(shape, select, tolerate) + (calm ? "!" : ""),
                                               static_cast<int>(classes_.size()));
  if (fresh) {
    ShapeClass c;
    c.shape = shape, c.select = std::move(select), c.tolerate = std::move(tolerate);
    c.calm = calm;
    classes_.push_back(std::move(c));
  }
  return found->second;
}

int ShapeClasses::FitOf(Cluster& cluster, const ShapeClass& c, int node) const {
  const size_t n = static_cast<size_t>(node);
  if (!cluster.usable(node) || c.match[n] == 0) return 0;
  if (n < masked_.size() && masked_[n] != 0) return 0;
  return cluster.Fit(c.shape, node);
}

void ShapeClasses::Update(Cluster& cluster, ShapeClass& c, int node) {
  const size_t n = static_cast<size_t>(node);
  const int fit = FitOf(cluster, c, node);
  const int64_t gained = int64_t{fit} - c.fit[n];
  if (gained == 0) return;
  c.fit[n] = fit;
  const auto& domains = cluster.domains();
  for (int d = cluster.LeafOf(node); d >= 0; d = domains[static_cast<size_t>(d)].parent)
    c.sum[static_cast<size_t>(d)] += gained;
}

void ShapeClasses::Rebuild(Cluster& cluster, ShapeClass& c) {
  std::fill(c.fit.begin(), c.fit.end(), 0);
  std::fill(c.sum.begin(), c.sum.end(), 0);
  for (int node = 0; node < cluster.node_count(); ++node) Update(cluster, c, node);
}

const ShapeClass& ShapeClasses::Synced(Cluster& cluster, int id) {
  ShapeClass& c = classes_[static_cast<size_t>(id)];
  if (c.synced == cluster.log_end()) return c;
  const size_t nodes = static_cast<size_t>(cluster.node_count());
  for (size_t n = c.match.size(); n < nodes; ++n) {
    const NodeAdd& spec = cluster.Spec(static_cast<int>(n));
    c.match.push_back(
        Matches(spec, c.select) && Untolerated(spec, c.tolerate, c.calm) == nullptr ? 1 : 0);
  }
  c.fit.resize(nodes, 0);
  c.sum.resize(cluster.domains().size(), 0);
  const int64_t behind = cluster.log_end() - c.synced;
  if (c.synced < cluster.log_begin() || behind > static_cast<int64_t>(nodes)) {
    Rebuild(cluster, c);
  } else {
    for (int64_t i = c.synced; i < cluster.log_end(); ++i) Update(cluster, c, cluster.LogAt(i));
  }
  c.synced = cluster.log_end();
  cluster.ReadLog();
  return c;
}

void ShapeClasses::SetMask(Cluster& cluster, std::vector<int> nodes) {
  if (nodes == mask_) return;
  masked_.resize(static_cast<size_t>(cluster.node_count()), 0);
  std::vector<int> changed;
  std::set_symmetric_difference(mask_.begin(), mask_.end(), nodes.begin(), nodes.end(),
                                std::back_inserter(changed));
  for (const int node : changed) {
    masked_[static_cast<size_t>(node)] ^= 1;
    cluster.Touch(node);
  }
  mask_ = std::move(nodes);
}

}  // namespace muster::sched
