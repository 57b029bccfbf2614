// Numbers of things by their 64-bit hash, for the two look-ups that every NCCL line costs: a flat
// table that is searched without a division or a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster::diagnose {

// Equal hashes are one thing. What is compared is the upper half of the hash, at a place that the
// lower half gives: of 1,000 entries two are taken for one with a chance of 10^-7, of 65,000 10^-4.
class FlatIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t Find(uint64_t hash) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.number == kNone || slot.tag == static_cast<uint32_t>(hash >> 32)) return slot.number;
    }
  }
  // `hash` is not in it.
  void Add(uint64_t hash, uint32_t number) {
    if (2 * (hashes_.size() + 1) > slots_.size()) Grow();
    Put(hash, number);
    hashes_.emplace_back(hash, number);
  }

 private:
  struct Slot {  // eight bytes, so that the table stays in the nearest cache
    uint32_t tag = 0, number = kNone;
  };
  void Put(uint64_t hash, uint32_t number) {
    size_t at = hash & mask_;
    while (slots_[at].number != kNone) at = (at + 1) & mask_;
    slots_[at] = {static_cast<uint32_t>(hash >> 32), number};
  }
  void Grow() {
    slots_.assign(2 * slots_.size(), {});
    mask_ = slots_.size() - 1;
    for (const auto& [hash, number] : hashes_) Put(hash, number);
  }
  std::vector<Slot> slots_ = std::vector<Slot>(256);
  size_t mask_ = 255;
  std::vector<std::pair<uint64_t, uint32_t>> hashes_;  // for growing
};

}  // namespace muster::diagnose
