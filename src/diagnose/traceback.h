// Python's tracebacks in the mixed lines of many ranks: what was raised, and in whose code. Where a
// program gave up tells the layer also when no rule knows its words.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

// Facts "python.raised": type and what (of the exception; none where the text ends before it),
// where ("torch/serialization.py:load", the innermost frame), path (all frames that are kept,
// innermost first). A program's code is what follows site-packages; other files keep three folders.
// Memory is O(kMostOpen x kMostFrames) of short texts.
class Tracebacks {
 public:
  static constexpr size_t kMostOpen = 64, kMostFrames = 12, kLongestGap = 60;

  // A line that may hold a frame: `  File "/a/b.py", line 7, in f`, behind any runner's prefix.
  void Frame(std::string_view line, const Place& at);
  // A line that tells that what follows was caught: the traceback after it is no failure.
  void Caught() { caught_ = true; }
  bool open() const { return !open_.empty(); }
  // Any line while one is open; the exception that ends one becomes a fact. True for the exception
  // of one that was caught, which is no complaint. O(length x open).
  bool Line(std::string_view line, const Place& at, FactStore& facts);
  // The text ends: tracebacks without their exception.
  void End(FactStore& facts);

 private:
  struct Open {
    std::deque<std::string> frames;  // innermost first
    size_t indent = 0, last_line = 0;
    bool harmless = false;  // printed as a warning or for debugging
    Place at;
    std::string text;
  };
  static void Tell(const Open& open, std::string_view type, std::string_view what, const Place& at,
                   std::string_view line, FactStore& facts);
  std::map<std::string, Open> open_;  // by the prefix of its lines, digits and blanks left out
  bool caught_ = false;
};

}  // namespace muster::diagnose
