// Which pod, node, server of files or batch job a line is about, so that a complaint is healed by
// what happens to the same one, not by the next good news of another. Text to values; pure. Ports
// and interfaces are followed by links.cc.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/fact.h"

namespace muster::diagnose {

// From what the line itself says: the object of a row of `kubectl get events`, pod="ml/train-0" of
// a kubelet, "Successfully assigned ml/train-0", "nfs: server nas01", "Lustre: fs-OST0001-osc-f8:
// Connection restored", "job 4711". Unknown when it names none.
Object ObjectIn(std::string_view line);

// What the names of an owner's pods begin with: "train" of Kueue's workload "jobset-train-1a2b3"
// and of Volcano's pod group "train-<UUID>"; else its own name.
std::string_view StemOf(const Object& owner);

// Are these the same one? A scope (namespace) that is not given is any. What happens to a pod
// happens to the workload, gang or job whose name its own begins with.
bool Concerns(const Object& heal, const Object& complaint);

// The object that the lines above name: "Name:" and "Namespace:" of kubectl describe, "metadata:"
// and "name:" of an object in YAML.
class ObjectAbove {
 public:
  void Line(std::string_view line);
  void Reset() { *this = ObjectAbove(); }
  const Object& now() const { return now_; }

 private:
  void Described(std::string_view line);
  void Metadata(std::string_view line, size_t indent);

  Object now_;
  std::string name_;                  // of "Name:", until the next line tells what it is
  std::string kind_;                  // of the last "kind:"
  size_t metadata_ = 0, fields_ = 0;  // indentation of "metadata:" and of what is in it
  bool in_metadata_ = false;
};

}  // namespace muster::diagnose
