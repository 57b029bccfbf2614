// What a pod is to whoever drains its node: whether it stays, whose job it is, and whether the work
// of that job is saved. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "kube/core.h"

namespace muster::kubernetes {

// Null: nobody's.
const kube::Owner* ControllerOf(const kube::Pod& pod);
// A DaemonSet's pod comes straight back, and a mirror pod is the kubelet's own file.
bool Stays(const kube::Pod& pod);
int64_t GpusOf(const kube::Pod& pod);
// "ml/Job/llm"; of a pod alone, its name.
std::string JobOf(const kube::Pod& pod);
// Nothing: not said, or not a time.
std::optional<TimePoint> DurableAt(const kube::Pod& pod);

enum class Saved { kYes, kNotYet, kUnknown };

// Whether the work of each pod is saved since `since`: any pod of a job speaks for those beside it.
class SavedWork {
 public:
  SavedWork(const std::vector<kube::Pod>& pods, TimePoint since);
  Saved Of(const kube::Pod& pod) const;

 private:
  const TimePoint since_;
  std::map<std::string, TimePoint> newest_;
};

}  // namespace muster::kubernetes
