// Writing a journal: records are numbered and chained when they are appended, and durable when Sync
// says so. One writer at a time holds the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/frame.h"
#include "journal/reader.h"
#include "world/files.h"

namespace muster::journal {

struct WriterOptions {
  // Who holds the journal, for the one who is refused: "muster bringup run, pid 4711".
  std::string holder = "muster";
  // Kept beside the journal so that closing records still fit on a full disk. 0 = none.
  uint64_t reserve_bytes = 256 << 10;
};

// Which records may use the reserve.
enum class Need {
  kNormal,   // an intent: refused while the reserve is used up, because its outcome could not be
             // written either
  kClosing,  // an outcome or a release: being unable to write "released" is worse than not starting
};

class Writer;
struct Opened {
  std::unique_ptr<Writer> writer;
  Contents recovered;  // summary.torn says what was cut off the end
};

// Sync makes durable all that was appended before it with one write and one fdatasync (group
// commit). For one thread at a time: a failed Sync drops what is pending, so threads that share a
// writer lock from their Append to their Sync.
class Writer {
 public:
  // Creates the journal, or recovers it: an unfinished last record is cut off and reported.
  // kCorrupt: damaged, with the byte offset, and the journal is left as it was. kConflict: another
  // writer holds it (its lock is `path` + ".lock").
  static Result<Opened> Open(Files& files, const std::string& path,
                             const WriterOptions& options = {});

  // Numbers the record; it is in memory only. Returns its sequence number. kInvalid: larger than
  // kMaxPayloadBytes.
  Result<uint64_t> Append(uint32_t type, std::string_view payload);
  // On an error nothing that was pending counts: it is dropped and its numbers are given again.
  // After a failed fdatasync nobody knows what the disk holds, so the writer refuses everything
  // until the journal is opened anew.
  Status Sync(Need need = Need::kNormal);
  // The journal anew, of these records alone (numbers and offsets are given afresh), in one atomic
  // replacement: a crash leaves the old one or the new one. The file as it was is kept as `path` +
  // ".before", instead of an older one. kInvalid while something is pending. On an error the old
  // journal stands, unless the writer says of itself that it must be opened anew.
  Status Replace(const std::vector<Record>& records);
  // Both at once.
  Result<uint64_t> Commit(uint32_t type, std::string_view payload, Need need = Need::kNormal);

  uint64_t last_sequence() const { return durable_.sequence; }  // of the last durable record
  const Digest& digest() const { return durable_.digest; }      // of the chain up to there
  bool reserve_ready() const { return reserve_ready_; }

 private:
  struct State {  // what is taken back when a write fails
    uint64_t sequence = 0;
    uint64_t bytes = 0;
    Digest digest{};
  };

  Writer(Files& files, std::string path, const WriterOptions& options)
      : files_(files), path_(std::move(path)), options_(options) {}
  Result<Contents> Recover();
  Status CutTail(const Summary& summary);
  Status Write(Need need);
  Status WriteOnce();
  // The next frame of `chain`, which then stands behind it.
  static std::string Frame(Chain& chain, uint64_t sequence, uint32_t type,
                           std::string_view payload);
  bool MakeReserve();
  void DropPending();
  std::string ReservePath() const { return path_ + ".reserve"; }

  Files& files_;
  const std::string path_;
  const WriterOptions options_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<AppendFile> file_;
  Chain chain_;  // stands at ahead_
  State durable_, ahead_;
  std::string pending_;
  bool reserve_ready_ = false;
  std::string broken_;  // why, once it must not be used any more
};

}  // namespace muster::journal
