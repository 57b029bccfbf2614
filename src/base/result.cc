#include "base/result.h"

namespace muster {

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kInternal:
      return "internal";
    case Code::kNotFound:
      return "not found";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kTimeout:
      return "timeout";
    case Code::kPermission:
      return "permission";
    case Code::kParse:
      return "parse";
    case Code::kConflict:
      return "conflict";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kInvalid:
      return "invalid";
    case Code::kCancelled:
      return "cancelled";
    case Code::kRefused:
      return "refused";
  }
  return "internal";
}

Error Error::Context(std::string frame) && {
  frames.push_back(std::move(frame));
  return std::move(*this);
}

std::string Error::ToString() const {
  std::string text;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) text += *frame + ": ";
  return text + message;
}

}  // namespace muster
