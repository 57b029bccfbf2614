// The records of a run's ledger as bytes: small JSON, and for a reading one line of JSON and then
// the raw text as it was read.
#pragma once

#include <string>
#include <string_view>

#include "app/run.h"

namespace muster {

// Numbers are on disk; never reused.
enum class RecordType : uint32_t {
  kHeader = 1,
  kGateBegins = 2,
  kActIntent = 3,
  kActOutcome = 4,
  kReading = 5,
  kDerived = 6,
  kJudged = 7,
  kResumed = 8,
  kClosed = 9,
};

std::string EncodeHeader(const RunHeader& header);
Result<RunHeader> DecodeHeader(std::string_view bytes);
std::string EncodeGateBegins(int gate, TimePoint at);
Status DecodeGateBegins(std::string_view bytes, int& gate, TimePoint& at);
std::string EncodeAct(int gate, const ActRecord& act);
Status DecodeAct(std::string_view bytes, int& gate, ActRecord& act);
std::string EncodeReading(int gate, const Reading& reading);
Status DecodeReading(std::string_view bytes, int& gate, Reading& reading);
std::string EncodeDerived(int gate, const Observations& derived);
Result<Observations> DecodeDerived(std::string_view bytes, int& gate);
std::string EncodeResult(const GateResult& result);
Result<GateResult> DecodeResult(std::string_view bytes);
std::string EncodeResumed(TimePoint at, std::string_view note);
std::string DecodeResumed(std::string_view bytes);
std::string EncodeClosed(Level level, TimePoint at);
Status DecodeClosed(std::string_view bytes, Level& level, TimePoint& at);

}  // namespace muster
