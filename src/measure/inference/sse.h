// Server-sent events as bytes arrive (WHATWG HTML, "Event stream interpretation"): messages end
// with an empty line, lines end with LF, CR LF or CR, and the network cuts anywhere. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster::inference {

class SseParser {
 public:
  // Called for each complete message with its data (several "data" lines joined by LF).
  using OnMessage = std::function<void(std::string_view data)>;

  // A message of more than `limit` bytes is damage; nothing more is read then.
  explicit SseParser(size_t limit = 1u << 20) : limit_(limit) {}

  void Feed(std::string_view bytes, const OnMessage& on_message);
  // transformers serve and others end without an empty line: true when data of an unfinished
  // message is left over, which by the standard is dropped.
  bool Pending() const { return has_data_ || !line_.empty(); }
  bool damaged() const { return damaged_; }

 private:
  void EndLine(const OnMessage& on_message);

  const size_t limit_;
  std::string line_, data_;
  bool has_data_ = false, after_cr_ = false, first_line_ = true, damaged_ = false;
};

}  // namespace muster::inference
