// Is a tool's output whole? Each tool prints the same keys in the same order for each device; a key
// that is missing, stands twice or has changed its place means that lines were lost or mixed, and
// then what is left proves nothing.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"
#include "diagnose/section.h"

namespace muster::diagnose {

struct Block {
  std::string_view begins;                 // a line (without its indentation) that begins a device
  std::span<const std::string_view> keys;  // what must follow, once each, in this order
};
// Adds "damage" for each block of `s` that is not so. O(bytes).
void CheckBlocks(const Section& s, const Block& block, FactStore& facts);

// Were the devices of one output given the same keys, once each, in the same order? Fed with the
// keys as they come; the first device is the measure. Devices of other kinds differ by right: feed
// only keys that all have.
class SameKeys {
 public:
  void Begin() { devices_.emplace_back(); }
  // `full`: the key with the headings that it stands below. False when this device had it already.
  bool Key(std::string_view key, std::string_view full);
  bool Holds() const;

 private:
  struct Device {
    std::vector<std::string> keys;
    std::set<std::string, std::less<>> full;
  };
  std::vector<Device> devices_;
};

}  // namespace muster::diagnose
