// Which of some hundred texts occur in a line, in one pass over its bytes: an Aho-Corasick
// automaton (CACM 18(6), 1975) over lower-case bytes, its table narrowed to the bytes that the
// texts use so that it stays in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::diagnose {

class Scanner {
 public:
  // `anchors` in lower case; the same text may stand there more than once.
  explicit Scanner(const std::vector<std::string>& anchors);

  // Appends the index of each anchor that occurs in `line` (any case), once.
  void Scan(std::string_view line, std::vector<uint32_t>& hits) const;

 private:
  std::array<uint8_t, 256> class_of_{};  // byte -> column
  uint32_t columns_ = 1;
  std::vector<uint32_t> next_;               // state * columns_ + column
  std::vector<std::vector<uint32_t>> ends_;  // of a state: anchors that end there (with suffixes)
  std::vector<uint8_t> has_end_;
};

}  // namespace muster::diagnose
