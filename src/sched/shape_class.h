// Tasks that ask the same of a node are one class, and a class knows how many of them fit on every
// node and in every domain. The counts follow the cluster's change log when they are asked for, so
// an event costs a class only the nodes that it changed, and a class that nobody asks about
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/cluster.h"

namespace muster::sched {

bool Tolerates(const Toleration& toleration, const Taint& taint);

using LabelPairs = std::vector<std::pair<std::string, std::string>>;  // sorted

struct ShapeClass {
  Shape shape;
  LabelPairs select;
  std::vector<Toleration> tolerate;
  bool calm = false;
  // Synced state.
  std::vector<uint8_t> match;  // by node: labels and taints allow it
  std::vector<int32_t> fit;    // by node: ranks that fit now; 0 where not usable or masked
  std::vector<int64_t> sum;    // by domain
  int64_t synced = -1;         // number in the log; -1 = never
};

class ShapeClasses {
 public:
  // `calm`: nodes with an untolerated PreferNoSchedule taint are left out too.
  int IdOf(const Shape& shape, LabelPairs select, std::vector<Toleration> tolerate,
           bool calm = false);
  int size() const { return static_cast<int>(classes_.size()); }
  const ShapeClass& operator[](int id) const { return classes_[static_cast<size_t>(id)]; }

  // The counts as of now. O(nodes changed since the last time x levels).
  const ShapeClass& Synced(Cluster& cluster, int id);

  // Nodes that count as unusable for everybody, for a while: what is kept for a reservation. Must
  // be the same set until the next call.
  void SetMask(Cluster& cluster, std::vector<int> nodes);  // sorted
  const std::vector<int>& mask() const { return mask_; }

 private:
  void Rebuild(Cluster& cluster, ShapeClass& c);
  void Update(Cluster& cluster, ShapeClass& c, int node);
  int FitOf(Cluster& cluster, const ShapeClass& c, int node) const;

  std::vector<ShapeClass> classes_;
  std::unordered_map<std::string, int> ids_;
  std::vector<int> mask_;
  std::vector<uint8_t> masked_;
};

bool Matches(const NodeAdd& node, const LabelPairs& select);
// The first taint that keeps these tolerations out, or null.
const Taint* Untolerated(const NodeAdd& node, const std::vector<Toleration>& tolerate,
                         bool calm = false);

}  // namespace muster::sched
