// Any bytes, cut in two at the first NUL: a timeline that can be drawn, or a clear error.
#include "sched/timeline/svg.h"
#include "sched/timeline/timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::timeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('\0');
  const auto timeline =
      ReadTimeline(text.substr(0, cut), cut == std::string_view::npos ? "" : text.substr(cut + 1));
  if (timeline.ok()) ToSvg(*timeline, "fuzz", 50);
  return 0;
}
