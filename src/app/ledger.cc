#include "app/ledger.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/capture.h"
#include "app/ledger_codec.h"
#include "journal/writer.h"

namespace muster {

namespace {

class JournalLedger final : public RunLedger {
 public:
  explicit JournalLedger(std::unique_ptr<journal::Writer> writer) : writer_(std::move(writer)) {}

  Status GateBegins(int gate, TimePoint at) override {
    return Commit(RecordType::kGateBegins, EncodeGateBegins(gate, at));
  }
  Status ActIntent(int gate, const ActRecord& act) override {
    return Commit(RecordType::kActIntent, EncodeAct(gate, act));
  }
  Status ActOutcome(int gate, const ActRecord& act) override {
    return Commit(RecordType::kActOutcome, EncodeAct(gate, act), journal::Need::kClosing);
  }
  Status Seen(int gate, const Evidence& evidence) override {
    for (const Reading& reading : evidence.readings) {
      Reading kept = reading;  // secrets never reach the disk
      kept.text = Redact(reading.text);
      kept.stderr_text = Redact(reading.stderr_text);
      kept.command = Redact(reading.command);
      TRY_VOID(Append(RecordType::kReading, EncodeReading(gate, kept)));
    }
    TRY_VOID(Append(RecordType::kDerived, EncodeDerived(gate, evidence.derived)));
    return writer_->Sync();
  }
  Status Judged(const GateResult& result) override {
    return Commit(RecordType::kJudged, EncodeResult(result), journal::Need::kClosing);
  }
  Status Resumed(TimePoint at, std::string_view note) override {
    return Commit(RecordType::kResumed, EncodeResumed(at, note));
  }
  Status Close(Level level, TimePoint at) override {
    return Commit(RecordType::kClosed, EncodeClosed(level, at), journal::Need::kClosing);
  }

 private:
  Status Append(RecordType type, const std::string& payload) {
    auto done = writer_->Append(static_cast<uint32_t>(type), payload);
    if (!done.ok())
      return tl::unexpected(std::move(done.error()).Context("writing the run's ledger"));
    return {};
  }
  Status Commit(RecordType type, const std::string& payload,
                journal::Need need = journal::Need::kNormal) {
    auto done = writer_->Commit(static_cast<uint32_t>(type), payload, need);
    if (!done.ok())
      return tl::unexpected(std::move(done.error()).Context("writing the run's ledger"));
    return {};
  }

  std::unique_ptr<journal::Writer> writer_;
};

GateRecord& RecordOf(Run& run, int gate) {
  for (GateRecord& record : run.gates) {
    if (record.gate == gate) return record;
  }
  GateRecord& record = run.gates.emplace_back();
  record.gate = gate;
  return record;
}

// An outcome closes the intent of the same name; an intent alone stays without an outcome: in
// doubt.
void KeepAct(GateRecord& record, ActRecord act, bool outcome) {
  for (ActRecord& known : record.acts) {
    if (known.name == act.name && outcome) {
      known = std::move(act);
      return;
    }
  }
  record.acts.push_back(std::move(act));
}

Status Apply(const journal::Record& record, Run& run) {
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::kHeader: {
      TRY(run.header, DecodeHeader(record.payload));
      return {};
    }
    case RecordType::kGateBegins: {
      int gate = 0;
      TimePoint at;
      TRY_VOID(DecodeGateBegins(record.payload, gate, at));
      // A gate that begins again after an interruption: what was half seen counts no more, its acts
      // do.
      GateRecord& fresh = RecordOf(run, gate);
      fresh.began = at;
      fresh.evidence = {};
      fresh.result.reset();
      return {};
    }
    case RecordType::kActIntent:
    case RecordType::kActOutcome: {
      int gate = 0;
      ActRecord act;
      TRY_VOID(DecodeAct(record.payload, gate, act));
      KeepAct(RecordOf(run, gate), std::move(act),
              static_cast<RecordType>(record.type) == RecordType::kActOutcome);
      return {};
    }
    case RecordType::kReading: {
      int gate = 0;
      Reading reading;
      TRY_VOID(DecodeReading(record.payload, gate, reading));
      Observations seen = Understand(reading).value_or(Observations{});
      RecordOf(run, gate).evidence.Add(std::move(reading), std::move(seen), true);
      return {};
    }
    case RecordType::kDerived: {
      int gate = 0;
      TRY(Observations derived, DecodeDerived(record.payload, gate));
      RecordOf(run, gate).evidence.derived = std::move(derived);
      return {};
    }
    case RecordType::kJudged: {
      TRY(GateResult result, DecodeResult(record.payload));
      GateRecord& judged = RecordOf(run, result.gate);
      judged.result = std::move(result);
      return {};
    }
    case RecordType::kResumed: {
      run.note +=
          (run.note.empty() ? "" : "; ") + fmt::format("resumed {}", DecodeResumed(record.payload));
      return {};
    }
    case RecordType::kClosed: {
      TRY_VOID(DecodeClosed(record.payload, run.level, run.ended));
      run.closed = true;
      return {};
    }
  }
  return Fail(Code::kParse, fmt::format("record {} is of type {}, which this binary does not know",
                                        record.sequence, record.type));
}

Status Rebuild(const journal::Contents& contents, const std::string& path, Run& run) {
  if (contents.records.empty())
    return Fail(Code::kNotFound,
                fmt::format("{} holds no run: it ended before its first record was durable", path));
  for (const journal::Record& record : contents.records) {
    TRY_VOID(Apply(record, run)
                 .Context(fmt::format("{}, record {} at byte {}", path, record.sequence,
                                      record.offset)));
  }
  if (contents.summary.torn)
    run.note += (run.note.empty() ? "" : "; ") + contents.summary.torn->ToString();
  return {};
}

}  // namespace

Result<std::unique_ptr<RunLedger>> CreateLedger(Files& files, const std::string& path,
                                                const RunHeader& header) {
  TRY(auto opened, journal::Writer::Open(files, path, {.holder = header.by}));
  TRY([[maybe_unused]] const uint64_t sequence,
      opened.writer->Commit(static_cast<uint32_t>(RecordType::kHeader), EncodeHeader(header)));
  return std::make_unique<JournalLedger>(std::move(opened.writer));
}

Result<std::unique_ptr<RunLedger>> ContinueLedger(Files& files, const std::string& path, Run& run) {
  TRY(auto opened, journal::Writer::Open(files, path));
  TRY_VOID(Rebuild(opened.recovered, path, run));
  return std::make_unique<JournalLedger>(std::move(opened.writer));
}

Result<Run> ReadLedger(Files& files, const std::string& path) {
  TRY(const journal::Contents contents, journal::Load(files, path));
  Run run;
  TRY_VOID(Rebuild(contents, path, run));
  return run;
}

}  // namespace muster
