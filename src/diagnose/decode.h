// Bytes of a file as UTF-8 text: UTF-16 as Windows tools write it is turned, a byte order mark is
// dropped, and what is no text at all is told apart, so that nobody reads findings out of a binary.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::diagnose {

class Decoder {
 public:
  // The text of the next bytes, valid until the next call; nothing when the file is binary. A
  // pickle (a flight recorder's dump) is handed on as it is.
  std::optional<std::string_view> Decode(std::string_view bytes);

 private:
  enum class Form { kUnseen, kPlain, kUtf16Little, kUtf16Big, kBinary } form_ = Form::kUnseen;
  std::string out_, odd_;
};

// UTF-8 without control characters other than those that logs hold: tabs, backspaces, form feeds,
// and escapes that begin a terminal's sequence. O(length).
bool IsText(std::string_view line);

}  // namespace muster::diagnose
