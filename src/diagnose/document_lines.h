// JSON and XML in the middle of a text: collected from the line that opens a document to the one
// that closes it, or that cannot belong to it any more.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/section.h"

namespace muster::diagnose {

class DocumentLines {
 public:
  enum class Kind { kNone, kJson, kXml, kPickle };
  enum class Step {
    kOutside,  // the line belongs to no document
    kInside,   // it belongs to the open one
    kLast,     // it ends the open one: Close it
    kBroken    // it cannot stand in the open one, which is cut: Close it, then ask again
  };

  bool open() const { return kind_ != Kind::kNone; }
  Kind kind() const { return kind_; }
  // May open a document. `within` says that the lines around belong to a tool's output, in which a
  // bracket opens nothing.
  Step Take(std::string_view line, const std::string& file, size_t number, const std::string& host,
            bool within);
  // Pickles are bytes, not lines; the caller knows one by its first bytes.
  void BeginPickle(const std::string& file);
  void AddBytes(std::string_view bytes);
  Section Close(bool cut);

 private:
  Step TakeJson(std::string_view line, size_t number);
  void Keep(std::string_view line);

  Kind kind_ = Kind::kNone;
  Section document_;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

}  // namespace muster::diagnose
