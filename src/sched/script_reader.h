// Reads a cluster script (JSON Lines, one event a line) strictly: an unknown or repeated key, a
// wrong type, a bad quantity or a time that goes back is an error with line and column, and nothing
// of that line is used.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/event.h"

namespace muster::sched {

class ScriptReader {
 public:
  ScriptReader();
  ~ScriptReader();
  ScriptReader(ScriptReader&&) noexcept;

  // The event of one line, without its end of line. `line` is only for messages. Errors are
  // kInvalid and read "line 3, column 17: ...". A blank line or a comment is kNotFound: skip it.
  Result<Event> Line(std::string_view text, int line);
  // One event without "t", as in --change: {"op":"node.cordon","name":"n1"}.
  Result<Event> Change(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

bool IsSkipped(std::string_view line);  // blank, or begins with "#"
// All events of a script; the first error ends it.
Result<std::vector<Event>> ReadScript(std::string_view text);

}  // namespace muster::sched
