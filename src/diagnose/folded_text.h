// A message that YAML folds over several lines (`kubectl get -o yaml`), put together again: the
// reason often stands in the second. Text to text; holds one message at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::diagnose {

class FoldedText {
 public:
  static constexpr size_t kMostBytes = 16384;

  // True when `line` begins a "message:", "reason:" or "note:" that may go on in the next line; it
  // is kept then.
  bool Begin(std::string_view line, size_t number);
  bool open() const { return !text_.empty(); }
  // True when `line` is more of it; it is kept then.
  bool Continue(std::string_view line);
  // The number of its first line.
  size_t number() const { return number_; }
  // All of it as one line; closes it.
  std::string Take();

 private:
  std::string text_;
  size_t number_ = 0, indent_ = 0;
  char quote_ = '\0';  // that the value begins with
  bool may_go_on_ = false;
};

}  // namespace muster::diagnose
