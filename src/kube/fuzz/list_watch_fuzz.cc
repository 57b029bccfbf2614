// Any bytes as a list and as a watch: no crash, and no object comes out that is not in the bytes.
#include <string>
#include <string_view>

#include "base/check.h"
#include "kube/core.h"
#include "kube/stream_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto decode = [&](std::string_view json) {
    CHECK(bytes.find(json) != std::string_view::npos, "an object is a part of the text");
    static_cast<void>(muster::kube::DecodePod(json).ok());
    static_cast<void>(muster::kube::DecodeNode(json).ok());
    static_cast<void>(muster::kube::DecodeJob(json).ok());
    static_cast<void>(muster::kube::DecodeLease(json).ok());
    return muster::Status();
  };
  static_cast<void>(muster::kube::ReadList(bytes, decode).ok());
  muster::kube::LineSplitter lines(1u << 20);
  static_cast<void>(lines.Feed(bytes, [&](std::string_view line) {
    const auto event = muster::kube::ReadWatchLine(line);
    if (event.ok()) static_cast<void>(decode(event->object).has_value());
    return true;
  }));
  return 0;
}
