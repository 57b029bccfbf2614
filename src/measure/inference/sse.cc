#include "measure/inference/sse.h"

#include "base/strings.h"

namespace muster::inference {

void SseParser::EndLine(const OnMessage& on_message) {
  std::string_view line = line_;
  if (first_line_ && StartsWith(line, "\xEF\xBB\xBF")) line.remove_prefix(3);
  first_line_ = false;
  if (line.empty()) {
    if (has_data_) on_message(data_);
    data_.clear();
    has_data_ = false;
  } else if (line[0] != ':') {
    const size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (StartsWith(value, " ")) value.remove_prefix(1);
    if (field == "data") {
      if (has_data_) data_ += '\n';
      data_ += value;
      has_data_ = true;
    }
  }
  line_.clear();
}

void SseParser::Feed(std::string_view bytes, const OnMessage& on_message) {
  for (const char c : bytes) {
    if (damaged_) return;
    if (c == '\n' && after_cr_) {
      after_cr_ = false;
      continue;
    }
    after_cr_ = c == '\r';
    if (c == '\n' || c == '\r') {
      EndLine(on_message);
    } else if (line_.size() + data_.size() >= limit_) {
      damaged_ = true;
    } else {
      line_ += c;
    }
  }
}

}  // namespace muster::inference
