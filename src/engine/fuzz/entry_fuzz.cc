// Records of a run's journal: any bytes are refused or read, and what was read is written as it was
// understood.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "engine/entry.h"
#include "engine/run_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view payload(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto entry = muster::engine::DecodeEntry(data[0] % 24, payload);
  if (!entry.ok()) return 0;
  const std::string text = EncodeEntry(*entry);
  const auto again = muster::engine::DecodeEntry(static_cast<uint32_t>(entry->type), text);
  CHECK(again.ok(), "what is written is read");
  CHECK(EncodeEntry(*again) == text, "and means the same");
  muster::engine::RunState state;
  muster::engine::Entry open;
  open.attempt = 2;
  CHECK(state.Apply(open).has_value(), "a run opens");
  (void)state.Apply(*entry);
  return 0;
}
