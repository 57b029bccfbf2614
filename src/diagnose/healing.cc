#include "diagnose/healing.h"

#include <algorithm>

#include "diagnose/object.h"

namespace muster::diagnose {

Healing::Healing(const Cause& cause, const FactStore& facts) {
  for (const SignRef& heal : cause.heals)
    for (const Fact* fact : facts.Of(heal.fact)) {
      if (!heal.Holds(*fact)) continue;
      any_ = true;
      last_heal_ = std::max(last_heal_, fact->last);
      if (fact->object.known()) {
        by_name_.emplace(fact->object.name, fact);
        Name(fact->object);
      } else {
        unnamed_ = true;
        last_unnamed_ = std::max(last_unnamed_, fact->last);
      }
    }
}

void Healing::Name(const Object& object) {
  if (!object.known() || named_.size() > 1) return;
  const bool other = std::none_of(named_.begin(), named_.end(), [&](const Object* o) {
    return Concerns(object, *o) || Concerns(*o, object);
  });
  if (other) named_.push_back(&object);
}

void Healing::Complaint(const Fact& fact) {
  Name(fact.object);
  size_t& last = last_[{fact.object.kind, fact.object.scope, fact.object.name}];
  last = std::max(last, fact.last);
}

bool Healing::AnyFrom(std::string_view prefix, const Object& object, size_t last) const {
  for (auto it = by_name_.lower_bound(prefix);
       it != by_name_.end() && it->first.starts_with(prefix); ++it)
    if (it->second->last > last && Concerns(it->second->object, object)) return true;
  return false;
}

bool Healing::Healed(const Object& object) const {
  const auto complaint = last_.find({object.kind, object.scope, object.name});
  if (complaint == last_.end()) return false;
  const size_t last = complaint->second;
  const bool one = named_.size() <= 1;
  if (!object.known()) return one && any_ && last_heal_ > last;
  if (one && unnamed_ && last_unnamed_ > last) return true;
  return AnyFrom(object.name, object, last) || AnyFrom(StemOf(object), object, last);
}

}  // namespace muster::diagnose
