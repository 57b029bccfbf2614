#include "diagnose/shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::diagnose {

void CheckBlocks(const Section& s, const Block& block, FactStore& facts) {
  bool open = false;
  size_t next = 0;
  std::string wrong;
  const auto end = [&] {
    if (open && wrong.empty() && next < block.keys.size()) wrong = block.keys[next];
    if (!wrong.empty())
      AddDamage(s, facts,
                fmt::format("\"{}\" is missing or not in its place below \"{}\"", wrong,
                            Printable(block.begins)));
    wrong.clear();
    next = 0;
  };
  for (const std::string_view raw : Split(s.text, '\n')) {
    const std::string_view line = Trim(raw);
    // "Port GUID:" is a key below "Port 1:".
    const auto key = std::find_if(block.keys.begin(), block.keys.end(),
                                  [&](std::string_view k) { return line.starts_with(k); });
    if (key != block.keys.end()) {
      const auto i = static_cast<size_t>(key - block.keys.begin());
      if ((!open || i != next) && wrong.empty()) wrong = block.keys[open ? std::min(i, next) : i];
      next = i + 1;
    } else if (line.starts_with(block.begins)) {
      end();
      open = true;
    }
  }
  end();
}

bool SameKeys::Key(std::string_view key, std::string_view full) {
  if (devices_.empty()) return true;
  Device& device = devices_.back();
  device.keys.emplace_back(key);
  return device.full.emplace(full).second;
}

bool SameKeys::Holds() const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [&](const Device& device) { return device.keys == devices_.front().keys; });
}

}  // namespace muster::diagnose
