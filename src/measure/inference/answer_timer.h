// One streamed answer, timed as it arrives. The first token is the first message with text in it:
// content, reasoning, or a tool call; a message that only names the role, or one with empty
// choices, is none (reference 4.4: vLLM's own benchmark counts the role message, which comes up to
// 0.9 s before the first word). Pure: the times come in with the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "measure/inference/sse.h"

namespace muster::inference {

class AnswerTimer {
 public:
  // Bytes of the body, with the monotonic time at which they were read.
  void Feed(std::string_view bytes, Duration at);

  std::optional<Duration> first_byte, role, first_content, last_content;  // monotonic times
  int messages = 0;  // with text in them: not tokens, several tokens may share one
  std::optional<int> completion_tokens;  // from `usage`
  std::string finish_reason;
  bool done = false;  // "[DONE]" came; not every server sends it
  std::string error;  // the stream said {"error": ...}, or a message was not what it should be

  // The answer came to its end: it had text, said why it ended (or [DONE]), and nothing was wrong.
  bool Complete() const {
    return error.empty() && first_content && (done || !finish_reason.empty());
  }

 private:
  void Take(std::string_view data, Duration at);

  SseParser parser_;
};

}  // namespace muster::inference
