// The nodes as the scheduler core counts them: columns of free amounts, devices with ids, shares of
// GPUs, a tree of topology domains. It knows nothing of jobs; what a rank holds is a Slot that is
// taken and given back. Every change of a node is logged so that the fit counts of shape classes
// (shape_class.h) follow it lazily.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sched/event.h"
#include "sched/kubelets.h"
#include "sched/names.h"
#include "sched/shape.h"

namespace muster::sched {

struct Domain {
  std::string name;
  int parent = -1;       // -1 = the root itself
  int level = -1;        // index into levels(); -1 = root
  bool unnamed = false;  // of nodes without a path: satisfies no wish
  std::vector<int> children;
  std::vector<int> nodes;  // only where children are nodes
};

class Cluster {
 public:
  Cluster();

  // kInvalid: levels after the first node, a path of another length, a name that is there already.
  Status SetLevels(const std::vector<std::string>& levels);
  Status AddNode(const NodeAdd& node);
  int FindNode(std::string_view name) const;  // present ones only; -1 = none
  void RemoveNode(int node);                  // all its slots were given back before
  void SetCordoned(int node, bool cordoned);
  void SetFailed(int node, bool failed);
  void SetHealth(int node, Health health);
  void TrialUsable(int node, bool usable);  // undone by the opposite call

  int node_count() const { return static_cast<int>(usable_.size()); }  // removed ones included
  const std::string& NodeName(int node) const { return Spec(node).name; }
  bool present(int node) const { return present_[static_cast<size_t>(node)] != 0; }
  bool usable(int node) const { return usable_[static_cast<size_t>(node)] != 0; }
  bool cordoned(int node) const { return cordoned_[static_cast<size_t>(node)] != 0; }
  bool failed(int node) const { return failed_[static_cast<size_t>(node)] != 0; }
  Health health(int node) const { return health_[static_cast<size_t>(node)]; }
  const NodeAdd& Spec(int node) const { return *specs_[static_cast<size_t>(node)]; }
  int64_t Free(int resource, int node) const;  // amount, or number of free devices
  int64_t Capacity(int resource, int node) const;
  uint64_t FreeDevices(int resource, int node) const;
  bool prefers() const { return prefers_; }  // some node had better be left alone
  int gpu_resource(int node) const { return gpu_resource_[static_cast<size_t>(node)]; }
  int MilliFree(int node, int device) const;  // of one GPU
  int GpuCount(int node) const;
  int zone_count(int node) const;
  // Of all present nodes; of "gpu_milli", thousandths of every GPU.
  int64_t TotalOf(const std::string& resource) const;

  // Levels without the last, "node". LevelOf("node") is levels().size().
  const std::vector<std::string>& levels() const { return levels_; }
  int LevelOf(std::string_view level) const;  // -1 = no such level
  const std::vector<Domain>& domains() const { return domains_; }
  const std::vector<int>& DomainsOf(int level) const;
  int LeafOf(int node) const { return leaf_of_[static_cast<size_t>(node)]; }
  int AncestorAt(int domain, int level) const;  // -1 where the path has no such level
  std::string PathOf(int domain) const;         // "s0/l3"
  // Position in the order of the fabric: nodes of a domain are neighbours.
  bool BeforeInFabric(int node_a, int node_b) const;

  Names& resources() { return resources_; }
  const Names& resources() const { return resources_; }
  Shape ToShape(const Resources& resources);
  Resources FromShape(const Shape& shape) const;

  // How many such ranks the node takes now, one after another, whether it is usable or not.
  int Fit(const Shape& shape, int node);
  // The same on the empty node.
  int FitEmpty(const Shape& shape, int node);
  // Takes room for one rank. False (and nothing is taken) where it does not fit.
  bool Take(const Shape& shape, int node, Slot& slot);
  void Give(const Shape& shape, const Slot& slot);
  // Takes exactly what the slot says: the undoing of Give.
  void TakeAgain(const Shape& shape, const Slot& slot);
  // After Give, where TakeAgain will not follow.
  void Forget(const Slot& slot);
  // Give is the exact undoing of Take for all amounts and devices, but not for what a kubelet
  // remembers. Around a trial: Mark, take and give, give and take back, Rewind.
  size_t Mark() { return kubelets_.Mark(); }
  void Rewind(size_t mark) { kubelets_.Rewind(mark); }
  void Keep(size_t mark) { kubelets_.Keep(mark); }
  std::vector<int> ZonesOf(const Shape& shape, const Slot& slot) const;

  int64_t standing_version() const {
    return standing_;
  }  // moves when nodes come, go or change state

  // Node ids whose counts changed, oldest first, with a running number for each.
  int64_t log_begin() const { return log_begin_; }
  int64_t log_end() const { return log_begin_ + static_cast<int64_t>(log_.size()); }
  void Touch(int node) { Changed(node); }  // what somebody counts there has changed
  // Marks everything as read: later changes get entries of their own.
  void ReadLog() { log_read_ = log_end(); }
  int LogAt(int64_t number) const { return log_[static_cast<size_t>(number - log_begin_)]; }

 private:
  int DomainFor(const NodeAdd& node);
  void Changed(int node);
  void Refresh(int node);
  void ChooseDevices(const Shape& shape, int node, Slot& slot) const;
  int ChooseShare(const Shape& shape, int node) const;
  int FitShares(const Shape& shape, int node) const;
  void Apply(const Shape& shape, const Slot& slot, bool take);
  void ApplyShare(int milli, int node, int device, bool take);
  int NewRow();
  void Column(int resource);

  Names resources_;
  std::map<std::string, int, std::less<>> node_ids_;  // present ones
  std::vector<std::string> levels_;
  bool levels_set_ = false;
  std::vector<Domain> domains_;
  std::vector<std::vector<int>> by_level_;
  std::map<std::pair<int, std::string>, int> domain_ids_;
  int unnamed_domain_ = -1;

  // Columns, by node id.
  std::vector<uint8_t> present_, usable_, cordoned_, failed_;
  std::vector<Health> health_;
  std::vector<int> leaf_of_, gpu_resource_, kubelet_;
  std::vector<std::shared_ptr<const NodeAdd>> specs_;
  // By resource id, then node id.
  std::vector<std::vector<int64_t>> free_, capacity_;
  std::vector<std::vector<uint64_t>> devices_;  // free ones, bit by id
  std::vector<uint8_t> is_device_;
  std::vector<int64_t> total_;
  // Zone masks of a node's devices: resource -> mask of each zone. Many nodes share one.
  using Zones = std::map<int, std::vector<uint64_t>>;
  std::vector<std::shared_ptr<const Zones>> zones_;
  std::shared_ptr<const Zones> last_zones_;
  std::vector<uint64_t> shared_;  // GPUs of which shares are taken
  std::vector<int> milli_begin_;  // into milli_used_, thousandths of each GPU of the node
  std::vector<uint16_t> milli_used_;
  Kubelets kubelets_;

  std::vector<int> log_;
  int64_t log_begin_ = 0, log_read_ = 0;
  int64_t standing_ = 0;
  bool prefers_ = false;
};

}  // namespace muster::sched
