// The files of this machine.
#pragma once

#include "world/files.h"

namespace muster {

// Safe for threads. Names that end in ".key" are made readable by their owner only (signing keys);
// everything else follows the umask. A FIFO without a writer reads as empty: no read waits for
// somebody else.
class PosixFiles final : public Files {
 public:
  Result<std::string> Read(const std::string& path, uint64_t limit = 1ull << 30) override;
  Status WriteAtomic(const std::string& path, std::string_view bytes) override;
  Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Result<std::vector<FileInfo>> List(const std::string& folder) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Status MakeFolders(const std::string& path) override;
  Status Remove(const std::string& path) override;
  // flock(2); the file stays when the lock is given back, because removing it would let two holders
  // in.
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, std::string_view note) override;
};

}  // namespace muster
