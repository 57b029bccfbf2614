// Which of some thousand texts occur in a line, in one pass over its bytes. Of each text the three
// bytes that the fewest others share are looked for, by a filter that stays in the first cache;
// only where they stand the whole text is compared (the idea of Wu and Manber, TR 94-17). An
// automaton over the same texts has megabytes of states, and waits for memory at most bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::diagnose {

class Scanner {
 public:
  static constexpr size_t kGram = 3;
  // `anchors` in lower case, each of kGram bytes or more; the same text may stand there twice.
  explicit Scanner(std::vector<std::string> anchors);

  // Appends the index of each anchor that occurs in `line` (ASCII letters in any case), once, in
  // the order in which they end. O(bytes + places of the grams).
  void Scan(std::string_view line, std::vector<uint32_t>& hits) const;

 private:
  // An anchor under its gram, which begins `offset` bytes into it.
  struct Entry {
    uint32_t gram, anchor, offset;
  };

  std::vector<std::string> anchors_;
  std::vector<uint64_t> filter_;  // a bit for each hash of a gram
  std::vector<Entry> entries_;    // by gram
  std::vector<uint32_t> first_;   // of a gram's hash: where in entries_ to begin to look
};

}  // namespace muster::diagnose
