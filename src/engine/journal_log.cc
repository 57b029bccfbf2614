#include "engine/journal_log.h"

#include <fmt/format.h>

#include "journal/reader.h"

namespace muster::engine {

namespace {

Result<StoredRun> FromContents(const journal::Contents& contents) {
  StoredRun run;
  run.entries.reserve(contents.records.size());
  for (const journal::Record& record : contents.records) {
    auto entry = DecodeEntry(record.type, record.payload);
    const Status applied = entry.ok() ? run.state.Apply(*entry) : Status(Fail(entry.error()));
    if (!applied.ok())
      return Fail(
          Error(applied.error())
              .Context(fmt::format("record {} at byte {}", record.sequence, record.offset)));
    run.entries.push_back(std::move(*entry));
  }
  if (contents.summary.torn) run.note = contents.summary.torn->ToString() + ": cut off";
  return run;
}

}  // namespace

Result<StoredRun> ReadRun(Files& files, const std::string& path) {
  TRY(const journal::Contents contents, journal::Load(files, path).Context(path));
  return FromContents(contents).Context(path);
}

Result<std::unique_ptr<JournalLog>> JournalLog::Open(Files& files, const std::string& path,
                                                     const std::string& holder) {
  TRY(journal::Opened opened, journal::Writer::Open(files, path, {.holder = holder}));
  if (!opened.writer->reserve_ready())
    return Fail(Code::kUnavailable,
                fmt::format("{}: no space to reserve for outcomes: nothing is begun", path));
  TRY(StoredRun stored, FromContents(opened.recovered).Context(path));
  std::unique_ptr<JournalLog> log(new JournalLog(std::move(opened.writer)));
  log->stored_ = std::move(stored);
  return log;
}

Status JournalLog::Write(const Entry& entry, Need need) {
  TRY_VOID(writer_->Append(static_cast<uint32_t>(entry.type), EncodeEntry(entry)));
  ++records_;
  if (need == Need::kLater) return {};
  ++syncs_;
  return writer_->Sync(need == Need::kClosing ? journal::Need::kClosing : journal::Need::kNormal);
}

}  // namespace muster::engine
