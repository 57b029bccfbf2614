// The nodes whose kubelet aligns devices, CPUs or memory, each with the state that its managers
// have: what sched/numa says of one machine, kept for all of them. Fit counts of states that many
// nodes share (empty ones above all) are computed once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sched/event.h"
#include "sched/names.h"
#include "sched/shape.h"

namespace muster::sched {

class Kubelets {
 public:
  Kubelets();
  ~Kubelets();
  Kubelets(const Kubelets&);
  Kubelets& operator=(const Kubelets&);

  static bool Aligns(const NodeAdd& node);
  // The number of a new kubelet, empty. kInvalid for a machine that a kubelet would not start on.
  Result<int> Add(const NodeAdd& node);
  // Ranks of the shape that it admits one after another, at most `limit`.
  int Fit(int kubelet, const Shape& shape, const Names& resources, int limit);
  int FitEmpty(int kubelet, const Shape& shape, const Names& resources, int limit);
  // Admission in the order of the calls: fills slot.devices, slot.grant and `zones`.
  bool Admit(int kubelet, const Shape& shape, const Names& resources, Slot& slot);
  void Release(int kubelet, const Slot& slot);
  void AdmitAgain(int kubelet, const Slot& slot);  // undoes Release
  void Forget(const Slot& slot);                   // the slot will not be admitted again
  // A GPU of which shares are given is nothing that the kubelet may give whole.
  void SetShared(int kubelet, const std::string& resource, int device, bool shared);
  std::vector<int> Zones(int kubelet, const Slot& slot) const;

  // Everything done after Mark() is undone by Rewind(), exactly; or kept by Keep(). Marks nest.
  size_t Mark();
  void Rewind(size_t mark);
  void Keep(size_t mark);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::sched
