// A run's journal on disk, over journal/writer.h: what the engine writes, and what a run comes to
// when it is read again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/ports.h"
#include "engine/run_state.h"
#include "journal/writer.h"
#include "world/files.h"

namespace muster::engine {

// What a journal holds.
struct StoredRun {
  std::vector<Entry> entries;
  RunState state;
  std::string note;  // of a tail that a crash left unfinished
};

// Reads without holding it. kCorrupt names the byte; a record that cannot follow the ones before is
// corruption too.
Result<StoredRun> ReadRun(Files& files, const std::string& path);

class JournalLog final : public Log {
 public:
  // Holds the journal until destroyed; kConflict while another engine does. Space for what must
  // still be written when the disk is full is reserved first.
  static Result<std::unique_ptr<JournalLog>> Open(Files& files, const std::string& path,
                                                  const std::string& holder);

  Status Write(const Entry& entry, Need need) override;

  const StoredRun& stored() const { return stored_; }
  size_t records() const { return records_; }
  size_t syncs() const { return syncs_; }

 private:
  explicit JournalLog(std::unique_ptr<journal::Writer> writer) : writer_(std::move(writer)) {}
  std::unique_ptr<journal::Writer> writer_;
  StoredRun stored_;
  size_t records_ = 0, syncs_ = 0;
};

}  // namespace muster::engine
