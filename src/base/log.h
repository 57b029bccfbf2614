// The program's own log, on stderr, for people who debug Muster itself. Progress and results do not
// go here.
#pragma once

#include <string_view>

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };
void SetLogLevel(LogLevel level);  // kWarn until told otherwise
void Log(LogLevel level, std::string_view message);

}  // namespace muster
