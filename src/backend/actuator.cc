#include "backend/actuator.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

std::string_view ToString(Did did) {
  switch (did) {
    case Did::kAccepted:
      return "accepted";
    case Did::kRefused:
      return "refused";
    case Did::kFailed:
      return "failed";
    case Did::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view ToString(Happened happened) {
  switch (happened) {
    case Happened::kYes:
      return "HAPPENED";
    case Happened::kNo:
      return "NOT_HAPPENED";
    case Happened::kUnknown:
      break;
  }
  return "UNKNOWN";
}

Result<Happened> ParseHappened(std::string_view text) {
  for (const Happened h : {Happened::kYes, Happened::kNo, Happened::kUnknown}) {
    if (ToString(h) == text) return h;
  }
  return Fail(Code::kParse, fmt::format("unknown probe answer \"{}\"", Printable(text)));
}

}  // namespace muster
