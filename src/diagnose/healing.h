// What of a cause went away again: a pod that was placed in the end, a server of files that came
// back. A complaint is healed by what comes later, in the order of the input, and concerns the same
// object (object.h). Where one side does not say which it is about, it can only be meant where the
// input names no more than one.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "diagnose/fact.h"
#include "diagnose/knowledge.h"

namespace muster::diagnose {

class Healing {
 public:
  Healing(const Cause& cause, const FactStore& facts);  // `facts` must outlive it
  // All complaints first.
  void Complaint(const Fact& fact);
  // Did every complaint about `object` go away? O(log facts + objects that it may own).
  bool Healed(const Object& object) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  void Name(const Object& object);
  bool AnyFrom(std::string_view prefix, const Object& object, size_t last) const;

  std::map<Key, size_t> last_;                            // complaint of each object
  std::multimap<std::string_view, const Fact*> by_name_;  // heals that name their object
  std::vector<const Object*> named_;                      // different ones, until there are two
  bool any_ = false, unnamed_ = false;                    // heals; heals that name none
  size_t last_heal_ = 0, last_unnamed_ = 0;
};

}  // namespace muster::diagnose
