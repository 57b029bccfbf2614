// Locks over all runs of a site as one value: a node by its name, and failure domains with so many
// slots. Pure; file_locks.h keeps it in a file. The fence only grows, so a target can refuse an
// engine that slept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

struct LockTable {
  struct Holder {
    std::string run, node;
    uint64_t fence = 0;
    bool operator==(const Holder&) const = default;
  };
  uint64_t last_fence = 0;
  std::map<std::string, std::vector<Holder>> held;  // by name

  // Reclaims what is nobody's first: of a closed run, or of one that is gone, unless the node still
  // bears its mark (`marked`): then the run's isolation is not over, whatever became of its
  // journal.
  Result<uint64_t> Take(
      const std::string& run, const std::string& node, const std::vector<Locks::Want>& wants,
      const std::function<Standing(const std::string& run)>& standing,
      const std::function<bool(const std::string& node, const std::string& run)>& marked);
  // Fine when it holds nothing.
  void Release(const std::string& run, const std::string& node);

  std::string Encode() const;
  static Result<LockTable> Decode(std::string_view text);
};

}  // namespace muster::engine
