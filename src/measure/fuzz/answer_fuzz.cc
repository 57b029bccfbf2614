// Any bytes as the stream of an answer, cut in two.
#include <cstdint>
#include <string_view>

#include "measure/inference/answer_timer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  muster::inference::AnswerTimer timer;
  timer.Feed(bytes.substr(0, size / 2), std::chrono::milliseconds(1));
  timer.Feed(bytes.substr(size / 2), std::chrono::milliseconds(2));
  return 0;
}
