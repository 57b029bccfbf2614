#include "backend/hold_memory.h"

#include <fmt/format.h>

#include "backend/lease_text.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {
constexpr uint64_t kMostBytes = 64 << 10;
}

// A node's name may hold what no file name may.
std::string HoldMemory::PathOf(const std::string& node) const {
  return fmt::format("{}/{}.json", folder_, Sha256Hex(node).substr(0, 32));
}

void HoldMemory::Saw(const std::string& node, const Hold& hold) {
  const std::string path = PathOf(node);
  const auto kept = world_.files.Read(path, kMostBytes);
  if (!hold.lease) {
    // Where nothing can be removed, the next engine finds a lease that the host does not confirm:
    // it is refused by the host.
    if (kept.ok() || kept.error().code != Code::kNotFound)
      static_cast<void>(world_.files.Remove(path).has_value());
    return;
  }
  const std::string text = WriteLease(*hold.lease) + "\n";
  if (kept.ok() && *kept == text) return;
  if (world_.files.MakeFolders(folder_).has_value())
    static_cast<void>(world_.files.WriteAtomic(path, text).has_value());
}

std::optional<Hold> HoldMemory::Last(const std::string& node) {
  const std::string path = PathOf(node);
  const auto text = world_.files.Read(path, kMostBytes);
  if (!text.ok()) return std::nullopt;
  auto lease = ReadLease(*text);
  if (!lease.ok()) return std::nullopt;
  Hold hold;
  hold.schedulable = false;
  hold.note = fmt::format("{}:{} {} (as it was when the node last answered)", lease->owner,
                          lease->run, lease->reason);
  hold.version = "last seen";
  hold.lease = std::move(*lease);
  return hold;
}

}  // namespace muster
