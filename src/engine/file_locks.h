// The lock table of a site in a file beside its runs: read, changed and replaced under an exclusive
// lock.
#pragma once

#include <functional>
#include <string>

#include "engine/lock_table.h"
#include "world/clock.h"
#include "world/files.h"

namespace muster::engine {

class FileLocks final : public Locks {
 public:
  // `standing` says what became of a run; `marked` whether a node bears its mark. Ports are
  // borrowed.
  FileLocks(Files& files, Clock& clock, std::string path,
            std::function<Standing(const std::string& run)> standing,
            std::function<bool(const std::string& node, const std::string& run)> marked)
      : files_(files),
        clock_(clock),
        path_(std::move(path)),
        standing_(std::move(standing)),
        marked_(std::move(marked)) {}

  Result<uint64_t> Take(const std::string& run, const std::string& node,
                        const std::vector<Want>& wants) override;
  Status Release(const std::string& run, const std::string& node) override;
  Result<LockTable> Read();

 private:
  Result<std::unique_ptr<FileLock>> Hold();

  Files& files_;
  Clock& clock_;
  std::string path_;
  std::function<Standing(const std::string&)> standing_;
  std::function<bool(const std::string&, const std::string&)> marked_;
};

}  // namespace muster::engine
