// The port through which a person's files come in: plain, compressed or in an archive, whole
// folders, standard input. They are handed over in pieces, because a log may be larger than the
// memory. What cannot be read is told by name, and the rest still comes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// Receives what was found. Calls come in the order Begin, Feed..., End; after Broken no End.
class InputSink {
 public:
  virtual ~InputSink() = default;
  // `name` is the path, or "archive.tar!member".
  virtual void Begin(const std::string& name) = 0;
  virtual bool Feed(std::string_view bytes) = 0;  // false: enough of this one
  virtual void End() = 0;
  // `name` cannot be read, or not to its end.
  virtual void Broken(const std::string& name, const std::string& why) = 0;
};

class Inputs {
 public:
  virtual ~Inputs() = default;
  // A file, a folder (with all below it, sorted by name; links to folders are not
  // followed) or "-".
  virtual void Visit(const std::string& path, InputSink& sink) = 0;
  // Hands over what the file has beyond `offset`; returns the new offset. kNotFound when it is
  // gone.
  virtual Result<uint64_t> ReadFrom(const std::string& path, uint64_t offset, InputSink& sink) = 0;
};

}  // namespace muster
