#include "journal/writer.h"

#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "world/random.h"

namespace muster::journal {

Result<Opened> Writer::Open(Files& files, const std::string& path, const WriterOptions& options) {
  std::unique_ptr<Writer> writer(new Writer(files, path, options));
  TRY(writer->lock_, files.Lock(path + ".lock", options.holder));
  TRY(Contents recovered, writer->Recover());
  TRY(writer->file_, files.OpenAppend(path));
  writer->reserve_ready_ = writer->MakeReserve();
  return Opened{std::move(writer), std::move(recovered)};
}

Result<Contents> Writer::Recover() {
  Result<Contents> loaded = Load(files_, path_);
  if (!loaded.ok() && loaded.error().code != Code::kNotFound) return loaded;
  Contents contents = loaded.ok() ? std::move(*loaded) : Contents{};
  if (contents.summary.whole_bytes == 0) {
    // New, or the machine stopped while it was being made: no record can have been in it.
    TRY_VOID(files_.WriteAtomic(path_, FileHeader()));
    contents.summary.whole_bytes = kFileHeaderBytes;
    contents.summary.digest = chain_.value();
  } else if (contents.summary.torn) {
    TRY_VOID(CutTail(contents.summary));
  }
  durable_.sequence = contents.summary.records;
  durable_.bytes = contents.summary.whole_bytes;
  durable_.digest = contents.summary.digest;
  chain_.Set(durable_.digest);
  ahead_ = durable_;
  return contents;
}

// Looks twice before it cuts: a read that went wrong must not cost a record that is on the disk.
Status Writer::CutTail(const Summary& summary) {
  TRY(const Summary again, Verify(files_, path_));
  if (again.whole_bytes != summary.whole_bytes || !again.torn ||
      again.torn->bytes != summary.torn->bytes) {
    return Fail(Code::kUnavailable, fmt::format("two reads of {} gave different bytes", path_));
  }
  return files_.Truncate(path_, summary.whole_bytes);
}

std::string Writer::Frame(Chain& chain, uint64_t sequence, uint32_t type,
                          std::string_view payload) {
  std::string frame =
      EncodeFrameHeader({static_cast<uint32_t>(payload.size()), type, sequence, Crc32c(payload)});
  chain.Add(frame, payload);
  frame += payload;
  frame += chain.digest();
  return frame;
}

Status Writer::Replace(const std::vector<Record>& records) {
  if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
  if (!pending_.empty()) return Fail(Code::kInvalid, "records wait to be written");
  Chain chain;
  std::string bytes = FileHeader();
  State state;
  for (const Record& record : records) {
    if (record.payload.size() > kMaxPayloadBytes)
      return Fail(Code::kInvalid, "a record is too large");
    bytes += Frame(chain, ++state.sequence, record.type, record.payload);
  }
  state.bytes = bytes.size();
  state.digest = chain.value();
  TRY(const std::string old, files_.Read(path_));
  TRY_VOID(files_.WriteAtomic(path_ + ".before", old));
  if (Status written = files_.WriteAtomic(path_, bytes); !written.ok()) {
    const auto there = files_.Read(path_);
    if (!there.ok() || *there != old)
      broken_ = path_ + " was being written anew and that failed; open it anew";
    return std::move(written).Context("writing " + path_);
  }
  // The handle is the old file's.
  broken_ = path_ + " was written anew and could not be opened; open it anew";
  TRY(file_, files_.OpenAppend(path_));
  broken_.clear();
  durable_ = ahead_ = state;
  chain_.Set(state.digest);
  return {};
}

Result<uint64_t> Writer::Append(uint32_t type, std::string_view payload) {
  if (payload.size() > kMaxPayloadBytes) {
    return Fail(Code::kInvalid, fmt::format("a record of {} bytes; at most {} fit", payload.size(),
                                            kMaxPayloadBytes));
  }
  if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
  pending_ += Frame(chain_, ahead_.sequence + 1, type, payload);
  ahead_.digest = chain_.value();
  ahead_.bytes += kFrameOverheadBytes + payload.size();
  return ++ahead_.sequence;
}

Status Writer::Sync(Need need) {
  if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
  if (pending_.empty()) return {};
  if (Status written = Write(need); !written.ok()) {
    DropPending();
    return std::move(written).Context("writing " + path_);
  }
  if (Status synced = file_->Sync(); !synced.ok()) {
    // The kernel may have dropped the pages that it could not write and report success the next
    // time.
    broken_ =
        fmt::format("{} could not be made durable; open it anew to see what the disk holds", path_);
    DropPending();
    return std::move(synced).Context("writing " + path_);
  }
  pending_.clear();
  durable_ = ahead_;
  return {};
}

Result<uint64_t> Writer::Commit(uint32_t type, std::string_view payload, Need need) {
  TRY(const uint64_t sequence, Append(type, payload));
  TRY_VOID(Sync(need));
  return sequence;
}

Status Writer::Write(Need need) {
  if (need == Need::kNormal && !reserve_ready_) {
    reserve_ready_ = MakeReserve();
    if (!reserve_ready_) {
      return Fail(Code::kUnavailable,
                  fmt::format("no room for the {} bytes that closing records would need",
                              options_.reserve_bytes));
    }
  }
  Status written = WriteOnce();
  if (written.ok() || need == Need::kNormal || !broken_.empty()) return written;
  reserve_ready_ = false;
  TRY_VOID(files_.Remove(ReservePath()));
  return WriteOnce();
}

Status Writer::WriteOnce() {
  Status written = file_->Append(pending_);
  if (written.ok()) return written;
  // Part of it may stand there; the next record must not come after half a one.
  if (!files_.Truncate(path_, durable_.bytes).ok()) {
    broken_ =
        fmt::format("{} ends in half a record that could not be cut off; open it anew", path_);
  }
  return written;
}

bool Writer::MakeReserve() {
  if (options_.reserve_bytes == 0) return true;
  const Result<FileInfo> there = files_.Stat(ReservePath());
  if (there.ok() && there->size == options_.reserve_bytes) return true;
  // No zeros: a file system that compresses would keep no room for them.
  SeededRandom random(options_.reserve_bytes);
  std::string bytes;
  bytes.reserve(options_.reserve_bytes);
  while (bytes.size() < options_.reserve_bytes) bytes += static_cast<char>(random.Next());
  return files_.WriteAtomic(ReservePath(), bytes).ok();
}

void Writer::DropPending() {
  pending_.clear();
  ahead_ = durable_;
  chain_.Set(durable_.digest);
}

}  // namespace muster::journal
