#include "diagnose/scan.h"

#include <algorithm>
#include <deque>

namespace muster::diagnose {

Scanner::Scanner(const std::vector<std::string>& anchors) {
  for (const std::string& anchor : anchors)
    for (const char c : anchor) {
      uint8_t& column = class_of_[static_cast<uint8_t>(c)];
      if (column == 0) column = static_cast<uint8_t>(columns_++);
    }
  for (int c = 'A'; c <= 'Z'; ++c) class_of_[c] = class_of_[c + 32];
  const auto add_state = [&] {
    next_.resize(next_.size() + columns_, 0);
    ends_.emplace_back();
    return static_cast<uint32_t>(ends_.size() - 1);
  };
  add_state();
  for (uint32_t i = 0; i < anchors.size(); ++i) {
    uint32_t state = 0;
    for (const char c : anchors[i]) {
      const size_t cell = state * columns_ + class_of_[static_cast<uint8_t>(c)];
      if (next_[cell] == 0) {
        const uint32_t made = add_state();
        next_[cell] = made;
      }
      state = next_[cell];
    }
    ends_[state].push_back(i);
  }
  std::vector<uint32_t> fail(ends_.size(), 0);
  std::deque<uint32_t> queue;
  for (uint32_t column = 0; column < columns_; ++column)
    if (next_[column] != 0) queue.push_back(next_[column]);
  while (!queue.empty()) {
    const uint32_t state = queue.front();
    queue.pop_front();
    const auto& inherited = ends_[fail[state]];
    ends_[state].insert(ends_[state].end(), inherited.begin(), inherited.end());
    for (uint32_t column = 0; column < columns_; ++column) {
      uint32_t& target = next_[state * columns_ + column];
      const uint32_t fallback = next_[fail[state] * columns_ + column];
      if (target == 0) {
        target = fallback;
      } else {
        fail[target] = fallback;
        queue.push_back(target);
      }
    }
  }
  // Rows are addressed directly: a state is the offset of its row.
  has_end_.resize(ends_.size());
  for (size_t s = 0; s < ends_.size(); ++s) has_end_[s] = ends_[s].empty() ? 0 : 1;
}

void Scanner::Scan(std::string_view line, std::vector<uint32_t>& hits) const {
  uint32_t state = 0;
  for (const char c : line) {
    state = next_[state * columns_ + class_of_[static_cast<uint8_t>(c)]];
    if (has_end_[state]) [[unlikely]] {
      for (const uint32_t anchor : ends_[state])
        if (std::find(hits.begin(), hits.end(), anchor) == hits.end()) hits.push_back(anchor);
    }
  }
}

}  // namespace muster::diagnose
