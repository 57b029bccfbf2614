// Files in memory that remember what was synced: a test can pull the plug at any moment and look at
// what a disk would still hold.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "world/clock.h"
#include "world/files.h"

namespace muster::testing {

// Safe for threads. Folders come into being with the files in them. Paths are compared as text,
// "//" and "/." apart.
class MemoryFiles final : public Files {
 public:
  // Without a clock every file was modified at the epoch.
  explicit MemoryFiles(const Clock* clock = nullptr);
  ~MemoryFiles() override;

  Result<std::string> Read(const std::string& path, uint64_t limit = 1ull << 30) override;
  Status WriteAtomic(const std::string& path, std::string_view bytes) override;
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Result<std::vector<FileInfo>> List(const std::string& folder) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Status MakeFolders(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override;

  // The power goes out: of what was appended since the last Sync only the first `kept` bytes of
  // each file survive (a disk may have written any part of it). Locks are gone, open AppendFiles
  // answer kUnavailable from now on.
  void Crash(uint64_t kept = 0);
  // As a test sets a stage: written and synced.
  void Put(const std::string& path, std::string_view bytes);
  // A disk of this many bytes in all; writes past it are cut where it is full and answer
  // kUnavailable.
  void SetCapacity(uint64_t bytes);
  // Reads of this path answer with this error until it is Put again.
  void Forbid(const std::string& path, Error error);
  std::vector<std::string> Paths() const;

 private:
  struct State;
  class Appender;
  class Holder;
  std::shared_ptr<State> state_;
};

}  // namespace muster::testing
