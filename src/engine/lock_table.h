// Locks over all runs of a site as one value: a node by its name, and failure domains with so many
// slots. Pure; file_locks.h keeps it in a file. The fence only grows, so a target can refuse an
// engine that slept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/ports.h"

namespace muster::engine {

// Of a run that holds a lock.
enum class Standing {
  kLive,     // an engine works on it, or it waits for a person
  kClosed,   // it ended; a lock that is left over is nobody's
  kUnknown,  // there is no such run any more
};

class LockTable {
 public:
  // A lock that is free is taken without asking about anybody. Only where no slot is left, what is
  // nobody's is reclaimed: of a closed run, or of one that is gone, unless the node still bears its
  // mark (`marked`): then the run's isolation is not over, whatever became of its journal.
  // Logarithmic in what is held; reclaiming asks once for each holder of that lock.
  Result<uint64_t> Take(
      const std::string& run, const std::string& node, const std::vector<Locks::Want>& wants,
      const std::function<Standing(const std::string& run)>& standing,
      const std::function<bool(const std::string& node, const std::string& run)>& marked);
  // Fine when it holds nothing.
  void Release(const std::string& run, const std::string& node);

  uint64_t last_fence() const { return last_fence_; }
  size_t Holders(const std::string& name) const;

  std::string Encode() const;
  static Result<LockTable> Decode(std::string_view text);

 private:
  struct Holder {
    std::string run, node;
    auto operator<=>(const Holder&) const = default;
  };
  using Holders_ = std::map<Holder, uint64_t>;  // with its fence
  void Add(const std::string& name, const Holder& holder, uint64_t fence);
  void Drop(const std::string& name, const Holder& holder);

  uint64_t last_fence_ = 0;
  std::map<std::string, Holders_> held_;           // by lock
  std::map<Holder, std::set<std::string>> holds_;  // the same, by holder
};

}  // namespace muster::engine
