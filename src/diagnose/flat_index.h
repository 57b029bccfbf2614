// Numbers of things by their 64-bit hash, for the two look-ups that every NCCL line costs: a flat
// table that is searched without a division or a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace muster::diagnose {

// Equal hashes are one thing: with 64 bits and at most some 100,000 entries that is one in 10^9.
class FlatIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t Find(uint64_t hash) const {
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.number == kNone || slot.hash == hash) return slot.number;
    }
  }
  // `hash` is not in it.
  void Add(uint64_t hash, uint32_t number) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    Put(hash, number);
    ++count_;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t number = kNone;
  };
  void Put(uint64_t hash, uint32_t number) {
    size_t at = hash & mask_;
    while (slots_[at].number != kNone) at = (at + 1) & mask_;
    slots_[at] = {hash, number};
  }
  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.number != kNone) Put(slot.hash, slot.number);
  }
  std::vector<Slot> slots_ = std::vector<Slot>(256);
  size_t mask_ = 255, count_ = 0;
};

}  // namespace muster::diagnose
