// Names as small numbers, given in the order of first sight, so that the core compares and indexes
// integers and never depends on how a hash table is laid out.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace muster::sched {

class Names {
 public:
  Names() = default;
  Names(const Names& other) { *this = other; }
  Names& operator=(const Names& other) {
    if (this == &other) return *this;
    names_ = other.names_;
    ids_.clear();
    for (size_t i = 0; i < names_.size(); ++i) ids_.emplace(names_[i], static_cast<int>(i));
    return *this;
  }
  Names(Names&&) = default;
  Names& operator=(Names&&) = default;

  int Id(std::string_view name) {  // adds the name where it is new
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    names_.emplace_back(name);
    const int id = static_cast<int>(names_.size()) - 1;
    ids_.emplace(names_.back(), id);
    return id;
  }
  int Find(std::string_view name) const {  // -1 = never seen
    const auto found = ids_.find(name);
    return found == ids_.end() ? -1 : found->second;
  }
  const std::string& operator[](int id) const { return names_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(names_.size()); }

 private:
  std::deque<std::string> names_;  // never moves what ids_ points into
  std::unordered_map<std::string_view, int> ids_;
};

}  // namespace muster::sched
