// Logs in which each line is a JSON object: what container runtimes (json-file), journalctl -o json
// and structured loggers write. The text inside is what the program said.
#pragma once

#include <string>
#include <string_view>

namespace muster::diagnose {

// The line as a plain log would have it: time, host and program where the object names them, then
// the message, "error: " before it where the level says so and the words do not, and behind it the
// error and how long it took, where the object says. False when the
// line is no such object: an object needs a message, and a time, a level or a stream. The message
// may hold line breaks. O(bytes), reads any bytes.
bool UnwrapJsonLine(std::string_view line, std::string& out);

}  // namespace muster::diagnose
