#include "diagnose/json_line.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

using Json = nlohmann::json;

std::string FirstText(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto it = object.find(key); it != object.end() && it->is_string())
      return it->get<std::string>();
  return "";
}

// Where programs say why, beside their message: {"error": "..."}, {"error": {"message": "..."}}.
constexpr std::array kWhy = {"error",     "err",          "reason",        "message", "cause",
                             "exception", "errorMessage", "error_message", "details", "stderr"};

// The message, and what the record's other fields add to it.
std::string Said(const Json& object, std::string message) {
  for (const char* key : kWhy) {
    auto it = object.find(key);
    if (it == object.end()) continue;
    const std::string more = it->is_object()   ? FirstText(*it, {"message", "msg", "reason"})
                             : it->is_string() ? it->get<std::string>()
                                               : std::string();
    if (!Trim(more).empty() && !Contains(message, Trim(more)))
      message += ": " + std::string(Trim(more));
  }
  return message;
}

// What an API's object is told by: its "message" is one field of many, not a line of a log.
bool IsDocument(const Json& object) {
  static constexpr std::array kKeys = {
      "apiVersion", "@odata.id",   "@odata.type",         "entries",
      "items",      "nvbandwidth", "DCGM GPU Diagnostic", "DCGM Diagnostic"};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const char* key) { return object.contains(key); });
}

bool IsError(const Json& object) {
  const std::string level =
      ToLower(FirstText(object, {"level", "severity", "lvl", "levelname", "log.level"}));
  if (level == "error" || level == "fatal" || level == "critical" || level == "panic") return true;
  const std::string priority = FirstText(object, {"PRIORITY"});  // syslog's: 3 is an error
  return priority.size() == 1 && priority[0] >= '0' && priority[0] <= '3';
}

}  // namespace

bool UnwrapJsonLine(std::string_view line, std::string& out) {
  const std::string_view text = Trim(line);
  if (text.size() < 12 || !text.starts_with("{\"") || !text.ends_with('}')) return false;
  if (!Contains(text, "\"log\"") && !Contains(text, "\"msg\"") && !Contains(text, "\"message\"") &&
      !Contains(text, "\"MESSAGE\""))
    return false;
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object() || IsDocument(object)) return false;
  const std::string message = FirstText(object, {"log", "msg", "message", "MESSAGE"});
  const std::string time = FirstText(
      object, {"time", "ts", "timestamp", "@timestamp", "asctime", "__REALTIME_TIMESTAMP"});
  const bool says_when = !time.empty() || object.contains("ts") || object.contains("time");
  if (message.empty() || !(says_when || object.contains("level") || object.contains("severity") ||
                           object.contains("stream") || object.contains("PRIORITY")))
    return false;
  out.clear();
  if (Contains(time, "T") || Contains(time, " ")) out += time + " ";
  const std::string host = FirstText(object, {"_HOSTNAME", "hostname", "host"});
  const std::string program = FirstText(object, {"SYSLOG_IDENTIFIER"});
  if (!host.empty()) out += host + (program.empty() ? ": " : " " + program + ": ");
  const std::string words = ToLower(message);
  if (IsError(object) && !Contains(words, "error") && !Contains(words, "fail")) out += "error: ";
  out += Said(object, message);
  if (const std::string took = FirstText(object, {"took"}); !took.empty()) out += " (" + took + ")";
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.pop_back();
  return true;
}

}  // namespace muster::diagnose
