// Observations, verdicts and criteria as JSON text and back. Bundles, ledgers and `-o json` keep
// them so; the keys stand in a fixed order and a value keeps its type (1 is an int, 1.0 a real), so
// equal things give equal bytes and equal digests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evidence/criterion.h"
#include "evidence/observation.h"
#include "evidence/verdict.h"

namespace muster {

// Decode(Encode(x)) is x, to the nanosecond and the last bit of a real, as long as texts are valid
// UTF-8: an invalid byte becomes U+FFFD. Decoding refuses (kParse, naming the key) what is missing
// or of another type, and ignores keys it does not know, so that an older binary reads a newer
// ledger.
std::string EncodeObservation(const Observation& observation);
Result<Observation> DecodeObservation(std::string_view json);

std::string EncodeVerdict(const Verdict& verdict);
Result<Verdict> DecodeVerdict(std::string_view json);

std::string EncodeCriterion(const Criterion& criterion);
Result<Criterion> DecodeCriterion(std::string_view json);

// Many at once: {"sources": [...], "observations": [...]}, in which a source that several share is
// written once (and shared again after reading). One line an observation.
std::string EncodeObservations(std::span<const Observation> observations);
Result<Observations> DecodeObservations(std::string_view json);
// [...], one line a verdict.
std::string EncodeVerdicts(std::span<const Verdict> verdicts);
Result<std::vector<Verdict>> DecodeVerdicts(std::string_view json);

}  // namespace muster
