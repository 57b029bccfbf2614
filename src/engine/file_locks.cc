#include "engine/file_locks.h"

#include <fmt/format.h>

namespace muster::engine {

namespace {
constexpr int kTries = 500;
constexpr Duration kWait = std::chrono::milliseconds(10);
}  // namespace

Result<std::unique_ptr<FileLock>> FileLocks::Hold() {
  for (int n = 1;; ++n) {
    auto lock = files_.Lock(path_ + ".lock", "muster runbook");
    if (lock.ok()) return lock;
    // The table is held for as long as a file takes to write; kConflict would say that a target is.
    if (lock.error().code != Code::kConflict) return Fail(lock.error());
    if (n == kTries)
      return Fail(Code::kTimeout, fmt::format("{} stays locked: {}", path_, lock.error().message));
    clock_.SleepFor(kWait);
  }
}

Result<LockTable> FileLocks::Read() {
  const auto text = files_.Read(path_);
  if (text.ok()) return LockTable::Decode(*text).Context(path_);
  if (text.error().code == Code::kNotFound) return LockTable{};
  return Fail(text.error());
}

Result<uint64_t> FileLocks::Take(const std::string& run, const std::string& node,
                                 const std::vector<Want>& wants) {
  TRY(const auto hold, Hold());
  TRY(LockTable table, Read());
  TRY(const uint64_t fence, table.Take(run, node, wants, standing_, marked_));
  TRY_VOID(files_.WriteAtomic(path_, table.Encode()));
  return fence;
}

Status FileLocks::Release(const std::string& run, const std::string& node) {
  TRY(const auto hold, Hold());
  TRY(LockTable table, Read());
  table.Release(run, node);
  return files_.WriteAtomic(path_, table.Encode());
}

}  // namespace muster::engine
