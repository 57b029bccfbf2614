// The codec on any bytes: what it reads it writes and reads again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "evidence/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto one = muster::DecodeObservation(text); one.ok()) {
    const std::string once = muster::EncodeObservation(*one);
    const auto again = muster::DecodeObservation(once);
    if (!again.ok() || muster::EncodeObservation(*again) != once) std::abort();
  }
  if (const auto one = muster::DecodeVerdict(text); one.ok()) {
    const auto again = muster::DecodeVerdict(muster::EncodeVerdict(*one));
    if (!again.ok()) std::abort();
  }
  if (const auto one = muster::DecodeCriterion(text); one.ok()) {
    const auto again = muster::DecodeCriterion(muster::EncodeCriterion(*one));
    if (!again.ok()) std::abort();
  }
  (void)muster::DecodeObservations(text).ok();
  (void)muster::DecodeVerdicts(text).ok();
  return 0;
}
