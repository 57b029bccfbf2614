// Reading a journal: every record up to the end, the tail that a crash left half written, or the
// byte at which stored bytes are damaged. Reads only; the same code recovers, verifies and
// inspects.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/frame.h"
#include "world/files.h"

namespace muster::journal {

struct Record {
  uint64_t sequence = 0;  // 1, 2, 3, ...
  uint32_t type = 0;
  std::string payload;
  uint64_t offset = 0;  // of its frame in the file
  bool operator==(const Record&) const = default;
};
struct RecordView {
  uint64_t sequence = 0;
  uint32_t type = 0;
  std::string_view payload;
  uint64_t offset = 0;
};

// Bytes after the last whole frame that a crash explains: they were never reported as durable.
struct TornTail {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // "the last 17 bytes, from byte 4096, are an unfinished record"
  std::string ToString() const;
};

struct Summary {
  uint64_t records = 0;
  uint64_t whole_bytes =
      0;  // up to the end of the last whole frame; 0 when even the file header is unfinished
  Digest digest{};  // of the chain at its end: names this history, and no other
  std::optional<TornTail> torn;
};
struct Contents {
  std::vector<Record> records;
  Summary summary;
};

// kCorrupt, with the byte offset in the message, when the bytes are damaged in a way that no crash
// explains; kInvalid for a newer format. `on_record` is called for each record up to there, so a
// caller that must not act on a damaged journal waits for the result. The rule that tells a torn
// tail from damage is in docs/design/journal.md.
Result<Summary> Scan(std::string_view bytes,
                     const std::function<void(const RecordView&)>& on_record);

Result<Contents> Load(Files& files, const std::string& path);
// Checks every frame and the whole chain without keeping the records.
Result<Summary> Verify(Files& files, const std::string& path);

}  // namespace muster::journal
