// A pattern (the first line) against a line (the rest): no pattern of the catalogue and no line of
// a log may cost more than its length.
#include <cstddef>
#include <cstdint>

#include "diagnose/pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::diagnose;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  const auto pattern = Pattern::Parse(text.substr(0, end));
  if (!pattern.ok()) return 0;
  std::string folded;
  FoldInto(text.substr(end + 1), folded);
  Attributes captured;
  (void)pattern->Match(text.substr(end + 1), folded, captured);
  return 0;
}
