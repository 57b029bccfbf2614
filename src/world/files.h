// The file port: whole-file reads and atomic writes, an append-only file for journals, locks. A lab
// host, a remote host and a folder of captures implement it too, so a parser cannot tell a live
// machine from a stored one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster {

struct FileInfo {
  std::string name;  // last part of the path
  bool is_directory = false;
  uint64_t size = 0;
  TimePoint modified;
};

// One writer; bytes are durable only after Sync() returned without an error.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status Sync() = 0;  // fdatasync
};

// Holds an exclusive lock until destroyed; the kernel releases it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class Files {
 public:
  virtual ~Files() = default;
  // kNotFound, kPermission, kTimeout (a remote file) are told apart. At most `limit` bytes; more is
  // kInvalid.
  virtual Result<std::string> Read(const std::string& path, uint64_t limit = 1ull << 30) = 0;
  // Writes beside the path, syncs, renames over it, syncs the folder: after a crash the old bytes
  // or the new, never a mixture.
  virtual Status WriteAtomic(const std::string& path, std::string_view bytes) = 0;
  // Creates the file where it is missing (and syncs the folder then).
  virtual Result<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) = 0;
  virtual Status Truncate(const std::string& path, uint64_t size) = 0;
  virtual Result<std::vector<FileInfo>> List(const std::string& folder) = 0;  // sorted by name
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  virtual Status MakeFolders(const std::string& path) = 0;  // and parents; fine when it exists
  virtual Status Remove(
      const std::string& path) = 0;  // a file, or a folder with all in it; fine when absent
  // kConflict when somebody else holds it; `note` is written into the file for the other to read.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path,
                                                 std::string_view note) = 0;
};

}  // namespace muster
